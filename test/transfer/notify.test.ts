/** NOTIFY to peers on loopback: when it is sent, how often, what is stored of what they answer. The clock is moved by hand. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { chooseAccount } from '../../src/control/guard/access.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createPropagation, type Propagation } from '../../src/control/kernel/propagation.js';
import { createRecord } from '../../src/control/records/records.js';
import { createOutgoing, enableOutgoing } from '../../src/control/secondary/outgoing.js';
import { createPeer } from '../../src/control/secondary/peers.js';
import { createTsig } from '../../src/control/secondary/tsigs.js';
import { Opcode, Type } from '../../src/dns/codes.js';
import { readMessage } from '../../src/dns/message.js';
import { MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import { findTsig, signMessage, type TsigKey, verifyMessage } from '../../src/dns/tsig.js';
import { lastChange } from '../../src/store/log/changes.js';
import type { LinkedPeerRow } from '../../src/store/secondary/linked-peers.js';
import { peersOfZone } from '../../src/store/secondary/outgoing.js';
import { findZoneByName, type ZoneRow } from '../../src/store/zones/zones.js';
import { type Notifier, startNotifier } from '../../src/transfer/notify/notifier.js';
import { startZone } from '../control/fixture.js';
import type { TestClock } from '../support/test-clock.js';
import { testVault } from '../support/zone-keys.js';

const SECRET = new Uint8Array(32).fill(3);
const KEY: TsigKey = { name: parseName('transfer.test.'), algorithm: 'hmac-sha256', secret: SECRET };
const DAY_MS = 86_400_000;

/** A peer whose behaviour a test sets. */
interface FakePeer {
  readonly port: number;
  /** Serials of the NOTIFY that came, and how often its SOA was asked for. */
  readonly notified: number[];
  asked: number;
  isSilent: boolean;
  /** Sends the answer to the last message that came while it was silent. */
  release: () => void;
  rcode: number;
  /** What it says that it serves. */
  serial: number;
  /** Seconds that its clock is ahead; it signs only with a key. */
  ahead: number;
  key: TsigKey | undefined;
}

async function startPeer(t: Test, clock: TestClock): Promise<FakePeer> {
  const socket = createSocket('udp4');
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  t.teardown(() => void socket.close());
  const peer: FakePeer = {
    port: socket.address().port,
    notified: [],
    asked: 0,
    isSilent: false,
    release: () => {},
    rcode: 0,
    serial: 0,
    ahead: 0,
    key: undefined,
  };
  socket.on('message', (datagram, { port }) => answer(peer, socket, new Uint8Array(datagram), port, clock));
  return peer;
}

function answer(peer: FakePeer, socket: Socket, query: Uint8Array, port: number, clock: TestClock): void {
  const message = readMessage(query)!;
  const isNotify = ((message.flags >>> 11) & 15) === Opcode.notify;
  if (isNotify) peer.notified.push(serialOf(message.answers[0]!.rdata));
  else peer.asked++;
  if (peer.isSilent) {
    peer.release = () => {
      peer.isSilent = false;
      reply(peer, socket, query, port, clock);
    };
    return;
  }
  reply(peer, socket, query, port, clock);
}

function reply(peer: FakePeer, socket: Socket, query: Uint8Array, port: number, clock: TestClock): void {
  const message = readMessage(query)!;
  const isNotify = ((message.flags >>> 11) & 15) === Opcode.notify;
  const writer = new MessageWriter(4096);
  writer.begin(message.id, message.flags | 0x8000 | peer.rcode, message.question);
  if (!isNotify) writer.add('answer', message.question.name, Type.soa, 60, soaRdata(peer.serial));
  const octets = writer.finish();
  const tsig = findTsig(query);
  if (!peer.key || tsig === 'none' || tsig === 'malformed') {
    socket.send(octets, port, '127.0.0.1');
    return;
  }
  const time = Math.floor(clock.nowMs() / 1000) + peer.ahead;
  const error = verifyMessage(query, tsig, peer.key, time);
  const signing = { prior: tsig.mac, time: error === 18 ? tsig.time : time, error: error as number };
  socket.send(signMessage(octets, peer.key, signing).message, port, '127.0.0.1');
}

function serialOf(rdata: Uint8Array): number {
  return Buffer.from(rdata).readUInt32BE(rdata.length - 20);
}

function soaRdata(serial: number): Uint8Array {
  const rdata = Buffer.alloc(22);
  rdata.writeUInt32BE(serial, 2);
  return rdata;
}

interface World {
  readonly ctx: Context;
  readonly clock: TestClock;
  readonly zoneId: string;
  readonly peers: readonly FakePeer[];
  readonly propagation: Propagation;
  readonly change: () => Promise<void>;
  /** All DNS processes answer what is committed. */
  readonly serve: () => void;
  readonly notify: () => Notifier;
  readonly zone: () => ZoneRow;
  readonly rows: () => LinkedPeerRow[];
}

interface Options {
  readonly peers?: number;
  readonly signed?: boolean;
}

async function start(t: Test, { peers: count = 1, signed = false }: Options = {}): Promise<World> {
  const { ctx, clock, zoneId } = await startZone(t);
  const vault = await testVault(ctx.store, ctx.random);
  const account = toHex(chooseAccount(ctx, undefined).id);
  const secret = Buffer.from(SECRET).toString('base64');
  const key = signed
    ? await createTsig(ctx, { vault }, account, { name: 'transfer.test.', algo: 'hmac-sha256', secret })
    : undefined;
  const peers: FakePeer[] = [];
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const peer = await startPeer(t, clock);
    if (signed) peer.key = KEY;
    peers.push(peer);
    const place = { name: `peer${i}`, ip: '127.0.0.1', port: peer.port };
    ids.push((await createPeer(ctx, account, { ...place, ...(key && { tsig_id: key.id }) })).id);
  }
  await createOutgoing(ctx, zoneId, { name: 'example.com', peers: ids });
  await enableOutgoing(ctx, zoneId, true);
  const propagation = createPropagation(clock);
  let counter = 0;
  const zone = (): ZoneRow => findZoneByName(ctx.store, 'example.com')!;
  return {
    ctx,
    clock,
    zoneId,
    peers,
    propagation,
    zone,
    async change() {
      await createRecord(ctx, zoneId, { type: 'TXT', name: `t${counter++}`, content: '"x"' });
    },
    serve: () => propagation.report({ name: 'dns', applied: lastChange(ctx.store), unpublished: [] }),
    notify() {
      const { store, random, egress, settings: serving } = ctx;
      const notifier = startNotifier({
        store,
        vault,
        propagation,
        serving,
        clock,
        random,
        egress,
        log: silentLogger(),
      });
      t.teardown(() => notifier.close());
      return notifier;
    },
    rows: () => peersOfZone(ctx.store, zone().seq),
  };
}

/** Real milliseconds between two steps: datagrams pass meanwhile. */
const STEP_MS = 2;
const MOST_STEPS = 5000;

/** Every peer has the newest version, and what is stored says so. */
async function bringInStep({ peers, clock, serve, zone, rows }: World): Promise<void> {
  for (const peer of peers) peer.serial = zone().serial;
  serve();
  await advanceUntil(clock, () => rows().every(({ serial }) => serial === zone().serial), 500);
}

/** Moves the clock in steps until the condition holds, and lets datagrams pass in between. */
async function advanceUntil(clock: TestClock, holds: () => boolean, stepMs = 0): Promise<void> {
  for (let i = 0; i < MOST_STEPS; i++) {
    if (holds()) return;
    clock.advance(stepMs);
    await sleep(STEP_MS);
  }
  throw new Error(`it did not come to that: ${holds}`);
}

t.test('a new serial is told when it is answered, and what the peer serves is stored', async (t) => {
  const world = await start(t);
  const { clock, change, serve, zone, rows } = world;
  const [peer] = world.peers;
  const notifier = world.notify();
  peer!.serial = zone().serial;
  serve();
  await advanceUntil(clock, () => peer!.notified.length === 1);
  await advanceUntil(clock, () => rows()[0]!.serial !== null, 500);
  t.match(rows(), [{ serial: zone().serial, error: null }]);

  await change();
  notifier.wake();
  clock.advance(5000);
  await sleep(50);
  t.equal(peer!.notified.length, 1, 'nothing before the DNS process answers it: the peer would ask for the old one');
  serve();
  await advanceUntil(clock, () => peer!.notified.length === 2);
  t.equal(peer!.notified[1], zone().serial);
  peer!.serial = zone().serial;
  await advanceUntil(clock, () => rows()[0]!.serial === zone().serial, 500);
  t.pass('asked after the peer has taken note');
});

t.test('a NOTIFY under way does not take the place of the next one', async (t) => {
  const world = await start(t, { peers: 1 });
  const { clock, change, serve, zone } = world;
  const [peer] = world.peers;
  const notifier = world.notify();
  serve();
  await advanceUntil(clock, () => peer!.notified.length === 1);
  await change();
  peer!.isSilent = true;
  notifier.wake();
  serve();
  await advanceUntil(clock, () => peer!.notified.length === 2);
  // The third serial is planned while nobody has answered about the second yet, whose answer comes then.
  await change();
  notifier.wake();
  serve();
  await sleep(10);
  peer!.release();
  await sleep(50);
  await advanceUntil(clock, () => peer!.notified.at(-1) === zone().serial);
  t.pass('the clock stood still, so it did not wait for anything');
});

t.test('repeated until it is heard, then now and then; a day without an answer', async (t) => {
  const world = await start(t, { peers: 2 });
  const { clock, serve, zone, rows } = world;
  const [silent, other] = world.peers;
  silent!.isSilent = true;
  other!.serial = zone().serial;
  world.notify();
  serve();
  const began = clock.nowMs();
  const times: number[] = [];
  for (let count = 1; count <= 7; count++) {
    await advanceUntil(clock, () => silent!.notified.length >= count, count < 7 ? 200 : 10_000);
    times.push(Math.round((clock.nowMs() - began) / 1000));
  }
  const gaps = times.slice(1).map((at, i) => at - times[i]!);
  // Three seconds pass until there is certainly no answer.
  for (const [i, expected] of [4, 5, 7, 11, 19].entries()) {
    t.ok(Math.abs(gaps[i]! - expected) <= 1, `repetition ${i + 1} after ${gaps[i]} s`);
  }
  t.ok(gaps[5]! >= 60 && gaps[5]! <= 3620, `then after the RETRY of the zone (${gaps[5]} s)`);
  t.match(rows()[0], { error: 'it did not answer', serial: null });
  t.equal(other!.notified.length, 1, 'the other one heard it once');

  const before = silent!.notified.length;
  const end = clock.nowMs() + DAY_MS;
  while (clock.nowMs() < end) {
    clock.advance(60_000);
    await sleep(STEP_MS);
  }
  const perDay = silent!.notified.length - before;
  t.ok(perDay >= 20 && perDay <= 1440, `${perDay} repetitions in a day`);
  silent!.isSilent = false;
  silent!.serial = zone().serial;
  await advanceUntil(clock, () => rows()[0]!.serial === zone().serial && rows()[0]!.error === null, 30_000);
  t.pass('it is seen when it is back');
});

t.test('a peer that takes note but stays behind is told again', async (t) => {
  const world = await start(t);
  const { clock, serve, zone, rows } = world;
  const [peer] = world.peers;
  peer!.serial = zone().serial - 1;
  world.notify();
  serve();
  await advanceUntil(clock, () => peer!.notified.length >= 3, 1000);
  t.match(rows(), [{ serial: zone().serial - 1 }]);
  peer!.serial = zone().serial;
  await advanceUntil(clock, () => rows()[0]!.serial === zone().serial, 1000);
});

t.test('a restart: who is behind is told, who is not is only asked', async (t) => {
  const world = await start(t, { peers: 2 });
  const { clock, change, serve, zone, rows } = world;
  const [first, second] = world.peers;
  const notifier = world.notify();
  await bringInStep(world);
  notifier.close();
  await change();
  // Committed, and the process was killed before it said so. What is stored says so; whoever asked them would hear otherwise.
  for (const peer of world.peers) peer.serial = zone().serial;
  const counts = world.peers.map(({ notified }) => notified.length);
  const next = world.notify();
  clock.advance(2000);
  await sleep(50);
  t.strictSame(
    world.peers.map(({ notified }) => notified.length),
    counts,
    'not before it is answered',
  );
  serve();
  await advanceUntil(
    clock,
    () => first!.notified.at(-1) === zone().serial && second!.notified.at(-1) === zone().serial,
  );
  await advanceUntil(clock, () => rows().every(({ serial }) => serial === zone().serial), 500);
  next.close();
  const told = world.peers.map(({ notified }) => notified.length);
  const asked = world.peers.map((peer) => peer.asked);
  world.notify();
  await advanceUntil(clock, () => world.peers.every((peer, i) => peer.asked > asked[i]!), 500);
  t.strictSame(
    world.peers.map(({ notified }) => notified.length),
    told,
    'nobody is told what it has',
  );
});

t.test('a restart: who has lost its copy since it was asked last is told', async (t) => {
  const world = await start(t, { peers: 2 });
  const { clock, zone } = world;
  const [first, second] = world.peers;
  const notifier = world.notify();
  await bringInStep(world);
  notifier.close();
  // By what is stored, both have the newest version.
  first!.serial = zone().serial - 1;
  const [before, others] = [first!.notified.length, second!.notified.length];
  world.notify();
  await advanceUntil(clock, () => first!.notified.length > before, 500);
  t.equal(first!.notified.at(-1), zone().serial);
  t.equal(second!.notified.length, others, 'the other one has it still');
});

t.test('a restart: who was linked just before is told', async (t) => {
  const world = await start(t);
  const { ctx, clock, serve, zone, zoneId, rows } = world;
  const [peer] = world.peers;
  const notifier = world.notify();
  peer!.serial = zone().serial;
  serve();
  await advanceUntil(clock, () => rows()[0]!.serial === zone().serial, 500);
  notifier.close();
  clock.advance(5000);
  // Enabled anew, and killed before anybody was told: its copy may be from before it was disabled.
  await enableOutgoing(ctx, zoneId, false);
  await enableOutgoing(ctx, zoneId, true);
  const before = peer!.notified.length;
  world.notify();
  await advanceUntil(clock, () => peer!.notified.length > before);
  t.pass('the clock stood still, so it was not asked before');
});

t.test('who is linked after the clock was put back by two days is told, once', async (t) => {
  const world = await start(t);
  const { ctx, clock, zone, zoneId } = world;
  const [peer] = world.peers;
  const notifier = world.notify();
  await bringInStep(world);
  for (let i = 0; i < 2; i++) {
    clock.putBack(2 * DAY_MS);
    const before = peer!.notified.length;
    await enableOutgoing(ctx, zoneId, false);
    await enableOutgoing(ctx, zoneId, true);
    peer!.serial = zone().serial;
    notifier.wake();
    await advanceUntil(clock, () => peer!.notified.length > before, 1);
    t.equal(peer!.notified.length, before + 1);
    notifier.wake();
    clock.advance(1000);
    await sleep(20);
    t.equal(peer!.notified.length, before + 1, 'not again');
  }
});

t.test('many changes in a second are few NOTIFY, and the last one is told', async (t) => {
  const world = await start(t);
  const { clock, change, serve, zone } = world;
  const [peer] = world.peers;
  peer!.serial = 2 ** 31;
  const notifier = world.notify();
  serve();
  await advanceUntil(clock, () => peer!.notified.length === 1);
  let changes = 0;
  for (let ms = 0; ms < 2000; ms += 10) {
    await change();
    changes++;
    notifier.wake();
    serve();
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(10);
  }
  const told = peer!.notified.length;
  await advanceUntil(clock, () => peer!.notified.at(-1) === zone().serial, 100);
  t.ok(told > 5 && told < changes / 2, `${told} NOTIFY for ${changes} changes in two seconds`);
});

t.test('what is wrong with signatures is said', async (t) => {
  const world = await start(t, { signed: true });
  const { clock, serve, zone, rows } = world;
  const [peer] = world.peers;
  peer!.ahead = 301;
  world.notify();
  serve();
  await advanceUntil(clock, () => rows()[0]!.error !== null, 100);
  t.equal(rows()[0]!.error, 'wrong answer: its clock is different');
  peer!.ahead = 0;
  peer!.key = { ...KEY, secret: new Uint8Array(32).fill(9) };
  await advanceUntil(clock, () => rows()[0]!.error !== 'wrong answer: its clock is different', 1000);
  t.match(rows()[0]!.error, /another secret|signature of its answer is wrong/);
  peer!.key = undefined;
  await advanceUntil(clock, () => rows()[0]!.error === 'wrong answer: its answer is not signed', 1000);
  peer!.key = KEY;
  peer!.rcode = 9;
  await advanceUntil(clock, () => /NOTAUTH/.test(rows()[0]!.error ?? ''), 1000);
  peer!.rcode = 0;
  peer!.serial = zone().serial;
  await advanceUntil(clock, () => rows()[0]!.error === null, 1000);
  t.equal(rows()[0]!.serial, zone().serial);
});
