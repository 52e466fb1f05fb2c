/** Answers that single clients depend on: counts, newer names of routes, forms of refusals, what survives an export. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { exportText } from '../../src/api/dns-records/transfer.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { importRecords } from '../../src/control/imports/records.js';
import { createRecord } from '../../src/control/records/records.js';
import { startZone } from '../control/fixture.js';
import { until } from '../support/until.js';
import { ADMIN_HEADERS, EMAIL, install } from './installation.js';

t.test('records of an account are counted', async (t) => {
  const { call, createZone, operator, token, misfits } = await install(t);
  const [first, second] = [await createZone('example.com'), await createZone('example.net')];
  const account = (await call('GET', '/accounts')).json.result[0].id;
  for (const [zone, name] of [
    [first, 'a'],
    [first, 'b'],
    [second, 'c'],
  ] as const) {
    await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name, content: '192.0.2.1' });
  }
  const path = `/accounts/${account}/dns_records/usage`;
  t.strictSame((await call('GET', path)).json.result, { record_quota: null, record_usage: 3 });
  const foreign = await createAccount(operator, { name: 'Foreign' });
  const headers = await token({ email: 'tenant@example.org', accountId: foreign.id });
  t.equal((await call('GET', path, undefined, { headers })).status, 403, 'a tenant counts its own');
  t.strictSame(misfits, []);
});

t.test('cache: the newer name does the same', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  const done = await call('POST', `/zones/${zone}/invalidate_cache`, { hosts: ['www.example.com'] });
  t.strictSame([done.status, done.json.result], [200, { id: zone }]);
  const refused = await call('POST', `/zones/${zone}/invalidate_cache`, {});
  t.equal(refused.json.errors[0].code, 1012);
});

t.test('a proxied record has an automatic TTL, whatever was sent', async (t) => {
  const { call, createZone } = await install(t);
  const records = `/zones/${await createZone('example.com')}/dns_records`;
  for (const [name, ttl] of [
    ['a', 3600],
    ['b', 5],
    ['c', 99_999_999],
  ] as const) {
    const made = await call('POST', records, { type: 'A', name, content: '192.0.2.1', proxied: true, ttl });
    t.match(made, { status: 200, json: { result: { ttl: 1, proxied: true } } }, `${ttl}`);
  }
  const plain = await call('POST', records, { type: 'A', name: 'd', content: '192.0.2.1', ttl: 5 });
  t.equal(plain.json.errors[0].code, 9021);
});

t.test('one record tells what shadows it', async (t) => {
  const { call, createZone } = await install(t);
  const records = `/zones/${await createZone('example.com')}/dns_records`;
  const ns = (await call('POST', records, { type: 'NS', name: 'sub', content: 'ns.other.test' })).json.result.id;
  const { id } = (await call('POST', records, { type: 'A', name: 'x.sub', content: '192.0.2.1' })).json.result;
  const asked = await call('GET', `${records}/${id}?include_shadow_metadata=true`);
  t.match(asked.json.result.meta, { shadowed_by: [ns], is_glue: false });
  t.equal((await call('GET', `${records}/${id}`)).json.result.meta.shadowed_by, undefined);
});

t.test('accounts are not created over the API, not even by an administrator', async (t) => {
  const { call } = await install(t);
  const before = (await call('GET', '/accounts')).json.result;
  for (const body of [{ name: 'another', type: 'standard' }, {}, undefined]) {
    const { status, json } = await call('POST', '/accounts', body);
    t.match({ status, json }, { status: 403, json: { success: false, result: null, errors: [{ code: 1002 }] } });
    t.match(json.errors[0].message, /zoneplane account create/);
  }
  t.same((await call('GET', '/accounts')).json.result, before);
});

t.test('methods that no path has are 405', async (t) => {
  const { app, call, createZone } = await install(t);
  const zone = await createZone('example.com');
  for (const method of ['PROPFIND', 'TRACE'] as const) {
    for (const path of ['/zones', `/zones/${zone}/dns_records`]) {
      const { statusCode, headers, body } = await app.inject({
        method: method as 'GET',
        url: `/client/v4${path}`,
        headers: ADMIN_HEADERS,
      });
      t.strictSame([statusCode, JSON.parse(body).errors[0].code], [405, 10405], `${method} ${path}`);
      t.match(headers.allow, /GET/);
    }
  }
  t.equal((await call('DELETE', '/zones')).status, 405);
});

t.test('a check of the activation says what it found', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  const { json } = await call('PUT', `/zones/${zone}/activation_check`);
  t.strictSame(json.messages, [{ code: 10204, message: 'example.com is active.' }]);
});

t.test('an export shows the present, and keeps the family of addresses', async (t) => {
  const { call, createZone, app } = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  for (const [name, settings] of [
    ['four', { ipv4_only: true }],
    ['six', { ipv6_only: true }],
  ] as const) {
    await call('POST', records, { type: 'A', name, content: '192.0.2.1', proxied: true, settings });
  }
  const past = await call('GET', `${records}/export?as_of=2020-01-01T00:00:00Z`);
  t.strictSame([past.status, past.json.errors[0].code], [400, 9207]);
  const file = (await call('GET', `${records}/export`)).text;
  t.match(file, /ipv4-only/);
  await call('DELETE', `/zones/${zone}`);
  const again = `/client/v4/zones/${await createZone('example.com')}/dns_records`;
  const boundary = 'x';
  const payload = `--${boundary}\r\nContent-Disposition: form-data; name="file"\r\n\r\n${file}\r\n--${boundary}--\r\n`;
  const headers = { ...ADMIN_HEADERS, 'content-type': `multipart/form-data; boundary=${boundary}` };
  const imported = await app.inject({ method: 'POST', url: `${again}/import`, headers, payload });
  t.equal(imported.statusCode, 200, imported.body);
  const found = JSON.parse((await app.inject({ url: again, headers: ADMIN_HEADERS })).body).result;
  t.strictSame(
    found.map(({ name, settings }: { name: string; settings: object }) => [name, settings]),
    [
      ['four.example.com', { ipv4_only: true }],
      ['six.example.com', { ipv6_only: true }],
    ],
  );
});

t.test('an export that nobody reads lets the write-ahead log be cut', async (t) => {
  const { ctx, zoneId, directory } = await startZone(t);
  const file = Array.from({ length: 8000 }, (_, i) => `n${i} TXT ${'"x'.padEnd(200, 'x')}"\n`).join('');
  await importRecords(ctx, zoneId, file, { proxied: false });
  const walOctets = (): number => {
    ctx.store.checkpoint();
    return statSync(join(directory, 'zoneplane.db-wal')).size;
  };
  t.equal(walOctets(), 0);
  const text = exportText(ctx, zoneId);
  await text.next();
  for (let i = 0; i < 20; i++) {
    await createRecord(ctx, zoneId, { type: 'TXT', name: `late${i}`, content: `"${'y'.repeat(200)}"` });
  }
  await until(async () => walOctets() === 0);
  let octets = 0;
  for await (const piece of text) octets += piece.length;
  t.ok(octets > 8000 * 200 - 300_000, 'the rest of the export comes when it is read');
});

t.test('a token in the place of a key is malformed there', async (t) => {
  const { call, token } = await install(t);
  const secret = (await token()).authorization.slice('Bearer '.length);
  const answer = await call('GET', '/user', undefined, { headers: { 'x-auth-email': EMAIL, 'x-auth-key': secret } });
  t.match(answer, { status: 400, json: { errors: [{ code: 6003, error_chain: [{ code: 6103 }] }] } });
});

t.test('a bucket without a hint has a location', async (t) => {
  const { call } = await install(t);
  const account = (await call('GET', '/accounts')).json.result[0].id;
  const made = await call('POST', `/accounts/${account}/r2/buckets`, { name: 'plain' });
  t.equal(made.json.result.location, 'ENAM');
});
