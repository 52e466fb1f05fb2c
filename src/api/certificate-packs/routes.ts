/** `/zones/{zone_id}/ssl/certificate_packs` (v4: §10.9). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { CertificateContext } from '../../certs/issuance/context.js';
import {
  deletePack,
  getPack,
  getPackQuota,
  listPacks,
  orderPack,
  type PackContext,
  restartPack,
} from '../../certs/packs/packs.js';
import { readBody } from '../body-schema.js';
import { tellLimit } from '../custom-hostnames/body.js';
import { success } from '../envelope.js';
import { HOSTNAME_PAGES, pageFrom } from '../paging.js';
import { choiceValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { DEPLOYMENTS, pack, packEdit, packOrder, packParams, packQuery, packQuota } from './schema.js';
import { packView } from './view.js';

export interface PackRouteOptions {
  readonly contextOf: ContextOf;
  readonly certificates: CertificateContext;
}

type PackContextOf = (request: Parameters<ContextOf>[0]) => PackContext;

const tags = ['Certificate packs'];
const LIST = '/zones/:zone_id/ssl/certificate_packs';
const ONE = `${LIST}/:certificate_pack_id`;

export const packRoutes: FastifyPluginAsyncZod<PackRouteOptions> = async (app, { contextOf, certificates }) => {
  const packContextOf: PackContextOf = (request) => ({ ...contextOf(request), certificates });
  addList(app, packContextOf);
  addOrder(app, packContextOf);
  addQuota(app, packContextOf);
  addOne(app, packContextOf);
  addRestart(app, packContextOf);
};

function addList(app: RouteScope, contextOf: PackContextOf): void {
  app.get(
    LIST,
    {
      config: { area: 'certificates' },
      schema: {
        tags,
        summary: 'List certificate packs',
        params: zoneParams,
        querystring: packQuery,
        response: answersList(pack),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const all = choiceValue(query, 'status', ['all']) === 'all';
      const staging = choiceValue(query, 'deploy', DEPLOYMENTS) === 'staging';
      const ctx = contextOf(request);
      const { zone_id: zoneId } = request.params;
      const items = await listPacks(ctx, zoneId, { all });
      const found = staging ? [] : items;
      return pageFrom(query, HOSTNAME_PAGES, found, (item) => packView(item, zoneId, ctx.clock.nowMs()));
    },
  );
}

function addOrder(app: RouteScope, contextOf: PackContextOf): void {
  app.post(
    `${LIST}/order`,
    {
      // A lockout is reported before errors in the body.
      config: { area: 'certificates', zoneState: 'write', rawBody: true },
      schema: {
        tags,
        summary: 'Order a certificate pack',
        params: zoneParams,
        body: packOrder,
        response: answersOne(pack),
      },
    },
    async (request, reply) => {
      const ctx = contextOf(request);
      const { zone_id: zoneId } = request.params;
      try {
        const made = await orderPack(ctx, zoneId, () => readBody(request, packOrder));
        return success(packView(made, zoneId, ctx.clock.nowMs()));
      } catch (error) {
        tellLimit(error, reply);
        throw error;
      }
    },
  );
}

function addQuota(app: RouteScope, contextOf: PackContextOf): void {
  app.get(
    `${LIST}/quota`,
    {
      config: { area: 'certificates' },
      schema: { tags, summary: 'Count the certificate packs', params: zoneParams, response: answersOne(packQuota) },
    },
    async (request) => {
      const { allocated, used } = await getPackQuota(contextOf(request), request.params.zone_id);
      return success({ advanced: { allocated, used } });
    },
  );
}

function addOne(app: RouteScope, contextOf: PackContextOf): void {
  app.get(
    ONE,
    {
      config: { area: 'certificates' },
      schema: { tags, summary: 'Get a certificate pack', params: packParams, response: answersOne(pack) },
    },
    async (request) => {
      const ctx = contextOf(request);
      const { zone_id: zoneId, certificate_pack_id: id } = request.params;
      return success(packView(await getPack(ctx, zoneId, id), zoneId, ctx.clock.nowMs()));
    },
  );

  app.delete(
    ONE,
    {
      config: { area: 'certificates', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Delete a certificate pack with its certificates',
        params: packParams,
        response: answersOne(onlyId),
      },
    },
    async (request) => {
      const { zone_id: zoneId, certificate_pack_id: id } = request.params;
      return success(await deletePack(contextOf(request), zoneId, id));
    },
  );
}

function addRestart(app: RouteScope, contextOf: PackContextOf): void {
  app.patch(
    ONE,
    {
      config: { area: 'certificates', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Restart the validation of a certificate pack',
        params: packParams,
        body: packEdit,
        response: answersOne(pack),
      },
    },
    async (request) => {
      const ctx = contextOf(request);
      const { zone_id: zoneId, certificate_pack_id: id } = request.params;
      return success(packView(await restartPack(ctx, zoneId, id), zoneId, ctx.clock.nowMs()));
    },
  );
}
