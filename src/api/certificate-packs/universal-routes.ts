/** `/zones/{zone_id}/ssl/verification` and `/zones/{zone_id}/ssl/universal/settings` (v4: §10.9). */
import { listPacks, type PackContext, restartPack } from '../../certs/packs/packs.js';
import { editUniversal, getUniversal } from '../../certs/packs/universal.js';
import { switchValue } from '../query.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
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

const VERIFICATION = '/zones/:zone_id/ssl/verification';
const UNIVERSAL = '/zones/:zone_id/ssl/universal/settings';

export const universalRoutes = routes<PackRouteOptions>(
  { tags: ['Certificate packs'], area: 'certificates' },
  (app, { certificates }) => {
    addVerification(app.with({ certificates }));
    app.get(
      UNIVERSAL,
      {
        zoneState: 'read',
        summary: 'Get universal certificate settings',
        params: zoneParams,
        answer: universalSettings,
      },
      async (ctx, { params }) => universalView(await getUniversal(ctx, params.zone_id)),
    );

    app.patch(
      UNIVERSAL,
      {
        zoneState: 'write',
        summary: 'Edit universal certificate settings',
        params: zoneParams,
        body: universalEdit,
        answer: universalSettings,
      },
      async (ctx, { params, body }) => universalView(await editUniversal(ctx, params.zone_id, body)),
    );
  },
);

function addVerification(app: Routes<PackContext>): void {
  app.get(
    VERIFICATION,
    {
      summary: "Get the validation of the zone's certificates",
      params: zoneParams,
      querystring: verificationQuery,
      answer: verification.array(),
    },
    async (ctx, request) => {
      const { zone_id: zoneId } = request.params;
      const lasting = async () =>
        (await listPacks(ctx, zoneId, { all: true })).filter(({ status }) => status !== 'pending_deletion');
      if (switchValue(queryOf(request), 'retry')) {
        for (const { id } of await lasting()) await restartPack(ctx, zoneId, id);
      }
      return (await lasting()).map(verificationView);
    },
  );

  app.patch(
    `${VERIFICATION}/:certificate_pack_id`,
    {
      zoneState: 'write',
      summary: 'Choose how a certificate pack is validated',
      params: packParams,
      body: verificationEdit,
      answer: verificationEdited,
    },
    async (ctx, { params: { zone_id: zoneId, certificate_pack_id: id }, body: { validation_method: method } }) => {
      const { id: pack, state, status } = await restartPack(ctx, zoneId, id, method);
      return { id: pack, validation_method: state.method, status };
    },
  );
}
