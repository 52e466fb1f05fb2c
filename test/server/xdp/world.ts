/** An engine behind a network interface, and a client at the other end of its cable. */
import type { MessagePort } from 'node:worker_threads';
import type { Test } from 'tap';
import type { Answer } from '../../../src/answer/transport.js';
import { SystemClock, sleep } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { Type } from '../../../src/dns/codes.js';
import { parseName } from '../../../src/dns/name.js';
import { startDnsServers } from '../../../src/server/start.js';
import { makeQuery } from '../../support/message.js';
import { type FrameOptions, makeFrame, portsOf, readFrame } from './frames.js';
import { type Cable, ip, layCable } from './veth.js';

const GROUP = (process.pid & 0xffff).toString(16);
const FAMILIES = {
  IPv4: { own: `198.18.${process.pid & 255}.1`, client: `198.18.${process.pid & 255}.2` },
  IPv6: { own: `fd01:${GROUP}::1`, client: `fd01:${GROUP}::2` },
} as const;
export type Family = keyof typeof FAMILIES;
const FIRST_PORT = 20_000;
const PORTS = 40_000;
/** Longer frames are left to the sockets. */
const LONGEST_FRAME = 1536;
/** Queries that are on their way at the same time. */
const AT_ONCE = 32;

export interface Served {
  readonly answer: Answer;
  /** What a worker thread answers from. */
  readonly connect: () => { readonly data: unknown; readonly port: MessagePort };
}

/** The answers to queries, each from a port of its own; sent so that none is lost on the way. */
export type Ask = (family: Family, queries: readonly Buffer[]) => Promise<(Buffer | undefined)[]>;

/** `name`: of the interface. */
export async function serveAtInterface(test: Test, name: string, mtu: number, served: Served): Promise<Ask> {
  const { IPv4, IPv6 } = FAMILIES;
  const cable = layCable(test, name, [`${IPv4.own}/24`, `${IPv6.own}/64`], [IPv4.client, IPv6.client]);
  setMtu(name, mtu);
  const servers = await startDnsServers({
    ...{ addresses: ['0.0.0.0', '::'], port: 0, transport: 'batched', workers: 1, xdp: [name] },
    answer: served.answer,
    workerEngine: { connect: served.connect },
    log: silentLogger(),
    clock: new SystemClock(),
  });
  test.teardown(() => servers.close());
  return async (family, queries) => {
    const answers: (Buffer | undefined)[] = [];
    for (let first = 0; first < queries.length; first += PORTS) {
      answers.push(...(await askAll(cable, servers.port, family, queries.slice(first, first + PORTS))));
    }
    return answers;
  };
}

/** The other end takes the same. Both are up all the time, so the neighbours stay known. */
export function setMtu(name: string, mtu: number): void {
  for (const end of [`${name}b`, name]) ip('link', 'set', end, 'mtu', String(mtu));
}

/** Answered by everybody, so what was sent before has been seen when its answer comes. */
export const LAST = makeQuery(parseName('www.example.'), Type.a);

async function askAll(cable: Cable, port: number, family: Family, queries: readonly Buffer[]) {
  const { own, client } = FAMILIES[family];
  const answers = new Map<number, Buffer>();
  const wrong: string[] = [];
  const optionsOf = (at: number, message: Buffer): FrameOptions => ({
    ...{ from: client, to: own, fromMac: cable.otherMac, toMac: cable.mac, fromPort: FIRST_PORT + at, port, message },
  });
  const take = (frame: Buffer): void => {
    const ports = portsOf(frame);
    if (ports?.from !== port) return;
    const at = ports.to - FIRST_PORT;
    const asked = makeFrame(optionsOf(at, queries[at] ?? LAST));
    const back = { from: own, to: client, fromMac: cable.mac, toMac: cable.otherMac, fromPort: port };
    const read = readFrame(frame, { ...back, port: FIRST_PORT + at, message: LAST }, asked.length <= LONGEST_FRAME);
    if (typeof read === 'string') wrong.push(`${at}: ${read}`);
    else answers.set(at, read);
  };
  for (let first = 0; first < queries.length; first += AT_ONCE) {
    const part = queries.slice(first, first + AT_ONCE);
    for (const [i, message] of part.entries()) cable.send(makeFrame(optionsOf(first + i, message)));
    cable.send(makeFrame(optionsOf(queries.length, LAST)));
    answers.delete(queries.length);
    while (!answers.has(queries.length)) {
      for (const frame of cable.received()) take(frame);
      await sleep(1);
    }
  }
  for (const frame of cable.received()) take(frame);
  if (cable.countDropped() > 0) throw new Error('the system dropped frames at the other end');
  if (wrong.length > 0) throw new Error(`wrong frames: ${wrong.join('; ')}`);
  return queries.map((_, at) => answers.get(at));
}
