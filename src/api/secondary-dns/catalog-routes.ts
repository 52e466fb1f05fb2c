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
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { accountResource } from '../resource.js';
import { answersOne } from '../schema.js';
import { catalog, catalogBody, catalogParams, member, memberBody, memberParams } from './catalog-schema.js';
import { catalogView, memberView } from './view.js';

const tags = ['Secondary DNS'];
const ONE = '/accounts/:account_id/secondary_dns/catalogs/:catalog_id';
const config = { area: 'account' } as const;

export const catalogRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  accountResource(app, contextOf, {
    ...{ tags, isPaged: false, oneCommit: false },
    ...{ path: 'secondary_dns/catalogs', id: 'catalog_id', one: 'a catalog', many: 'catalogs' },
    ...{ params: catalogParams, item: catalog, body: catalogBody, view: catalogView },
    ...{ list: listCatalogs, create: createCatalog, get: getCatalog, remove: deleteCatalog },
  });
  await app.register(memberRoutes, { contextOf });
};

const memberRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    `${ONE}/members`,
    {
      config: { ...config, readsLong: true },
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
