/** `dns_settings` of zones and accounts (v4: §8). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { editAccountDnsSettings, getAccountDnsSettings } from '../../control/zones/account-dns-settings.js';
import { editDnsSettings, getDnsSettings } from '../../control/zones/dns-settings.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { accountDnsSettings, accountDnsSettingsEdit, dnsSettings, dnsSettingsEdit } from './schema.js';
import { accountDnsSettingsView, dnsSettingsView } from './view.js';

const tags = ['DNS settings'];
const PATH = '/zones/:zone_id/dns_settings';
const ACCOUNT_PATH = '/accounts/:account_id/dns_settings';

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
      config: { area: 'dns', zoneState: 'write', oneCommit: true },
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

  app.get(
    ACCOUNT_PATH,
    {
      config: { area: 'account' },
      schema: {
        tags,
        summary: 'Get the DNS settings of an account',
        params: accountParams,
        response: answersOne(accountDnsSettings),
      },
    },
    async (request) => {
      return success(
        accountDnsSettingsView(await getAccountDnsSettings(contextOf(request), request.params.account_id)),
      );
    },
  );

  app.patch(
    ACCOUNT_PATH,
    {
      config: { area: 'account', oneCommit: true },
      schema: {
        tags,
        summary: 'Edit the DNS settings of an account',
        params: accountParams,
        body: accountDnsSettingsEdit,
        response: answersOne(accountDnsSettings),
      },
    },
    async (request) => {
      const item = await editAccountDnsSettings(contextOf(request), request.params.account_id, request.body);
      return success(accountDnsSettingsView(item));
    },
  );
};
