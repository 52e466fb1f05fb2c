/** `/zones/{zone_id}/ssl/verification` and `/zones/{zone_id}/ssl/universal/settings` (v4: §10.9). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { listPacks, type PackContext, restartPack } from '../../certs/packs/packs.js';
import { editUniversal, getUniversal } from '../../certs/packs/universal.js';
import { success } from '../envelope.js';
import { switchValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import type { PackRouteOptions } from './routes.js';
import {
  packParams,
  universalEdit,
  universalSettings,
  verification,
  verificationEdit,
  verificationEdited,
  verificationQuery,
} from './schema.js';
import { universalView, verificationView } from './view.js';

const tags = ['Certificate packs'];
const VERIFICATION = '/zones/:zone_id/ssl/verification';
const UNIVERSAL = '/zones/:zone_id/ssl/universal/settings';

export const universalRoutes: FastifyPluginAsyncZod<PackRouteOptions> = async (app, options) => {
  const { contextOf, certificates } = options;
  addVerification(app, (request) => ({ ...contextOf(request), certificates }));
  addUniversal(app, contextOf);
};

function addVerification(app: RouteScope, contextOf: (request: Parameters<ContextOf>[0]) => PackContext): void {
  app.get(
    VERIFICATION,
    {
      config: { area: 'certificates' },
      schema: {
        tags,
        summary: "Get the validation of the zone's certificates",
        params: zoneParams,
        querystring: verificationQuery,
        response: answersOne(verification.array()),
      },
    },
    async (request) => {
      const ctx = contextOf(request);
      const { zone_id: zoneId } = request.params;
      const lasting = async () =>
        (await listPacks(ctx, zoneId, { all: true })).filter(({ status }) => status !== 'pending_deletion');
      if (switchValue(queryOf(request), 'retry')) {
        for (const { id } of await lasting()) await restartPack(ctx, zoneId, id);
      }
      return success((await lasting()).map(verificationView));
    },
  );

  app.patch(
    `${VERIFICATION}/:certificate_pack_id`,
    {
      config: { area: 'certificates', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Choose how a certificate pack is validated',
        params: packParams,
        body: verificationEdit,
        response: answersOne(verificationEdited),
      },
    },
    async (request) => {
      const { zone_id: zoneId, certificate_pack_id: id } = request.params;
      const { validation_method: method } = request.body;
      const { id: pack, state, status } = await restartPack(contextOf(request), zoneId, id, method);
      return success({ id: pack, validation_method: state.method, status });
    },
  );
}

function addUniversal(app: RouteScope, contextOf: ContextOf): void {
  const response = answersOne(universalSettings);
  app.get(
    UNIVERSAL,
    {
      config: { area: 'certificates', zoneState: 'read' },
      schema: { tags, summary: 'Get universal certificate settings', params: zoneParams, response },
    },
    async (request) => success(universalView(await getUniversal(contextOf(request), request.params.zone_id))),
  );

  app.patch(
    UNIVERSAL,
    {
      config: { area: 'certificates', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Edit universal certificate settings',
        params: zoneParams,
        body: universalEdit,
        response,
      },
    },
    async (request) =>
      success(universalView(await editUniversal(contextOf(request), request.params.zone_id, request.body))),
  );
}
