/** `/zones/{zone_id}/ssl/certificate_packs` (v4: §10.9). */
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
import { HOSTNAME_PAGES, pageFrom } from '../paging.js';
import { choiceValue } from '../query.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { DEPLOYMENTS, pack, packEdit, packOrder, packParams, packQuery, packQuota } from './schema.js';
import { packView } from './view.js';

export interface PackRouteOptions {
  readonly certificates: CertificateContext;
}

const LIST = '/zones/:zone_id/ssl/certificate_packs';
const ONE = `${LIST}/:certificate_pack_id`;

export const packRoutes = routes<PackRouteOptions>(
  { tags: ['Certificate packs'], area: 'certificates' },
  (all, { certificates }) => {
    const app = all.with({ certificates });
    app.get(
      LIST,
      { summary: 'List certificate packs', params: zoneParams, querystring: packQuery, list: pack },
      async (ctx, request) => {
        const query = queryOf(request);
        const all = choiceValue(query, 'status', ['all']) === 'all';
        const staging = choiceValue(query, 'deploy', DEPLOYMENTS) === 'staging';
        const { zone_id: zoneId } = request.params;
        const items = await listPacks(ctx, zoneId, { all });
        const found = staging ? [] : items;
        return pageFrom(query, HOSTNAME_PAGES, found, (item) => packView(item, zoneId, ctx.clock.nowMs()));
      },
    );
    app.post(
      `${LIST}/order`,
      {
        // A lockout is reported before errors in the body.
        zoneState: 'write',
        rawBody: true,
        summary: 'Order a certificate pack',
        params: zoneParams,
        body: packOrder,
        answer: pack,
      },
      async (ctx, request, reply) => {
        const { zone_id: zoneId } = request.params;
        try {
          const made = await orderPack(ctx, zoneId, () => readBody(request, packOrder));
          return packView(made, zoneId, ctx.clock.nowMs());
        } catch (error) {
          tellLimit(error, reply);
          throw error;
        }
      },
    );
    app.get(
      `${LIST}/quota`,
      { summary: 'Count the certificate packs', params: zoneParams, answer: packQuota },
      async (ctx, { params }) => {
        const { allocated, used } = await getPackQuota(ctx, params.zone_id);
        return { advanced: { allocated, used } };
      },
    );
    addOne(app);
    addRestart(app);
  },
);

function addOne(app: Routes<PackContext>): void {
  app.get(
    ONE,
    { summary: 'Get a certificate pack', params: packParams, answer: pack },
    async (ctx, { params: { zone_id: zoneId, certificate_pack_id: id } }) =>
      packView(await getPack(ctx, zoneId, id), zoneId, ctx.clock.nowMs()),
  );

  app.delete(
    ONE,
    {
      zoneState: 'write',
      summary: 'Delete a certificate pack with its certificates',
      params: packParams,
      answer: onlyId,
    },
    async (ctx, { params: { zone_id: zoneId, certificate_pack_id: id } }) => deletePack(ctx, zoneId, id),
  );
}

function addRestart(app: Routes<PackContext>): void {
  app.patch(
    ONE,
    {
      zoneState: 'write',
      summary: 'Restart the validation of a certificate pack',
      params: packParams,
      body: packEdit,
      answer: pack,
    },
    async (ctx, { params: { zone_id: zoneId, certificate_pack_id: id } }) =>
      packView(await restartPack(ctx, zoneId, id), zoneId, ctx.clock.nowMs()),
  );
}
