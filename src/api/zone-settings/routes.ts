/** `/zones/{zone_id}/settings` (v4: §14). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { editZoneSetting, editZoneSettings, getZoneSetting, listZoneSettings } from '../../control/zones/settings.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersList, answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { zoneSettingParams as params, zoneSetting, zoneSettingEdit, zoneSettingsEdit } from './schema.js';
import { zoneSettingView } from './view.js';

const tags = ['Zone settings'];
const PATH = '/zones/:zone_id/settings';

export const zoneSettingsRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    {
      config: { area: 'zoneSettings', zoneState: 'read' },
      schema: { tags, summary: 'List zone settings', params: zoneParams, response: answersList(zoneSetting) },
    },
    async (request) =>
      success((await listZoneSettings(contextOf(request), request.params.zone_id)).map(zoneSettingView)),
  );

  app.patch(
    PATH,
    {
      config: { area: 'zoneSettings', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary:
          'Edit several zone settings, all or none; those that cannot be set here are left out and named in `messages`',
        params: zoneParams,
        body: zoneSettingsEdit,
        response: answersList(zoneSetting),
      },
    },
    async (request) => {
      const { zone_id: zoneId } = request.params;
      const { items, leftOut } = await editZoneSettings(contextOf(request), zoneId, request.body.items);
      const messages = leftOut.map(({ code, message }) => ({ code, message }));
      return success(items.map(zoneSettingView), messages);
    },
  );

  app.get(
    `${PATH}/:setting`,
    {
      config: { area: 'zoneSettings', zoneState: 'read' },
      schema: { tags, summary: 'Get a zone setting', params, response: answersOne(zoneSetting) },
    },
    async (request) => {
      const { zone_id: zoneId, setting } = request.params;
      return success(zoneSettingView(await getZoneSetting(contextOf(request), zoneId, setting)));
    },
  );

  app.patch(
    `${PATH}/:setting`,
    {
      config: { area: 'zoneSettings', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Edit a zone setting',
        params,
        body: zoneSettingEdit,
        response: answersOne(zoneSetting),
      },
    },
    async (request) => {
      const { zone_id: zoneId, setting } = request.params;
      const { value } = request.body;
      return success(zoneSettingView(await editZoneSetting(contextOf(request), zoneId, setting, value)));
    },
  );
};
