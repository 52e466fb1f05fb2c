/** Two network interfaces that are the ends of one cable, and the frames at the other end. */
import { execFileSync } from 'node:child_process';
import koffi from 'koffi';
import type { Test } from 'tap';
import { sleep } from '../../../src/base/clock.js';
import { findInterface } from '../../../src/server/xdp/interface.js';

const libc = koffi.load(null);
const socket = libc.func('int socket(int, int, int)');
const bind = libc.func('int bind(int, void *, uint32_t)');
const send = libc.func('long send(int, void *, unsigned long, int)');
const receive = libc.func('long recv(int, _Out_ void *, unsigned long, int)');
const close = libc.func('int close(int)');
const setOption = libc.func('int setsockopt(int, int, int, void *, uint32_t)');
const getOption = libc.func('int getsockopt(int, int, int, _Out_ void *, _Inout_ uint32_t *)');

const [AF_PACKET, SOCK_RAW, DONTWAIT] = [17, 3, 0x40];
const [SOL_SOCKET, RCVBUFFORCE, SOL_PACKET, STATISTICS, IGNORE_OUTGOING] = [1, 33, 263, 6, 23];
/** Room for more frames than are ever on their way; without it, the system drops some while this process has no processor. */
const QUEUE_OCTETS = 32 << 20;
/** All protocols, in the order of the network. */
const ALL = 0x0300;
const LONGEST = 65_536;
const WAIT_MS = 60_000;

export const ip = (...args: readonly string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

export interface Cable {
  readonly name: string;
  readonly mac: Buffer;
  readonly otherMac: Buffer;
  /** Sends a frame from the other end. */
  send(frame: Buffer): void;
  /** Frames that have come to the other end, oldest first. */
  received(): Buffer[];
  /** Frames that have come to the other end and that the system dropped there, since this was last asked. */
  countDropped(): number;
  /** Frames that came while others were waited for, and did not fit. */
  readonly others: Buffer[];
  /** Waits until one comes that fits. */
  next(fits: (frame: Buffer) => boolean): Promise<Buffer>;
}

/** Why this machine cannot have such interfaces; undefined if it can. */
export function whyNoInterfaces(): string | undefined {
  try {
    const name = `zp${process.pid.toString(36)}`;
    ip('link', 'add', `${name}t`, 'type', 'veth', 'peer', 'name', `${name}tb`);
    ip('link', 'del', `${name}t`);
    return undefined;
  } catch (error) {
    return `network interfaces cannot be made here: ${(error as Error).message.split('\n').at(-1)}`;
  }
}

const macOf = (name: string): Buffer => {
  const text = /link\/ether ([0-9a-f:]+)/.exec(ip('link', 'show', 'dev', name))![1]!;
  return Buffer.from(text.replaceAll(':', ''), 'hex');
};

/** Both ends are up; the first has these addresses. The neighbours are known, so that nobody asks for them. */
export function layCable(t: Test, name: string, addresses: readonly string[], neighbours: readonly string[]): Cable {
  const other = `${name}b`;
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', other);
  t.teardown(() => {
    if (findInterface(name)) ip('link', 'del', name);
  });
  for (const address of addresses) ip('addr', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []));
  for (const end of [name, other]) ip('link', 'set', end, 'up');
  const otherMac = macOf(other);
  const station = otherMac.toString('hex').replace(/..(?=.)/g, '$&:');
  for (const neighbour of neighbours) ip('neigh', 'add', neighbour, 'lladdr', station, 'dev', name, 'nud', 'permanent');
  // No frames of other interfaces before it is bound.
  const fd = socket(AF_PACKET, SOCK_RAW, 0);
  t.teardown(() => close(fd));
  const place = Buffer.alloc(20);
  place.writeUInt16LE(AF_PACKET, 0);
  place.writeUInt16LE(ALL, 2);
  place.writeInt32LE(findInterface(other)!.index, 4);
  if (bind(fd, place, 20) !== 0) throw new Error('the other end cannot be bound');
  const word = Buffer.alloc(4);
  for (const [level, option, value] of [
    [SOL_PACKET, IGNORE_OUTGOING, 1],
    [SOL_SOCKET, RCVBUFFORCE, QUEUE_OCTETS],
  ] as const) {
    word.writeInt32LE(value);
    if (setOption(fd, level, option, word, 4) !== 0) throw new Error(`option ${option} of the other end cannot be set`);
  }
  const statistics = Buffer.alloc(8);
  const room = Buffer.alloc(LONGEST);
  const others: Buffer[] = [];
  const received = (): Buffer[] => {
    const frames: Buffer[] = [];
    for (let length = receive(fd, room, LONGEST, DONTWAIT); length > 0; length = receive(fd, room, LONGEST, DONTWAIT)) {
      frames.push(Buffer.from(room.subarray(0, Number(length))));
    }
    return frames;
  };
  return {
    name,
    mac: macOf(name),
    otherMac,
    send: (frame) => void send(fd, frame, frame.length, 0),
    received,
    countDropped: () => {
      getOption(fd, SOL_PACKET, STATISTICS, statistics, [8]);
      return statistics.readUInt32LE(4);
    },
    others,
    async next(fits) {
      for (const untilMs = Date.now() + WAIT_MS; Date.now() < untilMs; await sleep(2)) {
        const frames = received();
        const found = frames.find(fits);
        others.push(...frames.filter((frame) => frame !== found));
        if (found) return found;
      }
      throw new Error('no frame came');
    },
  };
}
