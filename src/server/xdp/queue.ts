/**
 * The socket of one queue of an interface (AF_XDP), and the memory of its frames. All is opened in the main thread, so that a worker
 * that crashes leaves nothing behind.
 */
import { Linux, type Syscalls, SystemError } from '../syscalls.js';
import type { QueuePlace, RingPlace } from '../udp-protocol.js';
import { FRAME } from './frame.js';

/** Frames of a queue; each is in one place at a time, so that no ring ever overflows. */
export const FRAMES = 2048;
const UMEM = FRAMES * FRAME;

const Option = {
  offsets: 1,
  receive: 2,
  transmit: 3,
  frames: 4,
  fill: 5,
  completion: 6,
  statistics: 7,
} as const;
/** Of the socket address. */
const Flag = { copy: 2, zeroCopy: 4, needWakeup: 8 } as const;
/** Offsets of mappings: which ring is meant. */
const RINGS = [
  { name: 'receive', option: Option.receive, page: 0, step: 16 },
  { name: 'transmit', option: Option.transmit, page: 0x80000000, step: 16 },
  { name: 'fill', option: Option.fill, page: 0x100000000, step: 8 },
  { name: 'completion', option: Option.completion, page: 0x180000000, step: 8 },
] as const;
/** Octets of the four structs that say where the rings are. */
const OFFSETS = 128;
const STATISTICS = 48;
const HIGHEST_ADDRESS = 2 ** 48;
const SEND_OCTETS = 8 << 20;

/** What the kernel reads and writes; kept, so that it stays where it is during a call. */
const scratch = new BigUint64Array(32);

export interface Queue {
  readonly number: number;
  readonly place: QueuePlace;
  /** Frames that found no room. */
  countDrops(): number | undefined;
  close(): void;
}

/** Throws a SystemError and leaves nothing open. `facts`: passed on to the worker. */
export function openQueue(calls: Syscalls, index: number, queue: number, facts: SharedArrayBuffer): Queue {
  const undo: (() => void)[] = [];
  const close = (): void => {
    for (const step of undo.splice(0).reverse()) step();
  };
  try {
    const fd = calls.socket(Linux.AF_XDP, Linux.SOCK_RAW | Linux.SOCK_CLOEXEC, 0);
    if (fd < 0) throw new SystemError('socket', calls.errno());
    const { MAP_SHARED, MAP_ANONYMOUS, MAP_POPULATE } = Linux;
    const frames = map(calls, UMEM, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    // The socket goes first: its memory is used while it is open.
    undo.push(() => void calls.munmap(frames, UMEM));
    undo.push(() => void calls.close(fd));
    setOption(calls, fd, Option.frames, [BigInt(frames), BigInt(UMEM), BigInt(FRAME)]);
    for (const { option } of RINGS) setOption(calls, fd, option, [BigInt(FRAMES)], 4);
    raiseSendQueue(calls, fd);
    const rings = mapRings(calls, fd, undo);
    bindQueue(calls, fd, index, queue);
    return { number: queue, place: { fd, frames, rings, facts }, countDrops: () => drops(calls, fd), close };
  } catch (error) {
    close();
    throw error;
  }
}

function map(calls: Syscalls, length: number, flags: number, fd: number, offset: number): number {
  const address = calls.mmap(0, length, Linux.PROT_READ_WRITE, flags, fd, offset);
  if (address > HIGHEST_ADDRESS) throw new SystemError('mmap', calls.errno());
  return address;
}

function setOption(calls: Syscalls, fd: number, option: number, words: readonly bigint[], octets?: number): void {
  scratch.set(words);
  const at = calls.addressOf(scratch.buffer);
  if (calls.setsockopt(fd, Linux.SOL_XDP, option, at, octets ?? words.length * 8) !== 0) {
    throw new SystemError('setsockopt', calls.errno());
  }
}

/** The kernel copies answers into this queue unless it works without copies. */
function raiseSendQueue(calls: Syscalls, fd: number): void {
  scratch[0] = BigInt(SEND_OCTETS);
  const at = calls.addressOf(scratch.buffer);
  for (const option of [Linux.SO_SNDBUFFORCE, Linux.SO_SNDBUF]) {
    if (calls.setsockopt(fd, Linux.SOL_SOCKET, option, at, 4) === 0) return;
  }
}

function mapRings(calls: Syscalls, fd: number, undo: (() => void)[]): QueuePlace['rings'] {
  const at = calls.addressOf(scratch.buffer);
  scratch[OFFSETS / 8] = BigInt(OFFSETS);
  if (calls.getsockopt(fd, Linux.SOL_XDP, Option.offsets, at, at + OFFSETS) !== 0) {
    throw new SystemError('getsockopt', calls.errno());
  }
  const places = RINGS.map(({ name, page, step }, i) => {
    const [producer, consumer, entries] = [...scratch.subarray(i * 4, i * 4 + 3)].map(Number);
    const length = entries! + FRAMES * step;
    const address = map(calls, length, Linux.MAP_SHARED | Linux.MAP_POPULATE, fd, page);
    undo.push(() => void calls.munmap(address, length));
    return [name, { address, length, producer, consumer, entries } as RingPlace] as const;
  });
  return Object.fromEntries(places) as QueuePlace['rings'];
}

/** Without copies where the driver can. */
function bindQueue(calls: Syscalls, fd: number, index: number, queue: number): void {
  for (const mode of [Flag.zeroCopy, Flag.copy]) {
    const address = new DataView(scratch.buffer);
    address.setUint16(0, Linux.AF_XDP, true);
    address.setUint16(2, mode | Flag.needWakeup, true);
    address.setUint32(4, index, true);
    address.setUint32(8, queue, true);
    address.setUint32(12, 0, true);
    if (calls.bind(fd, calls.addressOf(scratch.buffer), 16) === 0) return;
  }
  throw new SystemError('bind', calls.errno());
}

function drops(calls: Syscalls, fd: number): number | undefined {
  const at = calls.addressOf(scratch.buffer);
  scratch[STATISTICS / 8] = BigInt(STATISTICS);
  if (calls.getsockopt(fd, Linux.SOL_XDP, Option.statistics, at, at + STATISTICS) !== 0) return undefined;
  const [dropped, , , ringFull] = [...scratch].map(Number);
  return dropped! + ringFull!;
}
