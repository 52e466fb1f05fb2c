/**
 * Transfers over TCP to clients that are slow, silent, half closed, many or gone: each gets the whole zone or nothing, and
 * neither places, files nor memory stay behind.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { Transport } from '../../src/answer/transport.js';
import { toHex } from '../../src/base/bytes.js';
import { sleep } from '../../src/base/clock.js';
import { parseCidrSet } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { chooseAccount } from '../../src/control/guard/access.js';
import { importZone } from '../../src/control/imports/zone.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createOutgoing, enableOutgoing } from '../../src/control/secondary/outgoing.js';
import { createPeer } from '../../src/control/secondary/peers.js';
import { createTsig } from '../../src/control/secondary/tsigs.js';
import { parseName } from '../../src/dns/name.js';
import { findTsig, signMessage, type TsigKey, tsigLength } from '../../src/dns/tsig.js';
import { countBlock, createCounters } from '../../src/server/counters.js';
import { STREAM_LIMITS, StreamConnections } from '../../src/server/streams/stream-connections.js';
import { STREAM_OPTIONS } from '../../src/server/tcp.js';
import { AnswerTurns } from '../../src/server/turns/answer-turns.js';
import { recordsOfType, updateRecord } from '../../src/store/records/records.js';
import { findZoneByName, updateZone } from '../../src/store/zones/zones.js';
import { createTransfers } from '../../src/transfer/out/transfers.js';
import { startControl } from '../control/fixture.js';
import { type DecodedRR, decodeMessage, makeQuery } from '../support/message.js';
import type { TestClock } from '../support/test-clock.js';
import { asSet, transfer } from '../support/transfer-client.js';
import { openOneCopy } from '../support/two-copies.js';
import { until } from '../support/until.js';
import { testVault } from '../support/zone-keys.js';

const AXFR = 252;
const LARGE = parseName('large.test.');
const SMALL = parseName('small.test.');
const KEY: TsigKey = { name: parseName('k.test.'), algorithm: 'hmac-sha256', secret: new Uint8Array(32).fill(5) };
const PYTHON = '/usr/bin/python3';

/** Octets of records that are alone in their messages: with room for OPT and a signature, for the signature alone, without. */
const ROOM = 65_535 - 12 - 16 - 10;
const SIGNED_ROOM = ROOM - tsigLength(KEY);
const GIANTS = [60_000, SIGNED_ROOM - 11, SIGNED_ROOM - 10, SIGNED_ROOM, SIGNED_ROOM + 1, ROOM, ROOM, 20_000];

interface World {
  readonly ctx: Context;
  readonly clock: TestClock;
  readonly port: number;
  readonly transferred: string[];
  readonly connections: () => number;
  /** Connections whose clients read nothing, so that octets wait. */
  readonly blocked: () => number;
}

interface Options {
  /** Networks that need no key. */
  readonly allowed?: readonly string[];
  /** Of the large zone. With 240 octets each, 20,000 go through a file, and 50,000 are more than a connection holds. */
  readonly records?: number;
}

async function start(t: Test, { allowed = ['127.0.0.0/8'], records = 100 }: Options = {}): Promise<World> {
  const { ctx, clock, directory } = await startControl(t, {}, openOneCopy);
  const filler = 'x'.repeat(200);
  const lines = Array.from({ length: records }, (_, i) => `t${i} 300 IN TXT "${filler}"`);
  await importZone(ctx, { source: { text: zoneFile('large.test', lines) } });
  await importZone(ctx, { source: { text: zoneFile('small.test', ['www 300 IN A 192.0.2.1']) } });
  const giants = GIANTS.map((_, i) => `g${i} 300 IN TYPE65400 \\# 1 a5`);
  await importZone(ctx, { source: { text: zoneFile('giants.test', [...giants, 'www 300 IN A 192.0.2.1']) } });
  // As they come by transfer; imports take no more than 65,000 octets.
  const { seq } = findZoneByName(ctx.store, 'giants.test')!;
  const rows = [...recordsOfType(ctx.store, seq, 65_400)];
  await ctx.store.write(() => {
    for (const row of rows) {
      const rdata = new Uint8Array(GIANTS[Number(row.name[1])]!).fill(0xa5);
      updateRecord(ctx.store, row, { ...row, rdata });
    }
  });
  const vault = await testVault(ctx.store, ctx.random);
  const account = toHex(chooseAccount(ctx, undefined).id);
  const secret = Buffer.from(KEY.secret).toString('base64');
  const key = await createTsig(ctx, { vault }, account, { name: 'k.test.', algo: 'hmac-sha256', secret });
  const peer = await createPeer(ctx, account, { name: 'ns2', tsig_id: key.id });
  for (const name of ['large.test', 'small.test', 'giants.test']) {
    const id = toHex(findZoneByName(ctx.store, name)!.id);
    await createOutgoing(ctx, id, { name, peers: [peer.id] });
    await enableOutgoing(ctx, id, true);
  }
  const transferred: string[] = [];
  const transfers = createTransfers({
    store: ctx.store,
    dataDir: directory,
    serving: ctx.settings,
    vault,
    allowed: parseCidrSet(allowed),
    clock,
    log: silentLogger(),
    onTransferred: (_, address) => transferred.push(address),
  });
  const context = {
    answer: () => 0,
    answerTransfer: transfers.answer,
    counts: countBlock(createCounters(1).memory, 0),
    log: silentLogger(),
    clock,
  };
  const connections = new StreamConnections(context, STREAM_LIMITS, new AnswerTurns());
  const accepted: Socket[] = [];
  const server = createServer(STREAM_OPTIONS, (socket) => {
    accepted.push(socket);
    connections.accept(socket, Transport.tcp);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.close();
    await connections.close(0);
    await transfers.close();
  });
  const { port } = server.address() as AddressInfo;
  const blocked = (): number => accepted.filter(({ writableLength }) => writableLength > 0).length;
  return { ctx, clock, port, transferred, connections: () => connections.size, blocked };
}

function zoneFile(apex: string, lines: readonly string[]): string {
  const head = [`$ORIGIN ${apex}.`, '@ 300 IN SOA ns h 1 3600 600 86400 60', '@ 300 IN NS ns.else.test.'];
  return `${[...head, ...lines].join('\n')}\n`;
}

function framed(query: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(query.length >>> 8, query.length & 255), query]);
}

/** A connection that has asked for a zone and reads nothing. */
async function askSilently(port: number, name: Uint8Array): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await new Promise<void>((resolve) => void socket.write(framed(makeQuery(name, AXFR)), () => resolve()));
  return socket;
}

/** Open files of spools, which have no name any more. */
function openSpools(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return /transfer-.*\.spool/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

/** Moves the clock in small steps, so that everything that watches it looks often. */
async function pass(clock: TestClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 500) {
    clock.advance(500);
    await sleep(1);
  }
}

t.test('readers that do not read are given up, and leave their places', async (t) => {
  const { port, clock, connections, blocked } = await start(t, { records: 50_000 });
  const silent: Socket[] = [];
  for (let i = 0; i < 4; i++) silent.push(await askSilently(port, LARGE));
  await until(async () => blocked() === silent.length);
  const fifth = transfer(port, SMALL);
  await pass(clock, 29_000);
  t.equal(connections(), 5, 'a pause of half a minute ends nothing');
  await pass(clock, 2000);
  t.equal((await fifth).rcode, 5, 'four places for an address: after 30 s the next one is refused');
  await pass(clock, 60_000);
  t.equal(connections(), 0, 'after a minute in which nothing was read');
  t.equal((await transfer(port, SMALL)).rcode, 0, 'the places are free');
  for (const socket of silent) socket.destroy();
  // That they are gone is seen sooner or later.
  const isClosed = (): boolean => {
    clock.advance(500);
    return openSpools() === 0;
  };
  await until(isClosed, 'the file of the zone is closed');
});

t.test('a slow reader gets the whole zone, however long it takes', async (t) => {
  const { port, clock } = await start(t, { records: 50_000 });
  const { messages } = await transfer(port, LARGE);
  const whole = messages.reduce((sum, { length }) => sum + 2 + length, 0);
  const socket = await askSilently(port, LARGE);
  let octets = 0;
  let seconds = 0;
  const isDone = (): boolean => octets === whole;
  while (!isDone() && !socket.destroyed) {
    for (let taken = 0; taken < 400_000 && !isDone(); ) {
      const piece = socket.read() as Buffer | null;
      if (socket.destroyed) break;
      if (!piece) await Promise.race([once(socket, 'readable'), sleep(1000)]);
      taken += piece?.length ?? 0;
      octets += piece?.length ?? 0;
    }
    await pass(clock, 10_000);
    seconds += 10;
  }
  t.equal(octets, whole);
  t.ok(seconds > 120, `${seconds} s`);
  socket.destroy();
});

t.test('half closed, gone, many, and again and again', async (t) => {
  const { port, clock, transferred } = await start(t, { records: 20_000 });
  const whole = asSet((await transfer(port, LARGE)).records);
  await t.test('half closed', async (t) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.end(framed(makeQuery(SMALL, AXFR)));
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    const answer = Buffer.concat(pieces);
    t.equal(answer.length, 2 + answer.readUInt16BE(0), 'the answer, and then the end');
    t.equal(decodeMessage(answer.subarray(2)).answer.length, 4);
  });
  await t.test('gone in the middle', async (t) => {
    for (let i = 0; i < 20; i++) {
      const socket = await askSilently(port, LARGE);
      await until(async () => socket.readableLength > 0);
      socket.destroy();
    }
    t.strictSame(asSet((await transfer(port, LARGE)).records), whole, 'the next one has a place');
  });
  await t.test('many at once', async (t) => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => transfer(port, LARGE)));
    t.ok(
      answers.every(({ records }) => records.length === whole.length + 1),
      'each gets everything, although there are four places',
    );
    const small = await Promise.all(Array.from({ length: 60 }, () => transfer(port, SMALL)));
    t.ok(small.every(({ rcode, records }) => rcode === 0 && records.length === 4));
  });
  await t.test('a thousand times over one connection', async (t) => {
    const before = transferred.length;
    const socket = connect(port, '127.0.0.1');
    socket.write(Buffer.concat(Array.from({ length: 1000 }, () => framed(makeQuery(SMALL, AXFR)))));
    let answers = 0;
    let rest: Buffer = Buffer.alloc(0);
    for await (const piece of socket) {
      rest = Buffer.concat([rest, piece as Buffer]);
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        rest = rest.subarray(2 + rest.readUInt16BE(0));
        answers++;
      }
      if (answers === 1000) break;
    }
    t.equal(answers, 1000);
    t.equal(transferred.length - before, 1000);
  });
  await pass(clock, 130_000);
  t.equal(openSpools(), 0, 'no file stays open');
});

t.test('a zone that was replaced under its serial', async (t) => {
  const { port, ctx } = await start(t);
  const read = async () => {
    const { records } = await transfer(port, SMALL);
    const octets = (type: number) => records.filter((record) => record.type === type).map(({ rdata }) => rdata);
    return { soa: octets(6), a: octets(1) };
  };
  const before = await read();
  await importZone(ctx, { source: { text: zoneFile('small.test', ['www 300 IN A 192.0.2.2']) }, replace: true });
  const after = await read();
  t.same(after.soa, before.soa);
  t.same([before.a, after.a], [['c0000201'], ['c0000202']]);
});

t.test('a serial that moved without a new version, as signatures and flattened addresses move it', async (t) => {
  const { port, ctx } = await start(t);
  const serials = async () =>
    (await transfer(port, SMALL)).records.flatMap(({ type, rdata }) => (type === 6 ? [rdata] : []));
  const before = await serials();
  const { seq, serial } = findZoneByName(ctx.store, 'small.test')!;
  await ctx.store.write(() => updateZone(ctx.store, seq, { serial: serial + 1 }));
  const after = await serials();
  t.equal(after.length, 2);
  t.not(after[0], before[0]);
});

t.test('differences from serials that the zone never had', async (t) => {
  const { port } = await start(t);
  const types = async (from: number): Promise<number[]> =>
    (await transfer(port, SMALL, { from: from >>> 0 })).records.map(({ type }) => type);
  const [soa, ns, a] = [6, 2, 1];
  t.strictSame(await types(1), [soa], 'its own');
  t.strictSame(await types(0), [soa, ns, a, soa], 'an older one');
  t.strictSame(await types(-5), [soa, ns, a, soa], 'one from before the numbers began anew (RFC 1982)');
  t.strictSame(await types(1 + 2 ** 31), [soa, ns, a, soa], 'one that is neither older nor newer (RFC 1982 §3.2)');
  t.strictSame(await types(1000), [soa], 'one that is newer');
});

t.test('signatures', async (t) => {
  const { port, clock } = await start(t, { allowed: [] });
  const now = Math.floor(clock.nowMs() / 1000);
  const ask = (query: Uint8Array): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      const pieces: Buffer[] = [];
      socket.on('error', reject);
      socket.on('data', (piece) => {
        pieces.push(piece as Buffer);
        const all = Buffer.concat(pieces);
        if (all.length < 2 || all.length < 2 + all.readUInt16BE(0)) return;
        socket.destroy();
        resolve(all.subarray(2, 2 + all.readUInt16BE(0)));
      });
      socket.write(framed(query));
    });
  const sign = (time: number): Uint8Array => signMessage(new Uint8Array(makeQuery(SMALL, AXFR)), KEY, { time }).message;
  const outcome = async (query: Uint8Array): Promise<unknown[]> => {
    const answer = new Uint8Array(await ask(query));
    const tsig = findTsig(answer);
    return typeof tsig === 'string' ? [answer[3]! & 15, tsig] : [answer[3]! & 15, tsig.error, tsig.mac.length];
  };
  const request = sign(now);
  t.strictSame(await outcome(request), [0, 0, 32]);
  t.strictSame(
    await outcome(request),
    [0, 0, 32],
    'a request that is sent again changes nothing and is answered again',
  );
  t.strictSame(await outcome(new Uint8Array(makeQuery(SMALL, AXFR))), [5, 'none'], 'unsigned');
  for (const ahead of [-301, 301])
    t.strictSame(await outcome(sign(now + ahead)), [9, 18, 32], `clock ${ahead} s apart`);
  const late = findTsig(new Uint8Array(await ask(sign(now + 3600))));
  t.match(late, { time: now + 3600 });
  t.equal(Buffer.from((late as { other: Uint8Array }).other).readUIntBE(0, 6), now, 'our time, so that people see it');
  for (const ahead of [-300, 300]) t.strictSame(await outcome(sign(now + ahead)), [0, 0, 32], `clock ${ahead} s apart`);
  t.strictSame(await outcome(withShorterMac(request, 16)), [9, 22, 32], 'half of the signature (BADTRUNC)');
  t.strictSame(await outcome(withShorterMac(request, 15)), [1, 'none'], 'less than half');
  t.strictSame(await outcome(withShorterMac(request, 0)), [1, 'none'], 'none of it');
  const other = new Uint8Array(request);
  other[2]! ^= 1;
  t.strictSame(await outcome(other), [9, 16, 0], 'another message under the same signature');
});

/** The request with only the first octets of its MAC. */
function withShorterMac(request: Uint8Array, octets: number): Uint8Array {
  const tsig = findTsig(request) as { at: number; mac: Uint8Array };
  const macAt = Buffer.from(request).indexOf(Buffer.from(tsig.mac), tsig.at);
  const less = tsig.mac.length - octets;
  const shorter = Buffer.concat([request.subarray(0, macAt + octets), request.subarray(macAt + tsig.mac.length)]);
  shorter.writeUInt16BE(octets, macAt - 2);
  const lengthAt = tsig.at + KEY.name.length + 8;
  shorter.writeUInt16BE(shorter.readUInt16BE(lengthAt) - less, lengthAt);
  return new Uint8Array(shorter);
}

/** Transfers with a client that shares nothing with us; the clock of Python is that of the test. */
const SCRIPT = `
import sys, time
port, now, zone, secret = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
time.time = lambda: now
import dns.message, dns.name, dns.query, dns.tsig, dns.xfr, dns.zone
key = dns.tsig.Key('k.test.', secret, 'hmac-sha256')
copy = dns.zone.Zone(zone)
query, _ = dns.xfr.make_query(copy, keyring=key)
try:
    dns.query.inbound_xfr('127.0.0.1', copy, query, port=port, timeout=60)
    print(sum(len(rdataset) for node in copy.nodes.values() for rdataset in node.rdatasets))
except Exception as error:
    print(type(error).__name__)
`;
const hasPython = existsSync('/usr/lib/python3/dist-packages/dns/xfr.py');
const skip = !hasPython && process.env['CI'] !== 'true' ? 'not installed: python3-dnspython' : false;

t.test('records as large as messages', async (t) => {
  const { port, clock } = await start(t);
  const time = Math.floor(clock.nowMs() / 1000);
  const giants = parseName('giants.test.');
  const octetsOf = (records: readonly DecodedRR[]): number[] =>
    records.filter(({ type }) => type === 65_400).map(({ rdata }) => rdata.length / 2);
  const lengths: number[][] = [];
  for (const options of [{}, { edns: 1232 }, { key: KEY, time }, { key: KEY, time, edns: 1232 }]) {
    const { rcode, records, messages } = await transfer(port, giants, options);
    t.strictSame([rcode, records.length], [0, GIANTS.length + 4]);
    t.strictSame(octetsOf(records), GIANTS);
    lengths.push(messages.slice(1, -1).map(({ length }) => length));
  }
  const alone = GIANTS.map((octets) => octets + 38);
  const signed = (length: number): number => length + tsigLength(KEY);
  const fitting = (room: number) => (length: number) => (length + room <= 65_535 ? length + room : length);
  t.strictSame(lengths[0], alone);
  t.strictSame(lengths[1], alone.map(fitting(11)));
  t.strictSame(lengths[2], alone.map(fitting(tsigLength(KEY))));
  const both = alone.map((length) => fitting(11 + tsigLength(KEY))(length));
  t.strictSame(
    lengths[3],
    both.map((length, i) => (length === alone[i] && signed(length) <= 65_535 ? signed(length) : length)),
  );
});

t.test('dnspython checks every message', { skip }, async (t) => {
  const { port, clock } = await start(t, { allowed: [], records: 5000 });
  const now = Math.floor(clock.nowMs() / 1000);
  const run = async (zone: string, time: number, secret: Uint8Array = KEY.secret): Promise<string> => {
    const args = ['-c', SCRIPT, String(port), String(time), zone, Buffer.from(secret).toString('base64')];
    return (await promisify(execFile)(PYTHON, args)).stdout.trim();
  };
  t.equal(await run('large.test.', now), '5002', 'many messages');
  t.equal(await run('small.test.', now + 290), '3');
  t.equal(await run('giants.test.', now), String(GIANTS.length + 3), 'messages without room for a signature');
  t.equal(await run('small.test.', now + 400), 'PeerBadTime');
  t.equal(await run('small.test.', now, new Uint8Array(32).fill(6)), 'PeerBadSignature');
  t.equal(await run('else.test.', now), 'TransferError');
});
