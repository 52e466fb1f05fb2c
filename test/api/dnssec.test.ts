/** `/zones/{id}/dnssec` (v4: §9) over HTTP and through the vendor's client. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import type { ParentServerDs } from '../../src/resolver/parent-ds.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

const OFF = {
  status: 'disabled',
  flags: null,
  algorithm: null,
  key_type: null,
  digest_type: null,
  digest_algorithm: null,
  digest: null,
  ds: null,
  key_tag: null,
  public_key: null,
  modified_on: null,
  dnssec_multi_signer: false,
  dnssec_presigned: false,
  dnssec_use_nsec3: false,
  dnssec_signals: false,
  dnssec_parental_agent: false,
};

t.test('the client turns it on, reads the DS record, and turns it off', async (t) => {
  let parent: ParentServerDs[] = [];
  const { app, token, createZone, misfits, store } = await install(t, { findParentDs: async () => parent });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const apiToken = (await token()).authorization.slice('Bearer '.length);
  const client = new Cloudflare({ baseURL: `http://127.0.0.1:${port}/client/v4`, maxRetries: 0, apiToken });
  const zone_id = await createZone('example.com');
  t.strictSame(await client.dns.dnssec.get({ zone_id }), OFF);
  const on = await client.dns.dnssec.edit({ zone_id, status: 'active' });
  t.match(on, {
    status: 'pending',
    flags: 257,
    algorithm: '13',
    key_type: 'ECDSAP256SHA256',
    digest_type: '2',
    digest_algorithm: 'SHA256',
    digest: /^[0-9A-F]{64}$/,
    key_tag: Number,
    public_key: /^[A-Za-z0-9+/]{86}==$/,
    modified_on: /^2024-05-05T12:00:00\.123/,
  });
  t.equal(on.ds, `example.com. 3600 IN DS ${on.key_tag} 13 2 ${on.digest}`);
  t.match(latestEvents(store, 1), [{ kind: 'dnssec.enable' }]);
  t.strictSame(await client.dns.dnssec.get({ zone_id }), on);
  t.strictSame(await client.dns.dnssec.edit({ zone_id, status: 'active' }), on, 'again');
  parent = [{ server: 'a.test', ds: [`${on.key_tag} 13 2 ${on.digest!.toLowerCase()}`], ttl: 900 }];
  t.match(await client.dns.dnssec.edit({ zone_id, status: 'disabled' }), {
    status: 'pending-disabled',
    key_tag: Number,
  });
  await t.rejects(client.dns.dnssec.delete({ zone_id }), { status: 400, message: /pending-disabled/ });
  t.match(await client.dns.dnssec.edit({ zone_id, status: 'active' }), { status: 'pending', key_tag: on.key_tag });
  parent = [{ server: 'a.test', ds: [], ttl: 900 }];
  t.match(await client.dns.dnssec.edit({ zone_id, status: 'disabled' }), { status: 'disabled', key_tag: on.key_tag });
  t.equal(await client.dns.dnssec.delete({ zone_id }), zone_id);
  t.strictSame(await client.dns.dnssec.get({ zone_id }), OFF);
  t.strictSame(misfits, []);
});

t.test('what was never given to the parent is removed at once, and nothing else', async (t) => {
  let parent: ParentServerDs[] = [];
  const { call, createZone } = await install(t, { findParentDs: async () => parent });
  const path = `/zones/${await createZone('example.com')}/dnssec`;
  const { json } = await call('PATCH', path, { status: 'active' });
  t.equal(json.result.status, 'pending');
  parent = [{ server: 'a.test', ds: [`${json.result.key_tag} 13 2 ${json.result.digest.toLowerCase()}`], ttl: 900 }];
  t.equal((await call('DELETE', path)).status, 400, 'the parent has the DS record');
  parent = [{ server: 'a.test', ds: [], ttl: 900 }];
  const other = `/zones/${await createZone('example.org')}/dnssec`;
  await call('PATCH', other, { status: 'active' });
  t.equal((await call('DELETE', other)).status, 200);
  t.match((await call('GET', other)).json.result, { status: 'disabled', key_tag: null });
});

t.test('keys, rollover, status', async (t) => {
  const { call, createZone, misfits, token } = await install(t, {
    findParentDs: async () => [{ server: 'a.test', ds: undefined, ttl: undefined }],
  });
  const path = `/zones/${await createZone('example.com')}/dnssec`;
  t.match((await call('GET', `${path}/zsk`)).json.result, []);
  t.match((await call('GET', `${path}/status`)).json.result, { status: 'disabled', signed_owners: 0, denial: null });
  t.match(await call('POST', `${path}/rollover`, { role: 'zsk' }), { status: 400 });
  await call('PATCH', path, { status: 'active' });
  t.match(await call('PATCH', path, { dnssec_signals: true }), {
    status: 200,
    json: { result: { dnssec_signals: true } },
  });
  t.match(await call('PATCH', path, { dnssec_parental_agent: true }), {
    status: 200,
    json: { result: { dnssec_parental_agent: true } },
  });
  const [zsk] = (await call('GET', `${path}/zsk`)).json.result;
  t.match(zsk, {
    Name: 'example.com.',
    Tag: 'active',
    Location: 'database',
    DNSKEY: {
      Hdr: { Name: 'example.com.', Rrtype: 48, Class: 1, Ttl: 3600, Rdlength: 68 },
      Flags: 256,
      Protocol: 3,
      Algorithm: 13,
      PublicKey: /^[A-Za-z0-9+/]{86}==$/,
    },
  });
  t.notMatch(JSON.stringify((await call('GET', `${path}/zsk`)).json), /SigningKey|sealed|private/i);
  t.match((await call('GET', `${path}/keys`)).json.result, [
    { role: 'ksk', state: 'published', waiting_for: /resolvers/, until: String, ds: /^example\.com\. 3600 IN DS / },
    { role: 'zsk', state: 'active', waiting_for: null, until: null, ds: null },
  ]);
  t.match((await call('GET', `${path}/status`)).json.result, {
    status: 'pending',
    denial: 'nsec',
    progress: null,
    first_expiry: String,
    due: 0,
    failure: null,
    signals: [],
    parent: { checked_on: null, servers: [], taken_by: null, could_take: null },
  });
  for (const [body, pointer] of [
    [{ status: 'on' }, '/status'],
    [{ dnssec_use_nsec3: 'yes' }, '/dnssec_use_nsec3'],
    [{ denial: 'none' }, '/denial'],
    [{ dnssec_signals: 1 }, '/dnssec_signals'],
    [{ dnssec_parental_agent: 'on' }, '/dnssec_parental_agent'],
  ] as const) {
    t.match(await call('PATCH', path, body), { status: 400, json: { errors: [{ source: { pointer } }] } });
  }
  t.match(await call('PATCH', path, { unknown: 1 }), { status: 200 }, 'unknown fields are ignored');
  t.match(await call('POST', `${path}/rollover`, { role: 'csk' }), { status: 400 });
  t.match(await call('POST', `${path}/ds_seen`, { key_tag: 70_000 }), { status: 400 });
  t.match(await call('POST', `${path}/ds_seen`, {}), { status: 400 });
  t.match(await call('POST', `${path}/resign`), { status: 200, json: { result: { status: 'pending' } } });
  const reader = await token({ readOnly: true } as never);
  t.match(await call('PATCH', path, { status: 'disabled' }, { headers: reader }), { status: 403 });
  t.strictSame(misfits, []);
});

t.test('a dry run of turning it on shows what would be served, and makes no keys', async (t) => {
  const { call, createZone } = await install(t);
  const path = `/zones/${await createZone('example.com')}/dnssec`;
  t.match(await call('PATCH', `${path}?dry_run=true`, { status: 'active' }), { status: 200 });
  t.match((await call('GET', path)).json.result, OFF);
});
