/** `/accounts/{account_id}/secondary_dns/catalogs`: catalog zones for other servers (RFC 9432); an extension of v4. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  createCatalog,
  deleteCatalog,
  editMember,
  getCatalog,
  listCatalogs,
  listMembers,
} from '../../control/catalogs/catalogs.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { catalog, catalogBody, catalogParams, member, memberBody, memberParams } from './catalog-schema.js';
import { catalogView, memberView } from './view.js';

const tags = ['Secondary DNS'];
const BASE = '/accounts/:account_id/secondary_dns/catalogs';
const ONE = `${BASE}/:catalog_id`;
const config = { area: 'account' } as const;

export const catalogRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    BASE,
    {
      config,
      schema: { tags, summary: 'List catalogs', params: accountParams, response: answersOne(z.array(catalog)) },
    },
    async (request) => success((await listCatalogs(contextOf(request), request.params.account_id)).map(catalogView)),
  );
  app.post(
    BASE,
    {
      config,
      schema: {
        tags,
        summary: 'Create a catalog',
        params: accountParams,
        body: catalogBody,
        response: answersOne(catalog),
      },
    },
    async (request) =>
      success(catalogView(await createCatalog(contextOf(request), request.params.account_id, request.body))),
  );
  app.get(
    ONE,
    { config, schema: { tags, summary: 'Get a catalog', params: catalogParams, response: answersOne(catalog) } },
    async (request) => {
      const { account_id: account, catalog_id: id } = request.params;
      return success(catalogView(await getCatalog(contextOf(request), account, id)));
    },
  );
  app.delete(
    ONE,
    { config, schema: { tags, summary: 'Delete a catalog', params: catalogParams, response: answersOne(onlyId) } },
    async (request) => {
      const { account_id: account, catalog_id: id } = request.params;
      return success(await deleteCatalog(contextOf(request), account, id));
    },
  );
  await app.register(memberRoutes, { contextOf });
};

const memberRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    `${ONE}/members`,
    {
      config,
      schema: {
        tags,
        summary: 'List the zones of a catalog',
        params: catalogParams,
        response: answersOne(z.array(member)),
      },
    },
    async (request) => {
      const { account_id: account, catalog_id: id } = request.params;
      return success((await listMembers(contextOf(request), account, id)).map(memberView));
    },
  );
  app.patch(
    `${ONE}/members/:zone_id`,
    {
      config,
      schema: {
        tags,
        summary: 'Set the group of a zone, reset it, or move it to another catalog',
        params: memberParams,
        body: memberBody,
        response: answersOne(member),
      },
    },
    async (request) => {
      const { account_id: account, catalog_id: id, zone_id: zone } = request.params;
      return success(memberView(await editMember(contextOf(request), account, id, zone, request.body)));
    },
  );
};
