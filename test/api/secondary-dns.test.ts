/** Keys, networks, peers and transfers of zones over HTTP, through the vendor's client and without it. */
import type { AddressInfo } from 'node:net';
import Cloudflare from 'cloudflare';
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { peerSamples } from '../../src/control/secondary/status.js';
import type { PeerSight } from '../../src/store/secondary/linked-peers.js';
import { notePeer, peersOfZone } from '../../src/store/secondary/outgoing.js';
import { tsigKeyNames } from '../../src/store/secondary/tsig-keys.js';
import { findZone, findZoneByName } from '../../src/store/zones/zones.js';
import { examinedFor } from '../../src/warnings/asked.js';
import { examineSecondaries } from '../../src/warnings/secondaries.js';
import { latestEvents } from '../support/rows.js';
import { ADMIN_HEADERS, type Installation, install } from './installation.js';

const ZONE = 'secondary.test';
const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';
const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');

interface World extends Installation {
  readonly zoneId: string;
  readonly account: string;
}

async function startWorld(t: Test): Promise<World> {
  const installation = await install(t);
  const zoneId = await installation.createZone(ZONE);
  const accounts = await installation.call('GET', '/accounts');
  return { ...installation, zoneId, account: accounts.json.result[0].id };
}

t.test('the vendor’s client makes everything and takes it away again', async (t) => {
  const world = await startWorld(t);
  const { app, zoneId: zone_id, account: account_id, misfits } = world;
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const client = new Cloudflare({
    baseURL: `http://127.0.0.1:${port}/client/v4`,
    apiEmail: ADMIN_HEADERS['x-auth-email'],
    apiKey: ADMIN_HEADERS['x-auth-key'],
    maxRetries: 0,
  });
  const { tsigs, acls, peers, outgoing } = client.dns.zoneTransfers;

  const key = await tsigs.create({ account_id, name: 'K.example.', algo: 'hmac-sha512.', secret: SECRET });
  t.match(key, { name: 'K.example.', algo: 'hmac-sha512.', secret: SECRET });
  t.same(await tsigs.get(key.id, { account_id }), key);
  const other = Buffer.from('another secret').toString('base64');
  t.equal((await tsigs.update(key.id, { account_id, name: 'k2', algo: 'hmac-sha256', secret: other })).secret, other);
  t.equal((await tsigs.list({ account_id })).result.length, 1);

  const acl = await acls.create({ account_id, name: 'office', ip_range: '192.0.2.53/28' });
  t.equal(acl.ip_range, '192.0.2.53/28', 'as it was sent');
  t.same(await acls.get(acl.id, { account_id }), acl);
  t.equal((await acls.update(acl.id, { account_id, name: 'home', ip_range: '2001:db8::/64' })).name, 'home');
  t.equal((await acls.list({ account_id })).result.length, 1);
  t.same(await acls.delete(acl.id, { account_id }), { id: acl.id });

  const peer = await peers.create({ account_id, name: 'ns2' });
  t.same(peer, { id: peer.id, name: 'ns2', ixfr_enable: false, port: 53 });
  const changed = { ip: '192.0.2.53', port: 5353, ixfr_enable: true, tsig_id: key.id };
  t.same(await peers.update(peer.id, { account_id, name: 'ns2', ...changed }), { ...peer, ...changed });
  t.same(await peers.get(peer.id, { account_id }), { ...peer, ...changed });
  t.equal((await peers.list({ account_id })).result.length, 1);

  const made = await outgoing.create({ zone_id, name: `${ZONE}.`, peers: [peer.id] });
  t.match(made, { id: zone_id, name: `${ZONE}.`, peers: [peer.id], last_transferred_time: null });
  t.equal(await outgoing.status.get({ zone_id }), 'Disabled', 'as v4 has it');
  t.equal(await outgoing.enable({ zone_id, body: {} } as never), 'Enabled');
  t.equal(await outgoing.status.get({ zone_id }), 'Enabled');
  t.equal(await outgoing.forceNotify({ zone_id, body: {} } as never), 'OK');
  t.same((await outgoing.get({ zone_id })).peers, [peer.id]);
  t.same((await outgoing.update({ zone_id, name: ZONE, peers: [] })).peers, []);
  t.equal(await outgoing.disable({ zone_id, body: {} } as never), 'Disabled');
  t.same(await outgoing.delete({ zone_id }), { id: zone_id });
  const gone = await outgoing.get({ zone_id }).catch((error: { status: number }) => error);
  t.match(gone, { status: 404 });

  t.same(await peers.delete(peer.id, { account_id }), { id: peer.id });
  t.same(await tsigs.delete(key.id, { account_id }), { id: key.id });
  t.same(tsigKeyNames(world.store), []);
  t.strictSame(misfits, []);
});

t.test('the vendor’s client makes a secondary zone and says where it comes from', async (t) => {
  const world = await startWorld(t);
  const { app, account: account_id, misfits, call } = world;
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const client = new Cloudflare({
    baseURL: `http://127.0.0.1:${port}/client/v4`,
    apiEmail: ADMIN_HEADERS['x-auth-email'],
    apiKey: ADMIN_HEADERS['x-auth-key'],
    maxRetries: 0,
  });
  const { peers, incoming, forceAXFR } = client.dns.zoneTransfers;
  const zone = await client.zones.create({ account: { id: account_id }, name: 'in.test', type: 'secondary' });
  t.match(zone, { type: 'secondary', status: 'active' });
  const { result: listed } = await client.zones.list({ type: ['secondary'] } as never);
  t.same(
    listed.map(({ name }) => name),
    ['in.test'],
  );
  const zone_id = zone.id;
  const path = `/zones/${zone_id}/secondary_dns/incoming`;
  t.equal((await call('GET', path)).status, 404, 'nothing is said yet');
  const peer = await peers.create({ account_id, name: 'nowhere' });
  const refused = await call('POST', path, { name: 'in.test', peers: [peer.id], auto_refresh_seconds: 300 });
  t.match(refused, { status: 400, json: { errors: [{ message: /has no ip/ }] } });
  await peers.update(peer.id, { account_id, name: 'ns1', ip: '127.0.0.1', port: 1 });
  const wanted = { name: 'in.test.', peers: [peer.id], auto_refresh_seconds: 86_400 };
  const made = await incoming.create({ zone_id, ...wanted });
  t.match(made, { id: zone_id, ...wanted, checked_time: null, soa_serial: null });
  t.match(await incoming.get({ zone_id }), wanted);
  t.equal((await call('POST', path, wanted)).status, 400, 'it exists');
  t.equal((await call('PUT', path, { ...wanted, auto_refresh_seconds: 299 })).status, 400);
  t.equal((await call('PUT', path, { ...wanted, name: 'other.test' })).status, 400);
  t.match(await incoming.update({ zone_id, ...wanted, auto_refresh_seconds: 300 }), { auto_refresh_seconds: 300 });
  t.equal(await forceAXFR.create({ zone_id, body: {} } as never), 'OK');
  t.equal((await call('DELETE', `/accounts/${account_id}/secondary_dns/peers/${peer.id}`)).status, 400, 'in use');
  t.match((await call('GET', `${path}/status`)).json.result, { state: 'waiting', primaries: [{ name: 'ns1' }] });
  const record = await call('POST', `/zones/${zone_id}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  t.match(record, { status: 400, json: { errors: [{ code: 1004, message: /come from its primary/ }] } });
  t.same(await incoming.delete({ zone_id }), { id: zone_id });
  t.equal((await call('POST', `/zones/${zone_id}/secondary_dns/force_axfr`)).status, 404);
  t.equal((await call('POST', `/zones/${world.zoneId}/secondary_dns/incoming`, { ...wanted, name: ZONE })).status, 400);
  t.equal((await call('PATCH', `/zones/${world.zoneId}`, { type: 'secondary' })).status, 400);
  t.strictSame(misfits, []);
});

t.test('what is wrong is refused, and nothing is half done', async (t) => {
  const { call, account, zoneId, misfits } = await startWorld(t);
  const base = `/accounts/${account}/secondary_dns`;
  const refused = async (path: string, body: unknown, pointer: string): Promise<void> => {
    const { status, json } = await call('POST', `${base}/${path}`, body);
    t.equal(status, 400, JSON.stringify(body));
    t.equal(json.errors[0].source?.pointer, pointer);
  };
  const key = { name: 'k.example.', algo: 'hmac-sha256.', secret: SECRET };
  await refused('tsigs', { ...key, algo: 'hmac-sha3' }, '/algo');
  await refused('tsigs', { ...key, secret: 'not base 64!' }, '/secret');
  await refused('tsigs', { ...key, secret: 'c2hvcnQ=' }, '/secret');
  await refused('tsigs', { ...key, name: 'a..b' }, '/name');
  await refused('tsigs', { ...key, name: 7 }, '/name');
  await refused('acls', { name: 'a', ip_range: '192.0.2.0/23' }, '/ip_range');
  await refused('acls', { name: 'a', ip_range: '2001:db8::/48' }, '/ip_range');
  await refused('acls', { name: '', ip_range: '192.0.2.0/24' }, '/name');
  await refused('peers', { name: 'p', ip: 'ns2.example' }, '/ip');
  await refused('peers', { name: 'p', port: 70_000 }, '/port');
  t.equal((await call('POST', `${base}/peers`, { name: 'p', tsig_id: 'f'.repeat(32) })).status, 404);

  const { id: keyId } = (await call('POST', `${base}/tsigs`, key)).json.result;
  await refused('tsigs', { ...key, name: 'K.EXAMPLE' }, '/name');
  const peerOf = async (body: object): Promise<string> => (await call('POST', `${base}/peers`, body)).json.result.id;
  const signed = await peerOf({ name: 'signed', tsig_id: keyId });
  const plain = await peerOf({ name: 'plain', ip: '192.0.2.1' });
  t.equal((await call('DELETE', `${base}/tsigs/${keyId}`)).status, 400, 'a peer uses it');

  const outgoing = `/zones/${zoneId}/secondary_dns/outgoing`;
  t.equal((await call('POST', outgoing, { name: ZONE, peers: [signed, plain] })).status, 400, 'mixed keys');
  t.equal((await call('POST', outgoing, { name: 'other.test', peers: [signed] })).status, 400);
  t.equal((await call('POST', outgoing, { name: ZONE, peers: ['f'.repeat(32)] })).status, 404);
  t.equal((await call('GET', outgoing)).status, 404, 'nothing was made');
  t.equal((await call('POST', `${outgoing}/enable`)).status, 404);
  t.equal((await call('POST', outgoing, { name: ZONE, peers: [plain] })).status, 200);
  t.equal((await call('POST', outgoing, { name: ZONE, peers: [plain] })).status, 400, 'it exists');
  t.equal((await call('PUT', outgoing, { name: ZONE, peers: [signed, signed] })).status, 200, 'twice is once');
  t.equal((await call('DELETE', `${base}/peers/${signed}`)).status, 400, 'the zone uses it');
  t.same((await call('GET', `/zones/${zoneId}/secondary_dns/status`)).json.result, [
    {
      id: signed,
      name: 'signed',
      ip: null,
      port: 53,
      serial: null,
      in_sync: false,
      ahead: false,
      seen_time: null,
      error: null,
    },
  ]);
  t.strictSame(misfits, []);
});

t.test('other accounts see nothing, readers no secrets, and the audit log none either', async (t) => {
  const { call, account, store, token, operator } = await startWorld(t);
  const base = `/accounts/${account}/secondary_dns`;
  const made = await call('POST', `${base}/tsigs`, { name: 'k.example.', algo: 'hmac-sha256.', secret: SECRET });
  const { id } = made.json.result;
  const reader = { headers: await token({ readOnly: true }) };
  t.equal((await call('GET', `${base}/tsigs/${id}`, undefined, reader)).json.result.secret, '');
  t.equal((await call('GET', `${base}/tsigs`, undefined, reader)).json.result[0].secret, '');
  t.equal((await call('DELETE', `${base}/tsigs/${id}`, undefined, reader)).status, 403);
  t.notMatch(JSON.stringify(latestEvents(store, 10)), SECRET);
  const other = await createAccount(operator, { name: 'other', members: ['other@example.net'] });
  const stranger = { headers: await token({ email: 'other@example.net', accountId: other.id }) };
  t.equal((await call('GET', `${base}/tsigs/${id}`, undefined, stranger)).status, 403);
  const own = `/accounts/${other.id}/secondary_dns/tsigs/${id}`;
  t.equal((await call('GET', own, undefined, stranger)).status, 404);
});

t.test('a change says which peers serve it', async (t) => {
  const { call, account, zoneId, store, clock, misfits } = await startWorld(t);
  const peer = await call('POST', `/accounts/${account}/secondary_dns/peers`, { name: 'ns2', ip: '192.0.2.1' });
  const { id } = peer.json.result;
  await call('POST', `/zones/${zoneId}/secondary_dns/outgoing`, { name: ZONE, peers: [id] });
  const record = { type: 'A', name: 'www', content: '192.0.2.7', ttl: 300 };
  const { headers } = await call('POST', `/zones/${zoneId}/dns_records`, record);
  const serial = Number(headers['zoneplane-serial']);
  const secondaries = async () =>
    (await call('GET', `/zones/${zoneId}/changes/${headers['zoneplane-change']}`)).json.result.secondaries;
  t.strictSame(await secondaries(), [{ name: 'ns2', serial: null, status: 'PENDING', error: null }]);
  const zone = findZoneByName(store, ZONE)!.seq;
  const [{ seq } = { seq: 0 }] = peersOfZone(store, zone);
  await store.write(() => notePeer(store, zone, seq, { serial: serial - 1 }, clock.nowUs()));
  t.strictSame(await secondaries(), [{ name: 'ns2', serial: serial - 1, status: 'PENDING', error: null }]);
  await store.write(() => notePeer(store, zone, seq, { serial }, clock.nowUs()));
  t.strictSame(await secondaries(), [{ name: 'ns2', serial, status: 'INSYNC', error: null }]);
  t.match((await call('GET', `/zones/${zoneId}/secondary_dns/status`)).json.result, [{ serial, in_sync: true }]);
  t.strictSame(misfits, []);
});

t.test('metrics and doctor tell of secondaries that are behind or do not answer', async (t) => {
  const { call, account, zoneId, store, clock, operator } = await startWorld(t);
  const ids: string[] = [];
  for (const [i, name] of ['ns2', 'ns3', 'ns4'].entries()) {
    const body = { name, ...(i < 2 && { ip: `192.0.2.${i + 1}` }) };
    ids.push((await call('POST', `/accounts/${account}/secondary_dns/peers`, body)).json.result.id);
  }
  const examined = () => examinedFor({ store, actor: OPERATOR }, operator.settings, clock.nowUs());
  const outgoing = `/zones/${zoneId}/secondary_dns/outgoing`;
  await call('POST', outgoing, { name: ZONE, peers: ids });
  t.strictSame([peerSamples(store), examineSecondaries(examined())], [[], []], 'not enabled');
  await call('POST', `${outgoing}/enable`);
  const zone = findZoneByName(store, ZONE)!;
  const [first, second] = peersOfZone(store, zone.seq);
  const note = (peer: number, sight: PeerSight) =>
    store.write(() => notePeer(store, zone.seq, peer, sight, clock.nowUs()));
  const counts = () =>
    peerSamples(store)
      .filter(({ value }) => value > 0)
      .map(({ labels }) => `${labels['secondary']} ${labels['state']}`)
      .sort();
  const texts = () => examineSecondaries(examined()).map(({ verdict, text }) => `${verdict}: ${text}`);
  t.strictSame(counts(), ['ns2 behind', 'ns3 behind'], 'never seen; the third has no address');
  t.match(texts(), [/^ok/], 'for a minute that is nothing unusual');
  clock.advance(61_000);
  t.match(texts(), [/^warn: ns2 serves an older version of secondary.test$/, /^warn: ns3/]);
  await note(first!.seq, { serial: zone.serial });
  await note(second!.seq, { error: 'it did not answer' });
  t.strictSame(counts(), ['ns2 in_sync', 'ns3 unreachable']);
  t.strictSame(texts(), ['warn: ns3, asked about secondary.test: it did not answer']);
  await note(second!.seq, { serial: zone.serial + 3 });
  t.strictSame(texts(), ['warn: ns3 serves a newer version of secondary.test than this server']);
  t.strictSame(counts(), ['ns2 in_sync', 'ns3 ahead']);
  const { result } = (await call('GET', `/zones/${zoneId}/secondary_dns/status`)).json;
  t.match(result, [{ in_sync: true, ahead: false }, { in_sync: false, ahead: true }, { ahead: false }]);
  await call('POST', `${outgoing}/force_notify`);
  const passed = zone.serial + 4;
  t.equal(findZone(store, zone.seq)!.serial, passed, 'newer than that of the peer');
  await call('POST', `${outgoing}/force_notify`);
  t.equal(findZone(store, zone.seq)!.serial, passed, 'nobody is ahead any more');
  for (const { seq } of [first!, second!]) await note(seq, { serial: passed });
  t.strictSame(texts(), ['ok: all 2 serve what this server serves']);
  await call('POST', `/zones/${zoneId}/dns_records`, { type: 'A', name: 'www', content: '192.0.2.7' });
  t.match(texts(), [/^ok/], 'it has a minute again');
  clock.advance(61_000);
  t.match(texts(), [/^warn: ns2/]);
});

t.test('a secondary is added in one write, or nothing is', async (t) => {
  const { call, account, zoneId, createZone, store, misfits, token } = await startWorld(t);
  const base = `/accounts/${account}/secondary_dns`;
  const path = `/zones/${zoneId}/secondary_dns/secondaries`;
  const made = async (): Promise<unknown[]> => {
    const [tsigs, peers] = await Promise.all([call('GET', `${base}/tsigs`), call('GET', `${base}/peers`)]);
    const names = ({ json }: { json: { result: { name: string }[] } }) => json.result.map(({ name }) => name);
    return [names(tsigs), names(peers), (await call('GET', `/zones/${zoneId}/secondary_dns/outgoing`)).status];
  };
  const nothing = [[], [], 404];
  for (const [body, pointer] of [
    [{ ip: '192.0.2.1' }, '/name'],
    [{ name: 'ns2' }, '/ip'],
    [{ name: 'ns2', ip: 'ns2.example' }, '/ip'],
    [{ name: 'ns2', ip: '192.0.2.1', port: 70_000 }, '/port'],
  ] as const) {
    t.match(await call('POST', path, body), { status: 400, json: { errors: [{ source: { pointer } }] } });
  }
  t.equal((await call('POST', path, { peer_id: 'f'.repeat(32) })).status, 404);
  const zones = { [`com.cloudflare.api.account.zone.${zoneId}`]: '*' };
  const dnsOnly = { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources: zones };
  const narrow = (await call('POST', '/user/tokens', { name: 'dns', policies: [dnsOnly] })).json.result.value;
  const asNarrow = { headers: { authorization: `Bearer ${narrow}` } };
  t.equal(
    (await call('POST', path, { name: 'ns2', ip: '192.0.2.1' }, asNarrow)).status,
    403,
    'peers are the account’s',
  );
  t.equal(
    (await call('POST', path, { name: 'ns2', ip: '192.0.2.1' }, { headers: await token({ readOnly: true }) })).status,
    403,
  );
  t.strictSame(await made(), nothing, 'nothing is half made');

  const first = (await call('POST', path, { name: 'NS 2', ip: '192.0.2.1' })).json.result;
  t.match(first, { peer: { name: 'NS 2', ip: '192.0.2.1', port: 53, ixfr_enable: true }, tsig_name: 'ns-2.transfer.' });
  t.same(first.outgoing.peers, [first.peer.id]);
  t.equal((await call('GET', `/zones/${zoneId}/secondary_dns/outgoing/status`)).json.result, 'Enabled');
  const second = (await call('POST', path, { name: 'ns3', ip: '2001:db8::1', port: 5353 })).json.result;
  t.equal(second.tsig_name, 'ns-2.transfer.', 'the key of the zone’s other secondary');
  t.same(second.outgoing.peers, [first.peer.id, second.peer.id]);

  const other = `/zones/${await createZone('other.test')}/secondary_dns/secondaries`;
  const again = (await call('POST', other, { name: 'ns 2', ip: '192.0.2.9' })).json.result;
  t.equal(again.tsig_name, 'ns-2-2.transfer.', 'a name of its own');
  const before = await made();
  t.match(await call('POST', path, { peer_id: again.peer.id }), {
    status: 400,
    json: { errors: [{ message: /different TSIG keys/ }] },
  });
  t.strictSame(await made(), before);
  const plain = `/zones/${await createZone('plain.test')}/secondary_dns/secondaries`;
  t.equal((await call('POST', plain, { name: 'bare', ip: '192.0.2.3', signed: false })).json.result.tsig_name, null);
  t.equal((await call('POST', plain, { name: 'bare2', ip: '192.0.2.4' })).json.result.tsig_name, null, 'as the other');
  const third = `/zones/${await createZone('third.test')}/secondary_dns/secondaries`;
  t.match((await call('POST', third, { peer_id: first.peer.id })).json.result, {
    peer: { id: first.peer.id },
    tsig_name: 'ns-2.transfer.',
  });
  for (let i = 3; i <= 30; i++)
    t.equal((await call('POST', plain, { name: `s${i}`, ip: `192.0.2.${i + 10}` })).status, 200);
  const full = await made();
  t.equal((await call('POST', plain, { name: 'one too many', ip: '192.0.2.99' })).status, 400);
  t.strictSame(await made(), full, 'the peer was not kept');
  t.notMatch(JSON.stringify(latestEvents(store, 30)), /secret/);
  t.strictSame(misfits, []);
});
