/** DNS on network interfaces: what comes there, what stays with the kernel, and interfaces that change. */
import { Writable } from 'node:stream';
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../../src/base/clock.js';
import { UserError } from '../../../src/base/errors.js';
import { createLogger } from '../../../src/base/log.js';
import { type DnsServers, startDnsServers } from '../../../src/server/start.js';
import { loadSyscalls } from '../../../src/server/syscalls.js';
import { createAttachment } from '../../../src/server/xdp/attachment.js';
import { findInterface } from '../../../src/server/xdp/interface.js';
import { seededRandom } from '../../support/seeded-random.js';
import { makeQuery } from '../clients.js';
import { Odd, standInAnswer } from '../stand-in-engine.js';
import { type FrameOptions, makeFrame, portsOf, readFrame, sumOf } from './frames.js';
import { type Cable, ip, layCable, whyNoInterfaces } from './veth.js';

const skip = whyNoInterfaces() ?? false;
/** Names and networks of this process, because interfaces are those of the whole machine. */
const PREFIX = `zp${process.pid.toString(36)}`;
const NETWORK = `198.18.${process.pid & 255}`;
const V4 = { own: `${NETWORK}.1`, client: `${NETWORK}.2` };
const V6 = {
  own: `fd00:${(process.pid & 0xffff).toString(16)}::1`,
  client: `fd00:${(process.pid & 0xffff).toString(16)}::2`,
};
const clock = new SystemClock();
/** Of one program. */
const MOST_ADDRESSES = 128;

interface World {
  readonly cable: Cable;
  readonly servers: DnsServers;
  readonly lines: string[];
  /** Those of the engines. */
  readonly words: Int32Array;
  /** Engines that have begun. */
  countEngines(): number;
}

async function serve(test: Test, name: string): Promise<World> {
  const cable = layCable(test, name, [`${V4.own}/24`, `${V6.own}/64`], [V4.client, V6.client]);
  const lines: string[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  const words = new SharedArrayBuffer(12);
  let engines = 0;
  const servers = await startDnsServers({
    ...{ addresses: ['0.0.0.0', '::'], port: 0, transport: 'batched', workers: 1, xdp: [name] },
    answer: standInAnswer,
    workerEngine: {
      module: new URL('../stand-in-engine.js', import.meta.url),
      connect() {
        engines++;
        const { port1, port2 } = new MessageChannel();
        test.teardown(() => port1.close());
        return { data: { words }, port: port2 };
      },
    },
    answerDeferred: () => undefined,
    log: createLogger({ level: 'info', pretty: false, destination }),
    clock,
  });
  test.teardown(() => servers.close());
  return { cable, servers, lines, words: new Int32Array(words), countEngines: () => engines };
}

let ids = 0;

function optionsOf({ cable, servers }: World, more: Partial<FrameOptions> = {}): FrameOptions {
  const message = makeQuery((ids = (ids + 1) & 0xffff), 'odd.test', Odd.thread);
  return {
    ...{ from: V4.client, to: V4.own, fromMac: cable.otherMac, toMac: cable.mac, port: servers.port, message },
    ...more,
  };
}

/** The answer to a frame that `options` describe. */
function answered(options: FrameOptions, isSummed = true): (frame: Buffer) => boolean {
  return (frame) => typeof readAnswer(frame, options, isSummed) !== 'string';
}

function readAnswer(
  frame: Buffer,
  { from, to, fromMac, toMac, fromPort, port, message }: FrameOptions,
  isSummed = true,
): Buffer | string {
  if (frame.length < 42) return 'short';
  const back = {
    from: to,
    to: from,
    fromMac: toMac,
    toMac: fromMac,
    fromPort: port,
    port: fromPort ?? 40_000,
    message,
  };
  const read = readFrame(frame, back, isSummed);
  return typeof read === 'string' || read.readUInt16BE(0) === message.readUInt16BE(0) ? read : 'another one';
}

async function ask(world: World, more: Partial<FrameOptions> = {}, isSummed = true): Promise<number> {
  const options = optionsOf(world, more);
  world.cable.send(makeFrame(options));
  const frame = await world.cable.next(answered(options, isSummed));
  return (readAnswer(frame, options, isSummed) as Buffer).at(-1)!;
}

t.test('frames of all kinds', { skip }, async (t) => {
  const world = await serve(t, `${PREFIX}a`);
  const { cable } = world;
  const thread = await ask(world);
  t.match(world.lines.join(''), new RegExp(`AF_XDP on ${PREFIX}a: serving with`));
  t.equal(await ask(world, { from: V6.client, to: V6.own }), thread, 'IPv6 by the same thread');

  const v4 = (change: (frame: Buffer) => Buffer | undefined, more: Partial<FrameOptions> = {}) => ({ more, change });
  const v6 = (change: (frame: Buffer) => Buffer | undefined) => v4(change, { from: V6.client, to: V6.own });
  const withSum = (frame: Buffer): Buffer => {
    frame.writeUInt16BE(0, 24);
    const header = (frame[14]! & 15) * 4;
    frame.writeUInt16BE(~sumOf(frame.subarray(14, 14 + header)) & 0xffff, 24);
    return frame;
  };
  const insert = (frame: Buffer, at: number, octets: Buffer): Buffer =>
    Buffer.concat([frame.subarray(0, at), octets, frame.subarray(at)]);
  const set =
    (at: number, ...octets: number[]) =>
    (frame: Buffer) => {
      frame.set(octets, at);
      return withSum(frame);
    };
  const change = (frame: Buffer, by: (octets: Buffer) => unknown): Buffer => {
    by(frame);
    return frame;
  };
  const plain = (frame: Buffer): Buffer => frame;
  const cases: Record<string, [ReturnType<typeof v4>, 'interface' | 'socket' | 'nobody']> = {
    'padding behind the packet': [v4((frame) => Buffer.concat([frame, Buffer.alloc(30)])), 'interface'],
    'a service class and a flow label': [
      v6((frame) => change(frame, (octets) => octets.set([0x6b, 0x8a, 0xbc, 0xde], 14))),
      'interface',
    ],
    'a packet that may be divided': [v4(set(20, 0, 0)), 'interface'],
    'a time to live of 1': [v4(set(22, 1)), 'interface'],
    'no sum over IPv4': [v4((frame) => change(frame, (octets) => octets.writeUInt16BE(0, 40))), 'interface'],
    'IP options': [
      v4((frame) => {
        const longer = insert(frame, 34, Buffer.of(1, 1, 1, 0));
        longer[14] = 0x46;
        longer.writeUInt16BE(longer.length - 14, 16);
        return withSum(longer);
      }),
      'socket',
    ],
    'an extension header': [
      v6((frame) => {
        const longer = insert(frame, 54, Buffer.of(17, 0, 1, 4, 0, 0, 0, 0));
        longer[20] = 60;
        longer.writeUInt16BE(longer.length - 54, 18);
        return longer;
      }),
      'socket',
    ],
    'a first fragment': [v4(set(20, 0x20, 0)), 'nobody'],
    'a later fragment': [v4(set(20, 0, 5)), 'nobody'],
    'another port': [v4(plain, { port: 9 }), 'nobody'],
    'another address': [v4(plain, { to: `${NETWORK}.77` }), 'nobody'],
    'another protocol': [v4(set(23, 6)), 'nobody'],
    'another type of frame': [v4((frame) => change(frame, (octets) => octets.writeUInt16BE(0x88b5, 12))), 'nobody'],
    'a VLAN': [v4((frame) => insert(frame, 12, Buffer.of(0x81, 0, 0, 5))), 'nobody'],
    'to all stations': [v4((frame) => change(frame, (octets) => octets.fill(0xff, 0, 6))), 'socket'],
    'a length of UDP beyond that of IP': [
      v4((frame) => change(frame, (octets) => octets.writeUInt16BE(200, 38))),
      'nobody',
    ],
    'a length of IP beyond the frame': [v4(set(16, 2, 0)), 'nobody'],
    'the sender’s port 0': [v4(plain, { fromPort: 0 }), 'nobody'],
    'a loopback sender': [v4(plain, { from: '127.0.0.9' }), 'nobody'],
    'a multicast sender': [v4(plain, { from: '224.0.0.9' }), 'nobody'],
    'no sender': [v4(plain, { from: '0.0.0.0' }), 'nobody'],
    'ourselves as sender': [v4(plain, { from: V4.own }), 'nobody'],
    'no sum over IPv6': [v6((frame) => change(frame, (octets) => octets.writeUInt16BE(0, 60))), 'nobody'],
    'a multicast sender over IPv6': [v4(plain, { from: 'ff02::9', to: V6.own }), 'nobody'],
    'a loopback sender over IPv6': [v4(plain, { from: '::1', to: V6.own }), 'nobody'],
    'ourselves as sender over IPv6': [v4(plain, { from: V6.own, to: V6.own }), 'nobody'],
    'a message without a header': [v4(plain, { message: Buffer.from('short') }), 'nobody'],
    'half of a header': [v4((frame) => frame.subarray(0, 30)), 'nobody'],
  };
  for (const [name, [{ more, change: by }, who]] of Object.entries(cases)) {
    const options = optionsOf(world, more);
    cable.send(by(makeFrame(options))!);
    if (who === 'nobody') {
      // What came before has been answered when this one is.
      await ask(world);
      continue;
    }
    const frame = await cable.next(answered(options, who === 'interface'));
    const answeredBy = (readAnswer(frame, options, false) as Buffer).at(-1);
    t.equal(answeredBy === thread ? 'interface' : 'socket', who, name);
  }
  const answers = [...cable.others, ...cable.received()].filter((frame) => portsOf(frame)?.from === world.servers.port);
  t.same(answers, [], 'nothing else was answered');

  const group = optionsOf(world, { fromMac: Buffer.from(cable.otherMac) });
  group.fromMac[0]! |= 1;
  cable.send(makeFrame(group));
  const toGroup = await cable.next((frame) => portsOf(frame)?.from === world.servers.port);
  t.strictSame(toGroup.subarray(0, 6), cable.otherMac, 'no answer goes to a group of stations');
});

t.test('nonsense, and then more queries than there are frames', { skip }, async (t) => {
  const world = await serve(t, `${PREFIX}b`);
  const { cable, servers } = world;
  const random = seededRandom(7);
  const below = (count: number): number => Buffer.from(random.bytes(4)).readUInt32LE() % count;
  for (let i = 0; i < 20_000; i++) {
    const message = makeQuery(i, 'plain.test', 1);
    const frame = makeFrame(optionsOf(world, i % 2 ? { from: V6.client, to: V6.own, message } : { message }));
    for (let changes = below(4); changes >= 0; changes--) frame[12 + below(frame.length - 12)] = below(256);
    cable.send(below(8) === 0 ? frame.subarray(0, 14 + below(frame.length - 14)) : frame);
    if (i % 64 === 0) await ask(world);
  }
  for (let i = 0; i < 5000; i++) await ask(world);
  t.pass('all were answered');
  const faults = servers.readCounters().filter(({ name }) => /fault/.test(name));
  t.strictSame(
    faults.map(({ value }) => value),
    [0],
  );
});

t.test('interfaces that change', { skip }, async (t) => {
  const world = await serve(t, `${PREFIX}c`);
  const { lines } = world;
  const thread = await ask(world);
  ip('link', 'set', `${PREFIX}c`, 'down');
  ip('link', 'set', `${PREFIX}c`, 'up');
  ip('addr', 'replace', `${V6.own}/64`, 'dev', `${PREFIX}c`, 'nodad');
  ip('neigh', 'replace', V4.client, 'lladdr', macText(world.cable.otherMac), 'dev', `${PREFIX}c`, 'nud', 'permanent');
  t.equal(await ask(world), thread, 'down and up');

  ip('addr', 'add', `${NETWORK}.3/24`, 'dev', `${PREFIX}c`);
  for (let by = 0; by !== thread; by = await ask(world, { to: `${NETWORK}.3` }, false)) await sleep(50);
  t.pass('an address that was added is served within seconds');
  ip('addr', 'del', `${NETWORK}.3/24`, 'dev', `${PREFIX}c`);
  const isServed = async (): Promise<boolean> => {
    const options = optionsOf(world, { to: `${NETWORK}.3` });
    world.cable.send(makeFrame(options));
    await ask(world);
    return world.cable.received().some(answered(options, false));
  };
  while (await isServed()) await sleep(50);
  t.pass('and one that was removed is not');

  ip('link', 'del', `${PREFIX}c`);
  while (!new RegExp(`AF_XDP on ${PREFIX}c: it is not there`).test(lines.join(''))) await sleep(50);
  const again = { ...world, cable: layCable(t, `${PREFIX}c`, [`${V4.own}/24`], [V4.client]) };
  while (lines.filter((line) => new RegExp(`AF_XDP on ${PREFIX}c: serving`).test(line)).length < 2) await sleep(50);
  t.ok(await ask(again), 'an interface that comes back is served again');
});

t.test('while a thread starts, the sockets answer', { skip }, async (t) => {
  const world = await serve(t, `${PREFIX}f`);
  const { cable, words, countEngines } = world;
  const first = await ask(world);
  const engines = countEngines();
  t.teardown(() => release(words));
  words[2] = 1;
  cable.send(makeFrame(optionsOf(world, { message: makeQuery(1, 'odd.test', Odd.exit) })));
  while (countEngines() === engines) await sleep(5);
  const ofSockets = await ask(world, {}, false);
  t.not(ofSockets, first, 'by the thread of the sockets');
  release(words);
  while ((await ask(world, {}, false)) === ofSockets) await sleep(5);
  t.pass('then by the new thread of the interface');
});

function release(words: Int32Array): void {
  Atomics.store(words, 2, 0);
  Atomics.notify(words, 2);
}

t.test('no address, and very many', { skip }, async (t) => {
  const { name } = layCable(t, `${PREFIX}e`, [], []);
  const { index, queues } = findInterface(name)!;
  const attachment = createAttachment(await loadSyscalls(), index, queues);
  t.teardown(() => attachment.close());
  const random = seededRandom(3);
  const some = (count: number, octets: number): Uint8Array[] =>
    Array.from({ length: count }, () => random.bytes(octets));
  for (const addresses of [[], some(MOST_ADDRESSES, 16), some(MOST_ADDRESSES, 4), []]) {
    attachment.serve(addresses, 53);
    t.ok(attachment.mode, `${addresses.length} addresses`);
  }
});

t.test('interfaces that do not exist, or that another program has', { skip }, async (t) => {
  const taken = await serve(t, `${PREFIX}d`);
  let threads = 0;
  const start = (xdp: readonly string[], isRestart = false) => {
    threads = 0;
    return startDnsServers({
      ...{ addresses: ['127.0.0.1'], port: 0, transport: 'batched' as const, workers: 1, xdp, isRestart },
      answer: standInAnswer,
      workerEngine: {
        module: new URL('../stand-in-engine.js', import.meta.url),
        connect() {
          threads++;
          const { port1, port2 } = new MessageChannel();
          t.teardown(() => port1.close());
          return { data: { words: new SharedArrayBuffer(8) }, port: port2 };
        },
      },
      log: createLogger({ level: 'silent', pretty: false }),
      clock,
    });
  };
  await t.rejects(start([`${PREFIX}x`]), {
    message: `there is no network interface '${PREFIX}x'`,
    constructor: UserError,
  });
  await t.rejects(start([`${PREFIX}d`]), {
    message: new RegExp(`AF_XDP cannot be used on ${PREFIX}d`),
    constructor: UserError,
  });
  t.ok(await ask(taken), 'the first one still serves');
  await taken.servers.close();
  t.notMatch(ip('link', 'show', 'dev', `${PREFIX}d`), /xdp/, 'nothing is left at the interface');
  const attachment = createAttachment(await loadSyscalls(), findInterface(`${PREFIX}d`)!.index, 1);
  attachment.serve([], 53);
  await t.rejects(start([`${PREFIX}d`]), {
    message: new RegExp(`AF_XDP cannot be used on ${PREFIX}d`),
    constructor: UserError,
  });
  t.equal(threads, 1, 'no thread begins for an interface that another program has');
  const programOf = () => / prog\/xdp id (\d+)/.exec(ip('link', 'show', 'dev', `${PREFIX}d`))?.[1];
  const former = programOf();
  const restarted = await start([`${PREFIX}d`, `${PREFIX}x`], true);
  t.teardown(() => restarted.close());
  t.ok(former);
  t.equal(programOf(), former, 'a process that follows one that crashed serves without them');
  attachment.close();
  while (!programOf() || programOf() === former) await sleep(50);
  t.pass('and with them, as soon as they are free');
});

const macText = (mac: Buffer): string => mac.toString('hex').replace(/..(?=.)/g, '$&:');
