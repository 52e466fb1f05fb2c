/**
 * The life of custom hostnames with the vendor's own client, unmodified: from the first instruction to the end after a week.
 */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { sleep } from '../../../src/base/clock.js';
import { certificateJobs } from '../../../src/certs/issuance/jobs.js';
import { HOSTNAME_JOB } from '../../../src/control/certificates/drop.js';
import { hostnameJobs } from '../../../src/hostnames/job.js';
import { watchOwnChanges } from '../../../src/hostnames/own-changes.js';
import { startRunner } from '../../../src/jobs/runner.js';
import { install } from '../../api/installation.js';
import { until } from '../../support/until.js';

const DAY_MS = 86_400_000;
const HELD =
  'The hostname is associated with a held zone. Please contact the owner of this domain to have the hold removed.';

t.test('a hostname from its creation to its end', async (t) => {
  const installation = await install(t);
  const { base, clock, hostnames } = installation;
  const kinds = { [HOSTNAME_JOB]: hostnameJobs(base, hostnames), ...certificateJobs(hostnames.certificates) };
  const runner = startRunner({ store: base.store, clock, log: base.log, owner: 'test', kinds });
  let watch = watchOwnChanges(base);
  t.teardown(async () => {
    watch.close();
    await runner.stop();
  });
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as { port: number };
  const apiToken = (await installation.token()).authorization.slice('Bearer '.length);
  const client = new Cloudflare({ baseURL: `http://127.0.0.1:${port}/client/v4`, maxRetries: 0, apiToken });
  const zone_id = await installation.createZone('saas.test');
  const customer = await installation.createZone('customer.test');
  const { customHostnames } = client;

  const origin = { zone_id, name: 'origin.saas.test', ttl: 1 as const };
  await client.dns.records.create({ ...origin, type: 'A', content: '192.0.2.10', proxied: true });
  await customHostnames.fallbackOrigin.update({ zone_id, origin: 'origin.saas.test' });
  t.match(await customHostnames.fallbackOrigin.get({ zone_id }), { status: 'active', errors: [] });

  const point = (name: string, content = 'origin.saas.test') =>
    client.dns.records.create({ zone_id: customer, type: 'CNAME', name, content, ttl: 60 });
  const create = (hostname: string, ssl: object = {}) =>
    customHostnames.create({ zone_id, hostname, ssl: { method: 'txt', type: 'dv', ...ssl } });
  const get = (id: string) => customHostnames.get(id, { zone_id });
  /** Lets time pass until it is so. */
  const becomes = (id: string, status: string): Promise<void> =>
    until(async () => {
      const found = (await get(id)).status;
      if (found !== status) clock.advance(500);
      return found === status || found;
    }, status);

  const app = await create('app.customer.test', { certificate_authority: '' });
  const id = app.id;
  let cname = '';
  await t.test('it waits, and says what for', async (t) => {
    t.match(app, {
      status: 'pending',
      hostname: 'app.customer.test',
      verification_errors: ['custom hostname does not CNAME to this zone.'],
      ownership_verification: { type: 'txt', name: '_cf-custom-hostname.app.customer.test' },
    });
    const found = await customHostnames.list({ zone_id, hostname: { exact: 'app.customer.test' } });
    t.equal(found.result[0]?.id, id);
  });

  await t.test('the CNAME appears: it is active, with a certificate', async (t) => {
    cname = (await point('app')).id;
    await becomes(id, 'active');
    await customHostnames.edit(id, { zone_id, ssl: { method: 'txt', type: 'dv' } });
    const active = await get(id);
    t.match(active.ssl, { status: 'active', certificate_authority: 'google', hosts: ['app.customer.test'] });
    t.notOk(active.verification_errors);
    t.ok(active.ownership_verification, 'what proved it is still shown');
  });

  await t.test('CAA forbids the authority: another one is chosen', async (t) => {
    const data = { flags: 0, tag: 'issue', value: 'digicert.com' };
    await client.dns.records.create({ zone_id: customer, type: 'CAA', name: 'customer.test', data, ttl: 60 });
    await point('second');
    const second = await create('second.customer.test', { certificate_authority: 'google' });
    t.equal(String(second.status), 'caa_error');
    t.equal(String(second.ssl?.status), 'caa_error');
    t.match(JSON.stringify(second.ssl?.validation_errors), /CAA records block issuance/);
    t.equal((await get(id)).status, 'active', 'what has a certificate goes on');
    const ssl = { method: 'txt', type: 'dv', certificate_authority: 'digicert' } as const;
    await customHostnames.edit(second.id, { zone_id, ssl });
    await becomes(second.id, 'active');
    const reissued = await customHostnames.edit(second.id, { zone_id, ssl });
    t.match(reissued, { status: 'active', ssl: { status: 'active', certificate_authority: 'digicert' } });
  });

  await t.test(
    'CAA forbids the renewal: it is told, and the old certificate serves on until there is another',
    async (t) => {
      const before = (await get(id)).ssl;
      t.match(before, {
        status: 'active',
        certificate_authority: 'google',
        certificates: [{ issuer: /built-in authority/ }],
      });
      const { fingerprint_sha256: old, expires_on } = certificateOf(before);
      const sslBecomes = (status: string): Promise<void> =>
        until(async () => {
          const found = (await get(id)).ssl?.status;
          if (found !== status) clock.advance(500);
          return found === status || found;
        }, status);
      // It looks many times a second, and months go by.
      watch.close();
      clock.advance(59 * DAY_MS);
      for (let i = 0; i < 200 && String((await get(id)).ssl?.status) !== 'caa_error'; i++) {
        clock.advance(500);
        await sleep(10);
      }
      t.equal((await get(id)).ssl?.status, 'active', 'its time has not come');
      clock.advance(4 * DAY_MS);
      await sslBecomes('caa_error');
      const blocked = await get(id);
      t.match(blocked, {
        status: 'active',
        ssl: {
          status: 'caa_error',
          certificate_authority: 'google',
          validation_errors: [
            { message: 'caa_error: app.customer.test' },
            { message: /^CAA records block issuance\..*digicert\.com.*0 issue "pki\.goog"/, actor: 'customer' },
          ],
        },
      });
      t.equal(certificateOf(blocked.ssl).fingerprint_sha256, old, 'the old certificate is still there');
      t.ok(Date.parse(expires_on) > clock.nowMs(), 'and good');
      const listed = await customHostnames.list({ zone_id, hostname_status: 'active' });
      t.ok(listed.result.some((hostname) => hostname.id === id));
      const ssl = { method: 'txt', type: 'dv', certificate_authority: 'digicert' } as const;
      const edited = await customHostnames.edit(id, { zone_id, ssl });
      t.match(edited, { status: 'active', ssl: { certificate_authority: 'digicert' } });
      await sslBecomes('active');
      const reissued = await get(id);
      t.match(reissued.ssl, {
        status: 'active',
        certificate_authority: 'digicert',
        certificates: [{ issuer: /built-in authority/ }],
      });
      t.notOk(reissued.ssl?.validation_errors);
      t.not(certificateOf(reissued.ssl).fingerprint_sha256, old);
      t.ok(Date.parse(certificateOf(reissued.ssl).expires_on) > Date.parse(expires_on));
      watch = watchOwnChanges(base);
    },
  );

  await t.test('a hold with subdomains blocks it; after the release an edit activates it', async (t) => {
    await client.zones.holds.create({ zone_id: customer, include_subdomains: true });
    await point('third');
    const third = await create('third.customer.test', { certificate_authority: 'digicert' });
    t.match(third, { status: 'blocked', verification_errors: [HELD] });
    t.match(await customHostnames.edit(third.id, { zone_id }), { status: 'blocked', verification_errors: [HELD] });
    t.equal((await get(id)).status, 'active', 'what is active stays so');
    await client.zones.holds.delete({ zone_id: customer });
    t.equal((await get(third.id)).status, 'blocked', 'nothing happens by itself');
    t.match(await customHostnames.edit(third.id, { zone_id }), { status: 'active' });
  });

  await t.test('the CNAME leads elsewhere: it is moved, and gone after seven days', async (t) => {
    const record = { zone_id: customer, type: 'CNAME' as const, name: 'app', ttl: 60 as const };
    await client.dns.records.update(cname, { ...record, content: 'elsewhere.customer.test' });
    await becomes(id, 'moved');
    await client.dns.records.update(cname, { ...record, content: 'origin.saas.test' });
    const ssl = { method: 'txt', type: 'dv' } as const;
    t.match(await customHostnames.edit(id, { zone_id, ssl }), { status: 'active' }, 'an edit brings it back');
    await client.dns.records.update(cname, { ...record, content: 'elsewhere.customer.test' });
    await becomes(id, 'moved');
    watch.close();
    clock.advance(6.9 * DAY_MS);
    await sleep(100);
    t.equal((await get(id)).status, 'moved');
    clock.advance(0.2 * DAY_MS);
    await until(async () => {
      clock.advance(1000);
      return (await installation.call('GET', `/zones/${zone_id}/custom_hostnames/${id}`)).status !== 200;
    }, 'it is gone');
    await t.rejects(get(id), { status: 404, errors: [{ code: 1436 }] });
  });

  await t.test('deleted', async (t) => {
    const [left] = (await customHostnames.list({ zone_id })).result;
    t.match(await customHostnames.delete(left!.id, { zone_id }), { id: left!.id });
    await t.rejects(get(left!.id), { status: 404, errors: [{ code: 1436 }] });
  });
});

interface ShownCertificate {
  readonly fingerprint_sha256: string;
  readonly expires_on: string;
}

/** The one that is served; the client's types do not have them all. */
function certificateOf(ssl: unknown): ShownCertificate {
  return (ssl as { certificates: [ShownCertificate] }).certificates[0];
}
