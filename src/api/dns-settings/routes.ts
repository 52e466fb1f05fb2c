/** `/zones/{zone_id}/dns_settings` (v4: §8). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { editDnsSettings, getDnsSettings } from '../../control/zones/zones.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { dnsSettings, dnsSettingsEdit } from './schema.js';
import { dnsSettingsView } from './view.js';

const tags = ['DNS settings'];
const PATH = '/zones/:zone_id/dns_settings';

export const dnsSettingsRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    {
      config: { area: 'dns', zoneState: 'read' },
      schema: { tags, summary: 'Get DNS settings', params: zoneParams, response: answersOne(dnsSettings) },
    },
    async (request) => success(dnsSettingsView(await getDnsSettings(contextOf(request), request.params.zone_id))),
  );

  app.patch(
    PATH,
    {
      config: { area: 'dns', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Edit DNS settings',
        params: zoneParams,
        body: dnsSettingsEdit,
        response: answersOne(dnsSettings),
      },
    },
    async (request) => {
      const item = await editDnsSettings(contextOf(request), request.params.zone_id, request.body);
      return success(dnsSettingsView(item));
    },
  );
};
