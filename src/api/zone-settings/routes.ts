/** `/zones/{zone_id}/settings` (v4: §14). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  editZoneSetting,
  getZoneSetting,
  listZoneSettings,
  type ZoneSettingItem,
} from '../../control/zone-settings.js';
import { success } from '../envelope.js';
import { bodyObject, type ContextOf } from '../request.js';
import { answersList, answersOne, time } from '../schema.js';
import { printOptionalTime } from '../times.js';
import { zoneParams } from '../zones/schema.js';

const tags = ['Zone settings'];
const PATH = '/zones/:zone_id/settings';
const VALUES = ['on', 'off'] as const;

const zoneSetting = z
  .object({
    id: z.enum(['http2', 'http3']),
    value: z.enum(VALUES),
    editable: z.literal(true),
    modified_on: time.nullable().describe('Null until it is changed'),
  })
  .meta({ id: 'ZoneSetting' });

const params = zoneParams.extend({ setting: z.string() });

function zoneSettingView(item: ZoneSettingItem): z.output<typeof zoneSetting> {
  return {
    id: item.name,
    value: item.on ? 'on' : 'off',
    editable: true,
    modified_on: printOptionalTime(item.modifiedAt),
  };
}

export const zoneSettingsRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    { schema: { tags, summary: 'List zone settings', params: zoneParams, response: answersList(zoneSetting) } },
    async (request) =>
      success((await listZoneSettings(contextOf(request), request.params.zone_id)).map(zoneSettingView)),
  );

  app.get(
    `${PATH}/:setting`,
    { schema: { tags, summary: 'Get a zone setting', params, response: answersOne(zoneSetting) } },
    async (request) => {
      const { zone_id: zoneId, setting } = request.params;
      return success(zoneSettingView(await getZoneSetting(contextOf(request), zoneId, setting)));
    },
  );

  app.patch(
    `${PATH}/:setting`,
    {
      schema: {
        tags,
        summary: 'Edit a zone setting',
        params,
        body: z.object({ value: z.enum(VALUES) }).meta({ id: 'ZoneSettingEdit' }),
        response: answersOne(zoneSetting),
      },
    },
    async (request) => {
      const { zone_id: zoneId, setting } = request.params;
      const { value } = bodyObject(request);
      return success(zoneSettingView(await editZoneSetting(contextOf(request), zoneId, setting, value)));
    },
  );
};
