/** To which peers anything is sent, and what tenants learn about those that do not answer. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import t, { type Test } from 'tap';
import { type Clock, SystemClock } from '../../src/base/clock.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createIncoming, getIncomingStatus, incomingStatuses } from '../../src/control/secondary/incoming.js';
import { createOutgoing, getPeerStatus } from '../../src/control/secondary/outgoing.js';
import { createPeer, replacePeer } from '../../src/control/secondary/peers.js';
import { createZone } from '../../src/control/zones/zones.js';
import { parseName } from '../../src/dns/name.js';
import type { Listener } from '../../src/egress/own-listeners.js';
import { notePeer } from '../../src/store/secondary/outgoing.js';
import { findTransferPeerById } from '../../src/store/secondary/peers.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { createIncomingCounts } from '../../src/transfer/in/metrics.js';
import { askSerial } from '../../src/transfer/notify/ask-peer.js';
import { refusal, startControl } from '../control/fixture.js';
import { egressTo } from '../support/egress.js';
import { freePort } from '../support/free-ports.js';
import { refreshZone } from '../support/refresh-zone.js';
import { testVault } from '../support/zone-keys.js';

/** Twenty seconds pass in one. */
class FastClock extends SystemClock {
  override steadyUs(): number {
    return super.steadyUs() * 20;
  }

  override after(delayMs: number, run: () => void): () => void {
    return super.after(delayMs / 20, run);
  }
}

interface World {
  readonly operator: Context;
  readonly tenant: Context;
  readonly account: string;
}

async function start(
  t: Test,
  networks: readonly string[],
  listeners: readonly Listener[] = [],
  clock: Clock = new SystemClock(),
): Promise<World> {
  const { ctx } = await startControl(t);
  const operator: Context = { ...ctx, clock, egress: egressTo(clock, networks, listeners) };
  const { id: account } = await createAccount(operator, { name: 'tenant', members: ['tenant@example.org'] });
  const actor = { ...OPERATOR, kind: 'token', superAdministrator: false, accountIds: [account] } as const;
  return { operator, tenant: { ...operator, actor }, account };
}

const LOOPBACK = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'];
const PRIVATE = ['10.0.0.53', '172.16.0.53', '192.168.1.53', '100.64.0.1', 'fd12::53'];
const SPECIAL = [
  ...['169.254.169.254', '224.0.0.1', '255.255.255.255', '0.0.0.0', '240.0.0.1', '::'],
  ...['fe80::1', 'ff02::1', 'fd00:ec2::254', '64:ff9b::7f00:1', '2002:7f00:1::', '100.100.100.200'],
];

t.test('tenants name public addresses, the operator private and loopback ones too', async (t) => {
  const { operator, tenant, account } = await start(t, []);
  for (const ip of [...LOOPBACK, ...PRIVATE, ...SPECIAL]) {
    const error = await refusal(createPeer(tenant, account, { name: 'p', ip }));
    t.match(error, { status: 400, pointer: '/ip' }, ip);
    t.equal(
      error.message,
      `No zones are transferred with ${ip} port 53: it is not a public address. The operator of the server can allow its network for transfers (allow-networks).`,
    );
  }
  for (const ip of ['192.0.2.53', '2001:db8::53']) await createPeer(tenant, account, { name: ip, ip });
  for (const ip of [...LOOPBACK, ...PRIVATE]) await createPeer(operator, account, { name: ip, ip });
  for (const ip of SPECIAL) {
    const error = await refusal(createPeer(operator, account, { name: 'p', ip }));
    t.match(
      error,
      { status: 400, pointer: '/ip', message: /not a public address, and allow-networks|address of no server/ },
      ip,
    );
  }
});

t.test('allowed networks, and nothing of this installation', async (t) => {
  const listeners: Listener[] = [{ host: '127.0.0.1', port: 8053, place: 'here' }];
  const { operator, tenant, account } = await start(t, ['127.0.0.0/8', '10.0.0.0/8'], listeners);
  for (const ip of ['127.0.0.1', '10.0.0.53']) await createPeer(tenant, account, { name: ip, ip });
  for (const ip of ['127.0.0.1', '127.0.0.2', '::ffff:127.0.0.1']) {
    for (const ctx of [tenant, operator]) {
      t.match(await refusal(createPeer(ctx, account, { name: 'p', ip, port: 8053 })), { status: 400 }, ip);
    }
  }
});

t.test('a tenant keeps an address that the operator named, and names no other one', async (t) => {
  const { operator, tenant, account } = await start(t, []);
  const { id } = await createPeer(operator, account, { name: 'lan', ip: '10.0.0.53' });
  const row = () => findTransferPeerById(operator.store, Buffer.from(id, 'hex'))!;
  await replacePeer(tenant, account, id, { name: 'renamed', ip: '10.0.0.53' });
  t.match(row(), { name: 'renamed', by_operator: 1 });
  for (const change of [{ ip: '10.0.0.54' }, { ip: '10.0.0.53', port: 22 }]) {
    t.match(await refusal(replacePeer(tenant, account, id, { name: 'lan', ...change })), { status: 400 });
  }
  await replacePeer(tenant, account, id, { name: 'away', ip: '192.0.2.53' });
  t.match(row(), { by_operator: 0 });
  t.match(await refusal(replacePeer(tenant, account, id, { name: 'lan', ip: '10.0.0.53' })), { status: 400 });
});

/** A zone of the tenant with a primary, and what a check of it says to tenant and operator. */
async function checkAt(world: World, name: string, port: number, connecting: Context = world.operator) {
  const { tenant, account, operator } = world;
  const { id: peer } = await createPeer(tenant, account, { name: 'p', ip: '127.0.0.1', port });
  const { id: zone } = await createZone(tenant, { name, type: 'secondary', account });
  await createIncoming(tenant, zone, { name, peers: [peer] });
  const { seq } = findZoneByName(operator.store, name)!;
  const vault = await testVault(operator.store, operator.random);
  const parts = { base: connecting, vault, authorities: undefined, counts: createIncomingCounts() };
  const beganMs = operator.clock.steadyUs() / 1000;
  await refreshZone(parts, seq, false, new AbortController().signal);
  const tookMs = operator.clock.steadyUs() / 1000 - beganMs;
  const seen = await getIncomingStatus(tenant, zone);
  const [listed] = (await incomingStatuses(tenant, account)).filter(({ zoneName }) => zoneName === name);
  const known = await getIncomingStatus(operator, zone);
  return { seen, listed, known, tookMs };
}

async function listen(t: Test, serve: (server: Server) => Server): Promise<{ port: number; met: () => number }> {
  let met = 0;
  const server = serve(createServer());
  server.on('connection', (socket) => {
    met++;
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { port: (server.address() as { port: number }).port, met: () => met };
}

t.test('an open port looks like a closed one, and takes as long', async (t) => {
  const world = await start(t, ['127.0.0.0/8'], [], new FastClock());
  const silent = await listen(t, (server) => server);
  const closing = await listen(t, (server) => server.on('connection', (socket) => socket.destroy()));
  const web = await listen(t, (server) =>
    server.on('connection', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')),
  );
  const ports = { closed: await freePort(), silent: silent.port, closing: closing.port, web: web.port };
  const checks = await Promise.all(Object.entries(ports).map(([name, port]) => checkAt(world, `${name}.test`, port)));
  for (const [i, name] of Object.keys(ports).entries()) {
    const { seen, listed, known, tookMs } = checks[i]!;
    for (const status of [seen, listed!]) {
      t.match(status, { error: 'p: not reached', primaries: [{ error: 'not reached' }], state: 'waiting' }, name);
    }
    t.ok(tookMs >= 20_000, `${name} after ${tookMs} ms`);
    t.not(known.error, 'p: not reached', `the operator reads more: ${known.error}`);
  }
  t.match(checks[0]!.known, { error: /ECONNREFUSED/ });
});

t.test('a stored peer is not connected to when nothing allows it any more', async (t) => {
  const world = await start(t, ['127.0.0.0/8']);
  const server = await listen(t, (it) => it);
  const later = { ...world.operator, egress: egressTo(world.operator.clock, []) };
  const { seen, known } = await checkAt(world, 'late.test', server.port, later);
  t.match(seen, { error: 'p: refused by policy', primaries: [{ error: 'refused by policy' }] });
  t.match(known, { error: /^p: refused by policy: 127\.0\.0\.1 is not a public address, and allow-networks/ });
  t.equal(server.met(), 0);
});

t.test('NOTIFY and questions for serials go nowhere else', async (t) => {
  const clock = new FastClock();
  // Timers alone do not keep the process.
  await listen(t, (server) => server);
  const { operator, tenant, account } = await start(t, ['127.0.0.0/8'], [], clock);
  const ask = (egress: Context['egress'], port: number, by: 'operator' | 'tenant') => {
    const peer = { address: '127.0.0.1', port, by, key: undefined };
    return askSerial({ clock, random: operator.random, egress }, peer, parseName('a.test.'), 3000);
  };
  const port = await freePort();
  t.match(await ask(egressTo(clock, []), port, 'tenant'), { error: /^refused by policy: 127\.0\.0\.1/ });
  const beganMs = clock.steadyUs() / 1000;
  t.match(await ask(operator.egress, port, 'tenant'), { error: /ECONNREFUSED/ });
  t.ok(clock.steadyUs() / 1000 - beganMs >= 3000, 'as late as of a server that says nothing');

  const { id: peer } = await createPeer(tenant, account, { name: 'p', ip: '127.0.0.1', port });
  const { id: zone } = await createZone(tenant, { name: 'out.test', account });
  await createOutgoing(tenant, zone, { name: 'out.test', peers: [peer] });
  const { seq } = findZoneByName(operator.store, 'out.test')!;
  const { seq: peerSeq } = findTransferPeerById(operator.store, Buffer.from(peer, 'hex'))!;
  const texts = {
    'recvmsg ECONNREFUSED': 'not reached',
    'it did not answer': 'not reached',
    'wrong answer: it answers SOA with REFUSED': 'wrong answer',
    'refused by policy: 127.0.0.1 is not a public address': 'refused by policy',
  };
  for (const [error, shown] of Object.entries(texts)) {
    await operator.store.write(() => notePeer(operator.store, seq, peerSeq, { error }, 1));
    t.match(await getPeerStatus(tenant, zone), [{ error: shown }]);
    t.match(await getPeerStatus(operator, zone), [{ error }]);
  }
});
