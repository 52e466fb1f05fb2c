/** DNS settings of accounts: what new zones begin with, and proxied records that are answered without the edge. */
import t from 'tap';
import { printIP } from '../../../src/base/ip.js';
import { createAccount, listAccounts } from '../../../src/control/access/accounts.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord } from '../../../src/control/records/records.js';
import {
  ACCOUNT_ZONES_JOB,
  accountZonesJob,
  editAccountDnsSettings,
  getAccountDnsSettings,
} from '../../../src/control/zones/account-dns-settings.js';
import { getDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { createZone, getZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../../src/dns/name.js';
import { servedAtOwner } from '../../../src/serving/owner.js';
import { servingZone } from '../../../src/serving/zone.js';
import { listJobs } from '../../../src/store/jobs.js';
import { zonesOfName, zonesUnlikeAccount } from '../../../src/store/zones/zones.js';
import { latestEvents } from '../../support/rows.js';
import { refusal, startControl } from '../fixture.js';

async function firstAccount(ctx: Context): Promise<string> {
  return (await listAccounts(ctx, {})).items[0]!.id;
}

const UNSET = {
  flattenAllCnames: false,
  foundationDns: false,
  multiProvider: false,
  secondaryOverrides: false,
  nsTtl: 86400,
  zoneMode: 'standard',
  soa: { mname: null, rname: 'dns.dns.test', refresh: 10000, retry: 2400, expire: 604800, minTtl: 1800, ttl: 3600 },
};

t.test('new zones begin with the settings of their account', async (t) => {
  const { ctx } = await startControl(t);
  const account = await firstAccount(ctx);
  const other = await createAccount(ctx, { name: 'other' });
  const old = await createZone(ctx, { name: 'old.example' });
  t.same(await getAccountDnsSettings(ctx, account), { enforceDnsOnly: false, zoneDefaults: UNSET });
  const edit = {
    flatten_all_cnames: true,
    multi_provider: true,
    ns_ttl: 600,
    soa: { refresh: 7200, mname: 'NS.example.' },
  };
  const soa = { ...UNSET.soa, refresh: 7200, mname: 'ns.example' };
  const wanted = { ...UNSET, flattenAllCnames: true, multiProvider: true, nsTtl: 600, soa };
  t.same(await editAccountDnsSettings(ctx, account, { zone_defaults: edit }), {
    enforceDnsOnly: false,
    zoneDefaults: wanted,
  });
  t.match(latestEvents(ctx.store, 1), [{ kind: 'account.dns_settings' }]);
  await editAccountDnsSettings(ctx, account, { zone_defaults: { zone_mode: 'dns_only', soa: null } });
  t.same(
    (await getAccountDnsSettings(ctx, account)).zoneDefaults,
    { ...wanted, zoneMode: 'dns_only' },
    'the rest stays',
  );
  t.same(await getDnsSettings(ctx, old.id), UNSET, 'zones that exist keep theirs');
  const fresh = await createZone(ctx, { name: 'fresh.example' });
  t.same(await getDnsSettings(ctx, fresh.id), { ...wanted, zoneMode: 'dns_only' });
  t.match(fresh.soa, { mname: 'ns.example', refresh: 7200, retry: 2400 });
  const foreign = await createZone(ctx, { name: 'foreign.example', account: { id: other.id } });
  t.same(await getDnsSettings(ctx, foreign.id), UNSET, 'those of other accounts too');
});

t.test('an imported zone has its own SOA, or with --automatic-soa that of its account', async (t) => {
  const { ctx } = await startControl(t);
  await editAccountDnsSettings(ctx, await firstAccount(ctx), {
    zone_defaults: { ns_ttl: 600, soa: { refresh: 7200 } },
  });
  const text = '$ORIGIN example.com.\n$TTL 300\n@ SOA ns1 host 1 5000 900 1209600 300\n@ NS ns1\nns1 A 192.0.2.1\n';
  const own = await importZone(ctx, { source: { text } });
  t.match(await getDnsSettings(ctx, own.zoneId!), { nsTtl: 600, soa: { refresh: 5000 } });
  await importZone(ctx, { source: { text }, replace: true, automaticSoa: true });
  t.match(await getDnsSettings(ctx, own.zoneId!), { soa: { mname: null, refresh: 7200, retry: 2400 } });
});

t.test('enforce_dns_only answers proxied records without the edge, at once and for new zones', async (t) => {
  const { ctx } = await startControl(t);
  const account = await firstAccount(ctx);
  const served = (name: string): string[] => {
    const [zone] = zonesOfName(ctx.store, name);
    const { rrsets } = servedAtOwner(
      ctx.store,
      servingZone(ctx.store, zone!, ctx.settings),
      ownerKeyOf(parseName(`www.${name}.`), zone!.apex),
    );
    return rrsets.filter(({ type }) => type === Type.a).flatMap(({ rdatas }) => rdatas.map(printIP));
  };
  const add = async (name: string): Promise<string> => {
    const { id } = await createZone(ctx, { name });
    await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.1', proxied: true });
    return id;
  };
  const id = await add('one.example');
  t.same(served('one.example'), ['198.51.100.250']);
  const { serial } = (await getZone(ctx, id)).soa;
  t.match(await editAccountDnsSettings(ctx, account, { enforce_dns_only: true }), { enforceDnsOnly: true });
  await add('two.example');
  t.same([served('one.example'), served('two.example')], [['192.0.2.1'], ['192.0.2.1']]);
  t.equal((await getZone(ctx, id)).soa.serial, serial + 1);
  t.match(await editAccountDnsSettings(ctx, account, { zone_defaults: { ns_ttl: 60 } }), { enforceDnsOnly: true });
  t.match(await editAccountDnsSettings(ctx, account, { enforce_dns_only: false }), { enforceDnsOnly: false });
  t.same([served('one.example'), served('two.example')], [['198.51.100.250'], ['198.51.100.250']]);
  t.same(
    listJobs(ctx.store, 9).filter(({ kind }) => kind === ACCOUNT_ZONES_JOB),
    [],
    'there was nothing left to do later',
  );
});

t.test('an account with very many zones is done a part at a time', async (t) => {
  const { ctx } = await startControl(t);
  const account = await firstAccount(ctx);
  await Promise.all(Array.from({ length: 502 }, (_, index) => createZone(ctx, { name: `z${index}.example` })));
  await editAccountDnsSettings(ctx, account, { enforce_dns_only: true });
  const left = (): number =>
    zonesUnlikeAccount(ctx.store, zonesOfName(ctx.store, 'z0.example')[0]!.account, 1, 1000).length;
  t.equal(left(), 2);
  t.match(listJobs(ctx.store, 9), [{ kind: ACCOUNT_ZONES_JOB, subject: account }]);
  let leases = 0;
  const job = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease: () => void leases++ };
  t.same(await accountZonesJob(ctx).handler(job, account), { done: true });
  t.same(await accountZonesJob(ctx).handler(job, account), { done: true }, 'twice does no harm');
  t.equal(left(), 0);
  t.ok(leases >= 2);
});

t.test('refusals', async (t) => {
  const { ctx } = await startControl(t);
  const account = await firstAccount(ctx);
  const pointers: [Parameters<typeof editAccountDnsSettings>[2], string][] = [
    [{ zone_defaults: { soa: { retry: 86400 } } }, '/zone_defaults/soa/retry'],
    [{ zone_defaults: { soa: { rname: 'a b' } } }, '/zone_defaults/soa/rname'],
  ];
  for (const [edit, pointer] of pointers) {
    t.match(await refusal(editAccountDnsSettings(ctx, account, edit)), { status: 400, code: 9207, pointer });
  }
  const { id } = await createZone(ctx, { name: 'example.com' });
  const limited = { ...ctx, actor: { ...ctx.actor, zoneIds: [id] } };
  t.match(await refusal(editAccountDnsSettings(limited, account, { enforce_dns_only: true })), { status: 403 });
  const tenant = { ...ctx, actor: { ...ctx.actor, superAdministrator: false, accountIds: [] } };
  t.match(await refusal(getAccountDnsSettings(tenant, account)), { status: 403, code: 9109 });
  t.match(await getAccountDnsSettings(ctx, account), { enforceDnsOnly: false, zoneDefaults: UNSET });
});
