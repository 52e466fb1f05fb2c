/** `dns_settings` of zones and accounts (v4: §8). */
import { editAccountDnsSettings, getAccountDnsSettings } from '../../control/zones/account-dns-settings.js';
import { editDnsSettings, getDnsSettings } from '../../control/zones/dns-settings.js';
import { accountParams } from '../accounts/schema.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { accountDnsSettings, accountDnsSettingsEdit, dnsSettings, dnsSettingsEdit } from './schema.js';
import { accountDnsSettingsView, dnsSettingsView } from './view.js';

const PATH = '/zones/:zone_id/dns_settings';
const ACCOUNT_PATH = '/accounts/:account_id/dns_settings';

export const dnsSettingsRoutes = routes({ tags: ['DNS settings'] }, (app) => {
  app.get(
    PATH,
    { area: 'dns', zoneState: 'read', summary: 'Get DNS settings', params: zoneParams, answer: dnsSettings },
    async (ctx, { params }) => dnsSettingsView(await getDnsSettings(ctx, params.zone_id)),
  );

  app.patch(
    PATH,
    {
      area: 'dns',
      zoneState: 'write',
      oneCommit: true,
      summary: 'Edit DNS settings',
      params: zoneParams,
      body: dnsSettingsEdit,
      answer: dnsSettings,
    },
    async (ctx, { params, body }) => {
      const item = await editDnsSettings(ctx, params.zone_id, body);
      return dnsSettingsView(item);
    },
  );

  app.get(
    ACCOUNT_PATH,
    {
      area: 'account',
      summary: 'Get the DNS settings of an account',
      params: accountParams,
      answer: accountDnsSettings,
    },
    async (ctx, { params }) => accountDnsSettingsView(await getAccountDnsSettings(ctx, params.account_id)),
  );

  app.patch(
    ACCOUNT_PATH,
    {
      area: 'account',
      oneCommit: true,
      summary: 'Edit the DNS settings of an account',
      params: accountParams,
      body: accountDnsSettingsEdit,
      answer: accountDnsSettings,
    },
    async (ctx, { params, body }) => {
      const item = await editAccountDnsSettings(ctx, params.account_id, body);
      return accountDnsSettingsView(item);
    },
  );
});
