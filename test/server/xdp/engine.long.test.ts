/**
 * The engine behind a network interface: the table of probes gets the answers that sockets give, over IPv4 and IPv6, and answers are as
 * long as the MTU allows.
 */
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { createEngine } from '../../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../../src/answer/state.js';
import { SystemClock, sleep } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { Type } from '../../../src/dns/codes.js';
import { parseName } from '../../../src/dns/name.js';
import { startDnsServers } from '../../../src/server/start.js';
import { meets, PROBE_APEX, PROBE_SETTINGS, PROBE_ZONE, PROBES } from '../../conformance/probe-table.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { serveZones } from '../../support/served-zones.js';
import { type FrameOptions, makeFrame, readFrame } from './frames.js';
import { type Cable, ip, layCable, whyNoInterfaces } from './veth.js';

const skip = whyNoInterfaces() ?? false;
const PREFIX = `zpe${process.pid.toString(36)}`;
const GROUP = (process.pid & 0xffff).toString(16);
const FAMILIES = {
  IPv4: { own: `198.18.${process.pid & 255}.1`, client: `198.18.${process.pid & 255}.2` },
  IPv6: { own: `fd01:${GROUP}::1`, client: `fd01:${GROUP}::2` },
} as const;
type Family = keyof typeof FAMILIES;
const FIRST_PORT = 20_000;
/** Longer frames are left to the sockets. */
const LONGEST_FRAME = 1536;

interface World {
  readonly cable: Cable;
  /** The answers to queries, each from a port of its own; sent so that none is lost on the way. */
  ask(family: Family, queries: readonly Buffer[]): Promise<(Buffer | undefined)[]>;
}

/** `udpSize`: octets of the longest answer. */
async function serve(test: Test, name: string, mtu: number, udpSize: number): Promise<World> {
  const { IPv4, IPv6 } = FAMILIES;
  const cable = layCable(test, name, [`${IPv4.own}/24`, `${IPv6.own}/64`], [IPv4.client, IPv6.client]);
  setMtu(name, mtu);
  const settings = { ...DEFAULT_ENGINE_SETTINGS, ...PROBE_SETTINGS, udpSize };
  const { writer } = serveZones([{ apex: PROBE_APEX, text: PROBE_ZONE }], settings);
  const servers = await startDnsServers({
    ...{ addresses: ['0.0.0.0', '::'], port: 0, transport: 'batched', workers: 1, xdp: [name] },
    answer: createEngine(writer.reader, settings),
    workerEngine: {
      connect: () => ({ data: { image: writer.current(), settings }, port: new MessageChannel().port2 }),
    },
    log: silentLogger(),
    clock: new SystemClock(),
  });
  test.teardown(() => servers.close());
  return { cable, ask: (family, queries) => askAll(cable, servers.port, family, queries) };
}

/** The other end takes the same. Both are up all the time, so the neighbours stay known. */
function setMtu(name: string, mtu: number): void {
  for (const end of [`${name}b`, name]) ip('link', 'set', end, 'mtu', String(mtu));
}

/** Answered by everybody, so what was sent before has been seen when its answer comes. */
const LAST = makeQuery(parseName(`www.${PROBE_APEX}`), Type.a);

async function askAll(cable: Cable, port: number, family: Family, queries: readonly Buffer[]) {
  const { own, client } = FAMILIES[family];
  const answers = new Map<number, Buffer>();
  const wrong: string[] = [];
  const optionsOf = (at: number, message: Buffer): FrameOptions => ({
    ...{ from: client, to: own, fromMac: cable.otherMac, toMac: cable.mac, fromPort: FIRST_PORT + at, port, message },
  });
  const take = (frame: Buffer): void => {
    const headers = family === 'IPv4' ? 34 : 54;
    const at = frame.length < headers + 8 ? -1 : frame.readUInt16BE(headers + 2) - FIRST_PORT;
    if (at < 0 || at > queries.length) return;
    const asked = makeFrame(optionsOf(at, queries[at] ?? LAST));
    const back = { from: own, to: client, fromMac: cable.mac, toMac: cable.otherMac, fromPort: port };
    const read = readFrame(frame, { ...back, port: FIRST_PORT + at, message: LAST }, asked.length <= LONGEST_FRAME);
    if (typeof read === 'string') wrong.push(`${at}: ${read}`);
    else answers.set(at, read);
  };
  for (let first = 0; first < queries.length; first += 32) {
    const part = queries.slice(first, first + 32);
    for (const [i, message] of part.entries()) cable.send(makeFrame(optionsOf(first + i, message)));
    cable.send(makeFrame(optionsOf(queries.length, LAST)));
    answers.delete(queries.length);
    while (!answers.has(queries.length)) {
      for (const frame of cable.received()) take(frame);
      await sleep(1);
    }
  }
  for (const frame of cable.received()) take(frame);
  if (wrong.length > 0) throw new Error(`wrong frames: ${wrong.join('; ')}`);
  return queries.map((_, at) => answers.get(at));
}

t.test('the probes get the answers that they get over sockets', { skip }, async (t) => {
  const world = await serve(t, `${PREFIX}a`, 1500, DEFAULT_ENGINE_SETTINGS.udpSize);
  const probes = PROBES.filter(({ only }) => only !== 'tcp');
  for (const family of ['IPv4', 'IPv6'] as const) {
    const short = probes.filter(({ query }) => query.length <= 1400);
    t.ok(short.length > 100, `${short.length} of ${probes.length} probes fit into a frame`);
    const answers = await world.ask(
      family,
      short.map(({ query }) => query),
    );
    const failed = short.filter((probe, i) => !meets(probe, answers[i])).map(({ what }) => what);
    t.strictSame(failed, [], family);
  }
});

const ask = (owner: string): Buffer => makeQuery(parseName(`${owner}.${PROBE_APEX}`), Type.txt, { edns: 4096 });

/** Which are truncated of an answer of 1 232 octets and OPT, and of one of about 1 650. */
async function cut(world: World, family: Family): Promise<(boolean | undefined)[]> {
  const answers = await world.ask(family, [ask('fit1232'), ask('big')]);
  return answers.map((answer) => answer && decodeMessage(answer).tc);
}

t.test('answers are as long as the MTU allows', { skip }, async (t) => {
  const small = await serve(t, `${PREFIX}b`, 1500, 4096);
  t.strictSame(await cut(small, 'IPv4'), [false, true], 'MTU 1500');
  setMtu(`${PREFIX}b`, 1280);
  while ((await cut(small, 'IPv6'))[0] !== true) await sleep(100);
  t.strictSame(await cut(small, 'IPv6'), [true, true], 'IPv6 with MTU 1280, as soon as it is noticed');
  t.strictSame(await cut(small, 'IPv4'), [false, true], 'IPv4 has shorter headers');
});

t.test('an MTU of 9000: short frames come to us, long ones to the sockets', { skip }, async (t) => {
  const large = await serve(t, `${PREFIX}c`, 9000, 4096);
  for (const family of ['IPv4', 'IPv6'] as const) {
    t.strictSame(await cut(large, family), [false, false], `${family} with MTU 9000`);
    const long = Buffer.concat([LAST, Buffer.alloc(3000)]);
    // What goes there may come back later than what was sent after it.
    while (!(await large.ask(family, [long]))[0]) await sleep(10);
    t.pass('answered by the sockets');
  }
});
