/** Certificate packs, their verification and the universal settings over HTTP, also through the vendor's client. */
import type { AddressInfo } from 'node:net';
import Cloudflare from 'cloudflare';
import t, { type Test } from 'tap';
import { hearEdges } from '../../src/certs/deployment.js';
import { advanceCertificate } from '../../src/certs/issuance/advance.js';
import { certificateJobs } from '../../src/certs/issuance/jobs.js';
import { certifiedNamesJobs, zoneCertificateJobs } from '../../src/certs/packs/job.js';
import { Type } from '../../src/dns/codes.js';
import { setAllowance } from '../../src/hostnames/allowance.js';
import type { JobContext } from '../../src/jobs/kind.js';
import { findRequest, findRequestById } from '../../src/store/certs/requests.js';
import { lastEdgeChange } from '../../src/store/edge/changes.js';
import { listJobs } from '../../src/store/jobs.js';
import { changesAfter, lastChange, rrsOfChange } from '../../src/store/log/changes.js';
import { findZoneById, findZoneByName, updateZone } from '../../src/store/zones/zones.js';
import { latestEvents } from '../support/rows.js';
import { until } from '../support/until.js';
import { ADMIN_HEADERS, type Installation, install } from './installation.js';

const ZONE = 'shop.net';
const DAY_MS = 86_400_000;
const PROXIED = { type: 'A', name: 'www', content: '192.0.2.10', ttl: 1, proxied: true };

interface World extends Installation {
  readonly zoneId: string;
  readonly zone: string;
  /** Runs what is due of the jobs about certificates, as the server does. */
  readonly runJobs: () => Promise<void>;
}

async function startWorld(t: Test): Promise<World> {
  const installation = await install(t);
  const zoneId = await installation.createZone(ZONE);
  const { base, hostnames, store } = installation;
  const kinds = {
    ...certificateJobs(hostnames.certificates),
    zone_certificate: zoneCertificateJobs(hostnames.certificates),
    certified_names: certifiedNamesJobs(hostnames.certificates),
  };
  const job = { ...base, attempt: 0, signal: new AbortController().signal, requireLease() {} } satisfies JobContext;
  return {
    ...installation,
    zoneId,
    zone: `/zones/${zoneId}`,
    async runJobs() {
      for (let round = 0; round < 4; round++) {
        const due = listJobs(store, 100).filter(({ run_at }) => run_at <= base.clock.nowMs());
        for (const { kind, subject } of due) await kinds[kind as keyof typeof kinds]?.handler(job, subject);
      }
    },
  };
}

const planned = ({ store }: World) => listJobs(store, 100).filter(({ kind }) => kind === 'zone_certificate');

t.test('a zone gets its certificate with its first proxied record', async (t) => {
  const world = await startWorld(t);
  const { call, runJobs, zone, misfits } = world;
  await runJobs();
  t.strictSame((await call('GET', `${zone}/ssl/certificate_packs?status=all`)).json.result, []);
  await call('POST', `${zone}/dns_records`, { ...PROXIED, proxied: false });
  t.strictSame(planned(world), [], 'a record that is not proxied needs none');
  const { id } = (await call('POST', `${zone}/dns_records`, { ...PROXIED, name: 'app' })).json.result;
  t.equal(planned(world).length, 1);
  await runJobs();
  const { result } = (await call('GET', `${zone}/ssl/certificate_packs`)).json;
  t.match(result, [
    {
      type: 'universal',
      hosts: [ZONE, `*.${ZONE}`],
      status: 'active',
      certificate_authority: 'google',
      validation_method: 'txt',
      primary_certificate: /^[0-9a-f-]{36}$/,
      certificates: [
        {
          issuer: /built-in authority/,
          issued_by: 'built_in',
          status: 'active',
          priority: 1,
          hosts: [ZONE, `*.${ZONE}`],
        },
      ],
    },
  ]);
  t.match((await call('GET', `${zone}/ssl/verification`)).json.result, [
    {
      certificate_status: 'active',
      cert_pack_uuid: result[0].id,
      signature: 'ECDSAWithSHA256',
      verification_status: true,
    },
  ]);
  t.match(
    await call('DELETE', `${zone}/ssl/certificate_packs/${result[0].id}`),
    { status: 400 },
    'it goes with the setting only',
  );
  await call('POST', `${zone}/dns_records`, { ...PROXIED, name: 'more' });
  t.strictSame(
    planned(world).filter(({ run_at }) => run_at > 0).length,
    1,
    'the job that ran is still there, as nobody finished it',
  );
  await call('DELETE', `${zone}/dns_records/${id}`);
  await runJobs();
  t.match((await call('GET', `${zone}/ssl/certificate_packs/${result[0].id}`)).json.result, { status: 'active' });
  t.strictSame(misfits, []);
});

t.test(
  'the universal setting: off revokes and removes, on requests again, another authority issues again',
  async (t) => {
    const world = await startWorld(t);
    const { call, runJobs, zone, store, misfits } = world;
    const settings = `${zone}/ssl/universal/settings`;
    await call('POST', `${zone}/dns_records`, PROXIED);
    await runJobs();
    const packs = async (query = '?status=all') =>
      (await call('GET', `${zone}/ssl/certificate_packs${query}`)).json.result;
    t.strictSame((await call('GET', settings)).json.result, { enabled: true });
    t.strictSame((await call('PATCH', `${settings}?dry_run=true`, { enabled: false })).json.result, { enabled: false });
    t.strictSame((await call('GET', settings)).json.result, { enabled: true }, 'that was a dry run');
    t.strictSame((await call('PATCH', settings, { enabled: false })).json.result, { enabled: false });
    t.match(latestEvents(store, 1), [{ kind: 'universal_certificate.edit' }]);
    await runJobs();
    t.strictSame(await packs(), []);
    t.equal(store.prepareTuples<[], [number]>('SELECT count(*) FROM certificates').get()![0], 0, 'the key is gone');
    await call('POST', `${zone}/dns_records`, { ...PROXIED, name: 'more' });
    await runJobs();
    t.strictSame(await packs(), []);
    await call('PATCH', settings, { enabled: true, certificate_authority: 'ssl_com' });
    await runJobs();
    t.match(await packs(), [{ certificate_authority: 'ssl_com', certificates: [{ issued_by: 'built_in' }] }]);
    t.strictSame((await call('GET', settings)).json.result, { enabled: true, certificate_authority: 'ssl_com' });
    await call('PATCH', settings, { certificate_authority: 'lets_encrypt' });
    await runJobs();
    t.match(await packs(), [{ certificate_authority: 'lets_encrypt', certificates: [{ issued_by: 'built_in' }] }]);
    for (const body of [{ enabled: 'yes' }, { certificate_authority: 'mine' }]) {
      t.match(await call('PATCH', settings, body), { status: 400, json: { errors: [{ code: 9207 }] } });
    }
    t.strictSame(misfits, []);
  },
);

t.test('HTTPS records come when edges have the certificate, and go with it', async (t) => {
  const world = await startWorld(t);
  const { call, runJobs, zone, zoneId, store, base } = world;
  let seen = lastChange(store);
  /** HTTPS records that were added and removed since the last call, each with the number of its change. */
  const advertised = (): string[] => {
    const lines = changesAfter(store, seen, 100).flatMap((change) => {
      seen = change.seq;
      if (change.complete !== 1) throw new Error(`change ${change.seq} does not list everything`);
      return rrsOfChange(store, change)
        .filter(({ type }) => type === Type.https)
        .map(({ op, owner_key: key }) => `${op === 1 ? '+' : '-'}${Buffer.from(key).toString('latin1')}`);
    });
    return lines.map((line) => line.replaceAll('\0', '.'));
  };
  await call('POST', `${zone}/dns_records`, PROXIED);
  await call('POST', `${zone}/dns_records`, { ...PROXIED, name: 'a.www' });
  await call('POST', `${zone}/dns_records`, { ...PROXIED, name: '*' });
  t.strictSame(advertised(), [], 'no certificate covers anything yet');
  const { version } = findZoneByName(store, ZONE)!;
  const edges = hearEdges(store, base.clock);
  edges.report('behind', 0, []);
  const waiting = runJobs();
  await until(() => findRequest(store, 'zone', zoneId)?.status === 'active');
  t.strictSame(advertised(), [], 'an edge has not read it yet');
  edges.report('behind', lastEdgeChange(store), []);
  await waiting;
  edges.forget('behind');
  await runJobs();
  t.strictSame(advertised(), ['+www.'], 'neither two labels down nor at a wildcard');
  t.equal(findZoneByName(store, ZONE)!.version, version, 'nobody edited the zone');
  await call('POST', `${zone}/dns_records`, { ...PROXIED, name: '@' });
  t.strictSame(advertised(), ['+']);
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const origins = [{ name: 'one', address: '192.0.2.10' }];
  const pool = await call('POST', `/accounts/${account}/load_balancers/pools`, { name: 'web', origins });
  const pools = { default_pools: [pool.json.result.id], fallback_pool: pool.json.result.id };
  const balanced = await call('POST', `${zone}/load_balancers`, { name: `lb.${ZONE}`, ...pools, proxied: true });
  const balancer = `${zone}/load_balancers/${balanced.json.result.id}`;
  t.strictSame(advertised(), ['+lb.'], 'a proxied load balancer');
  await call('PATCH', balancer, { proxied: false });
  t.strictSame(advertised(), ['-lb.']);
  await call('DELETE', balancer);
  t.strictSame(advertised(), []);

  const settings = `${zone}/ssl/universal/settings`;
  await call('PATCH', settings, { enabled: false });
  await runJobs();
  t.strictSame(advertised().sort(), ['-', '-www.']);
  await call('PATCH', settings, { enabled: true });
  await runJobs();
  t.strictSame(advertised().sort(), ['+', '+www.']);

  const order = { type: 'advanced', hosts: [ZONE, `a.www.${ZONE}`], validation_method: 'txt', validity_days: 90 };
  const made = await call('POST', `${zone}/ssl/certificate_packs/order`, { ...order, certificate_authority: 'google' });
  await runJobs();
  t.strictSame([made.json.result.status, ...advertised()], ['active', '+www.a.']);
  await call('DELETE', `${zone}/ssl/certificate_packs/${made.json.result.id}`);
  t.strictSame(advertised(), ['-www.a.']);

  const job = listJobs(store, 100).find(({ kind }) => kind === 'certified_names')!;
  t.equal(job.subject, zoneId);
  world.clock.advance(job.run_at - base.clock.nowMs());
  const context = { ...base, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  await certifiedNamesJobs(world.hostnames.certificates).handler(context, zoneId);
  t.strictSame(advertised().sort(), ['-', '-www.'], 'the certificate has expired');
});

t.test("an authority refused by the zone's CAA is reported", async (t) => {
  const world = await startWorld(t);
  const { call, runJobs, zone, misfits } = world;
  const caa = { type: 'CAA', name: '@', ttl: 60, data: { flags: 0, tag: 'issue', value: 'other.net' } };
  const { id } = (await call('POST', `${zone}/dns_records`, caa)).json.result;
  await call('POST', `${zone}/dns_records`, PROXIED);
  await runJobs();
  const [told] = (await call('GET', `${zone}/ssl/certificate_packs?status=all`)).json.result;
  t.match(told, {
    status: 'caa_error',
    certificates: [],
    validation_errors: [{ message: `caa_error: ${ZONE}`, actor: 'customer' }, { message: /pki\.goog/ }],
  });
  t.strictSame((await call('GET', `${zone}/ssl/certificate_packs`)).json.result, [], 'it is not active');
  await call('DELETE', `${zone}/dns_records/${id}`);
  const restarted = await call('PATCH', `${zone}/ssl/certificate_packs/${told.id}`, {});
  t.match(restarted.json.result, { id: told.id, status: 'active' });
  t.strictSame(misfits, []);
});

t.test('deleting a zone deletes its certificate; inactive zones have none', async (t) => {
  const world = await startWorld(t);
  const { call, runJobs, zone, zoneId, store } = world;
  await call('POST', `${zone}/dns_records`, PROXIED);
  await runJobs();
  await call('DELETE', zone);
  await runJobs();
  for (const table of ['certificate_requests', 'certificates']) {
    t.equal(store.prepareTuples<[], [number]>(`SELECT count(*) FROM ${table}`).get()![0], 0, table);
  }
  const waiting = await world.createZone('waiting.net');
  const row = findZoneById(store, new Uint8Array(Buffer.from(waiting, 'hex')))!;
  await store.write(() => updateZone(store, row.seq, { status: 'pending' }));
  await call('POST', `/zones/${waiting}/dns_records`, PROXIED);
  await runJobs();
  t.strictSame((await call('GET', `/zones/${waiting}/ssl/certificate_packs?status=all`)).json.result, []);
  t.ok(zoneId);
});

const ORDER = {
  type: 'advanced',
  hosts: [ZONE, `*.${ZONE}`, `deep.www.${ZONE}`],
  validation_method: 'txt',
  validity_days: 90,
  certificate_authority: 'lets_encrypt',
};

t.test('ordered, shown, deleted', async (t) => {
  const world = await startWorld(t);
  const { call, runJobs, zone, store, misfits } = world;
  const list = `${zone}/ssl/certificate_packs`;
  t.match(await call('POST', `${list}/order?dry_run=true`, ORDER), {
    status: 200,
    json: { result: { status: 'initializing' } },
  });
  t.strictSame((await call('GET', `${list}?status=all`)).json.result, []);
  const made = await call('POST', `${list}/order`, { ...ORDER, hosts: ['SHOP.net', ...ORDER.hosts] });
  t.match(made, {
    status: 200,
    json: { result: { type: 'advanced', status: 'active', hosts: ORDER.hosts, certificate_authority: 'lets_encrypt' } },
  });
  t.notMatch(made.text, /PRIVATE KEY/);
  t.match(latestEvents(store, 2), [{ kind: 'certificate.issue' }, { kind: 'certificate_pack.create' }]);
  const { id } = made.json.result;
  t.strictSame((await call('GET', `${list}/quota`)).json.result, { advanced: { allocated: 100, used: 1 } });
  t.equal((await call('GET', `${list}?deploy=staging`)).json.result_info.total_count, 0);
  t.equal((await call('GET', `${list}?deploy=production`)).json.result_info.total_count, 1);
  t.equal((await call('GET', `${list}?status=active`)).status, 400);
  t.strictSame((await call('GET', `${list}?page=2`)).json.result, []);
  t.strictSame((await call('DELETE', `${list}/${id}`)).json.result, { id });
  t.strictSame((await call('GET', list)).json.result, []);
  t.match((await call('GET', `${list}?status=all`)).json.result, [{ id, status: 'pending_deletion' }]);
  t.equal((await call('DELETE', `${list}/${id}`)).status, 404);
  await runJobs();
  t.equal((await call('GET', `${list}/${id}`)).status, 404);
  t.match((await call('GET', `${list}/quota`)).json.result, { advanced: { used: 0 } });
  t.strictSame(misfits, []);
});

t.test('refused orders', async (t) => {
  const { call, zone, createZone } = await startWorld(t);
  const list = `${zone}/ssl/certificate_packs`;
  const rows: readonly (readonly [string, object])[] = [
    ['another type', { ...ORDER, type: 'universal' }],
    ['no hosts', { ...ORDER, hosts: [] }],
    ['hosts that are a text', { ...ORDER, hosts: ZONE }],
    ['without the apex', { ...ORDER, hosts: [`www.${ZONE}`] }],
    ['a name of another zone', { ...ORDER, hosts: [ZONE, 'www.other.net'] }],
    ['a look-alike', { ...ORDER, hosts: [ZONE, `evil${ZONE}`] }],
    ['no name', { ...ORDER, hosts: [ZONE, `a b.${ZONE}`] }],
    ['a wildcard inside', { ...ORDER, hosts: [ZONE, `a.*.${ZONE}`] }],
    ['51 names', { ...ORDER, hosts: [ZONE, ...Array.from({ length: 50 }, (_, i) => `h${i}.${ZONE}`)] }],
    ['a wildcard by http', { ...ORDER, validation_method: 'http' }],
    ['email', { ...ORDER, validation_method: 'email' }],
    ['a year', { ...ORDER, certificate_authority: 'google', validity_days: 365 }],
    ['another lifetime', { ...ORDER, certificate_authority: 'google', validity_days: 60 }],
    ['no lifetime', { ...ORDER, certificate_authority: 'google', validity_days: undefined }],
    ['two weeks, from an authority that does not offer them', { ...ORDER, validity_days: 14 }],
    ['an unknown authority', { ...ORDER, certificate_authority: 'mine' }],
    ['no authority', { ...ORDER, certificate_authority: undefined }],
    ['branding that is not a flag', { ...ORDER, cloudflare_branding: 'yes' }],
  ];
  for (const [why, body] of rows) {
    t.match(await call('POST', `${list}/order`, body), { status: 400, json: { errors: [{ code: 9207 }] } }, why);
  }
  t.strictSame((await call('GET', `${list}?status=all`)).json.result, []);
  for (const id of ['nothing', '7b163417-1d2b-4c84-a38a-2fb7a0cd7752']) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      t.equal(
        (await call(method, `${list}/${id}`, method === 'PATCH' ? {} : undefined)).status,
        404,
        `${method} ${id}`,
      );
    }
  }
  const { id } = (await call('POST', `${list}/order`, { ...ORDER, hosts: [ZONE] })).json.result;
  const other = await createZone('other.net');
  t.equal((await call('GET', `/zones/${other}/ssl/certificate_packs/${id}`)).status, 404, 'in another zone');
});

t.test('certificates of two weeks and a month, renewed for as long', async (t) => {
  const world = await startWorld(t);
  const { call, runJobs, zone, clock, store, misfits } = world;
  const list = `${zone}/ssl/certificate_packs`;
  for (const days of [14, 30]) {
    const order = { ...ORDER, certificate_authority: 'google', validity_days: days };
    const { result } = (await call('POST', `${list}/order`, order)).json;
    t.match(result, { status: 'active', validity_days: days, certificates: [{}] });
    const lifetime = ({ expires_on, uploaded_on }: { expires_on: string; uploaded_on: string }): number =>
      (Date.parse(expires_on) - Date.parse(uploaded_on)) / DAY_MS;
    // Certificates begin an hour before they are made.
    t.ok(Math.abs(lifetime(result.certificates[0]) - days) < 0.1, String(lifetime(result.certificates[0])));
    const owner = findRequestById(store, result.id)!.owner;
    const get = async () => (await call('GET', `${list}/${result.id}`)).json.result;
    clock.advance(days * 0.6 * DAY_MS);
    await advanceUntilRest(world, owner);
    t.equal((await get()).primary_certificate, result.primary_certificate, 'not before two thirds of its time');
    clock.advance(days * 0.1 * DAY_MS);
    await advanceUntilRest(world, owner);
    const renewed = await get();
    t.not(renewed.primary_certificate, result.primary_certificate);
    t.ok(Math.abs(lifetime(renewed.certificates[0]) - days) < 0.1);
    const edited = await call('PATCH', `${zone}/ssl/verification/${result.id}`, { validation_method: 'txt' });
    t.equal(edited.status, 200);
    t.match(await get(), { validity_days: days, primary_certificate: renewed.primary_certificate });
    t.equal((await call('DELETE', `${list}/${result.id}`)).status, 200);
    await runJobs();
  }
  t.strictSame(misfits, []);
});

/** Takes all steps of a zone's certificate, the short waits between them included. */
async function advanceUntilRest({ hostnames, clock }: World, owner: string): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await advanceCertificate(hostnames.certificates, { kind: 'zone', id: owner });
    clock.advance(1000);
  }
}

t.test("orders count against the account's limit", async (t) => {
  const { call, zone, operator, clock } = await startWorld(t);
  const account = (await call('GET', '/accounts')).json.result[0].id;
  await setAllowance(operator, account, { issuanceCount: 2 });
  const order = () => call('POST', `${zone}/ssl/certificate_packs/order`, ORDER);
  const hostname = (name: string) => call('POST', `${zone}/custom_hostnames`, { hostname: name });
  t.equal((await order()).status, 200);
  t.equal((await hostname('a.customer.net')).status, 200);
  t.match(await order(), { status: 429, headers: { 'retry-after': '30' }, json: { errors: [{ code: 971 }] } });
  t.equal((await hostname('b.customer.net')).status, 429, 'one limit for both');
  clock.advance(30_000);
  t.equal((await order()).status, 200);
});

t.test('validation by another method, and a restart', async (t) => {
  const world = await startWorld(t);
  const { call, zone, clock, hostnames, misfits } = world;
  const list = `${zone}/ssl/certificate_packs`;
  // The challenge of this name is looked for where the alias leads, and is not there.
  await call('POST', `${zone}/dns_records`, {
    type: 'CNAME',
    name: '_acme-challenge.a',
    content: 'elsewhere.net',
    ttl: 60,
  });
  const made = await call('POST', `${list}/order`, { ...ORDER, hosts: [ZONE, `a.${ZONE}`] });
  const { id, validation_records: records } = made.json.result;
  t.equal(made.json.result.status, 'pending_validation');
  t.match(records, [{ txt_name: /^_acme-challenge\./ }]);
  t.match((await call('GET', `${zone}/ssl/verification`)).json.result, [
    { certificate_status: 'authorizing', verification_status: false, verification_info: { record_name: /^_acme/ } },
  ]);
  const changed = await call('PATCH', `${zone}/ssl/verification/${id}`, { validation_method: 'http' });
  t.match(changed.json.result, { id, validation_method: 'http', status: 'pending_validation' });
  t.match((await call('GET', `${list}/${id}`)).json.result.validation_records, [{ http_url: /^http:/ }]);
  for (const method of ['email', 'cname', undefined]) {
    t.equal((await call('PATCH', `${zone}/ssl/verification/${id}`, { validation_method: method })).status, 400);
  }
  const owner = world.store.prepareTuples<[], [string]>('SELECT owner FROM certificate_requests').get()![0];
  clock.advance(31 * 86_400_000);
  await advanceCertificate(hostnames.certificates, { kind: 'zone', id: owner });
  t.match((await call('GET', `${zone}/ssl/verification`)).json.result, [{ certificate_status: 'timing_out' }]);
  t.match((await call('PATCH', `${list}/${id}`, {})).json.result, {
    status: 'pending_validation',
    validation_records: [{}],
  });
  t.equal((await call('GET', `${zone}/ssl/verification?retry=true`)).status, 200);
  t.strictSame(misfits, []);
});

t.test('the vendor’s client', async (t) => {
  const world = await startWorld(t);
  await world.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = world.app.server.address() as AddressInfo;
  const client = new Cloudflare({
    baseURL: `http://127.0.0.1:${port}/client/v4`,
    apiEmail: ADMIN_HEADERS['x-auth-email'],
    apiKey: ADMIN_HEADERS['x-auth-key'],
    maxRetries: 0,
  });
  const { zoneId: zone_id } = world;
  const { ssl } = client;
  t.strictSame(await ssl.universal.settings.get({ zone_id }), { enabled: true });
  t.strictSame(await ssl.universal.settings.edit({ zone_id, enabled: false }), { enabled: false });
  const made = await ssl.certificatePacks.create({
    zone_id,
    type: 'advanced',
    hosts: [ZONE, `*.${ZONE}`],
    validation_method: 'txt',
    validity_days: 90,
    certificate_authority: 'google',
  });
  t.match(made, { status: 'active', certificates: [{ hosts: [ZONE, `*.${ZONE}`] }] });
  const listed: string[] = [];
  for await (const { id } of ssl.certificatePacks.list({ zone_id, status: 'all' })) listed.push(id);
  t.strictSame(listed, [made.id]);
  t.match(await ssl.certificatePacks.get(made.id, { zone_id }), { id: made.id });
  t.match(await ssl.certificatePacks.edit(made.id, { zone_id }), { id: made.id, status: 'active' });
  t.match(await ssl.certificatePacks.quota.get({ zone_id }), { advanced: { used: 1 } });
  t.match(await ssl.verification.get({ zone_id }), [{ cert_pack_uuid: made.id, certificate_status: 'active' }]);
  t.match(await ssl.verification.edit(made.id, { zone_id, validation_method: 'txt' }), { validation_method: 'txt' });
  t.match(await ssl.certificatePacks.delete(made.id, { zone_id }), { id: made.id });
});

t.test('who really issues for each authority is told beside what was asked for', async (t) => {
  const { call, misfits } = await install(t);
  t.strictSame((await call('GET', '/certificate_authorities')).json.result, [
    { name: 'google', issued_by: 'built_in' },
    { name: 'lets_encrypt', issued_by: 'built_in' },
    { name: 'ssl_com', issued_by: 'built_in' },
    { name: 'digicert', issued_by: 'built_in' },
  ]);
  t.strictSame(misfits, []);
});
