/** `/zones/{zone_id}/settings` (v4: §14). */
import { editZoneSetting, editZoneSettings, getZoneSetting, listZoneSettings } from '../../control/zones/settings.js';
import { success } from '../envelope.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { zoneSettingParams as params, zoneSetting, zoneSettingEdit, zoneSettingsEdit } from './schema.js';
import { zoneSettingView } from './view.js';

const PATH = '/zones/:zone_id/settings';

export const zoneSettingsRoutes = routes({ tags: ['Zone settings'], area: 'zoneSettings' }, (app) => {
  app.get(
    PATH,
    { zoneState: 'read', summary: 'List zone settings', params: zoneParams, list: zoneSetting },
    async (ctx, { params }) => success((await listZoneSettings(ctx, params.zone_id)).map(zoneSettingView)),
  );

  app.patch(
    PATH,
    {
      zoneState: 'write',
      oneCommit: true,
      summary:
        'Edit several zone settings, all or none; those that cannot be set here are left out and named in `messages`',
      params: zoneParams,
      body: zoneSettingsEdit,
      list: zoneSetting,
    },
    async (ctx, { params: { zone_id: zoneId }, body }) => {
      const { items, leftOut } = await editZoneSettings(ctx, zoneId, body.items);
      const messages = leftOut.map(({ code, message }) => ({ code, message }));
      return success(items.map(zoneSettingView), messages);
    },
  );

  app.get(
    `${PATH}/:setting`,
    { zoneState: 'read', summary: 'Get a zone setting', params, answer: zoneSetting },
    async (ctx, { params: { zone_id: zoneId, setting } }) =>
      zoneSettingView(await getZoneSetting(ctx, zoneId, setting)),
  );

  app.patch(
    `${PATH}/:setting`,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Edit a zone setting',
      params,
      body: zoneSettingEdit,
      answer: zoneSetting,
    },
    async (ctx, { params: { zone_id: zoneId, setting }, body: { value } }) =>
      zoneSettingView(await editZoneSetting(ctx, zoneId, setting, value)),
  );
});
