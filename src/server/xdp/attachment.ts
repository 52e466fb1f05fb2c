/** The program of an interface, and the map from its queues to sockets. All of it goes with the process, however that ends. */
import { constants } from 'node:os';
import { type Syscalls, SystemError } from '../syscalls.js';
import { type ProgramOptions, queryProgram } from './program.js';

const Command = { createMap: 0, update: 2, load: 5, createLink: 28, updateLink: 29 } as const;
const XSK_MAP = 17;
const XDP_PROGRAM = 6;
const XDP = 37;
/** In the driver, or behind it. */
const MODES = { driver: 4, generic: 2 } as const;
export type XdpMode = keyof typeof MODES;

const LOG_OCTETS = 64 * 1024;
const LOAD_ATTEMPTS = 100;
const { EAGAIN } = constants.errno;

export interface Attachment {
  /** Gives the frames of a queue to its socket. */
  setSocket(queue: number, fd: number): void;
  /** Begins with these addresses, or changes them. Throws a SystemError: EBUSY when the interface has a program already. */
  serve(addresses: readonly Uint8Array[], port: number): void;
  /** Undefined until it serves. */
  readonly mode: XdpMode | undefined;
  /** From now on frames go on their ordinary way. */
  detach(): void;
  close(): void;
}

/** Throws a SystemError: EPERM without the right to it. */
export function createAttachment(calls: Syscalls, index: number, queues: number): Attachment {
  const map = required(calls, 'bpf', bpf(calls, Command.createMap, [XSK_MAP, 4, 4, queues]));
  let link: number | undefined;
  let mode: XdpMode | undefined;
  const detach = (): void => {
    if (link !== undefined) calls.close(link);
    [link, mode] = [undefined, undefined];
  };
  return {
    get mode() {
      return mode;
    },
    setSocket(queue, fd) {
      new Uint32Array(memory, At.values, 2).set([queue, fd]);
      const at = calls.addressOf(memory) + At.values;
      required(calls, 'bpf', bpf(calls, Command.update, [map, 0, ...pointer(at), ...pointer(at + 4), 0, 0]));
    },
    serve(addresses, port) {
      const program = loadProgram(calls, { addresses, port, map });
      try {
        if (link !== undefined) {
          required(calls, 'bpf', bpf(calls, Command.updateLink, [link, program, 0, 0]));
          return;
        }
        const made = attach(calls, index, program);
        [link, mode] = [made.link, made.mode];
      } finally {
        // The link keeps it.
        calls.close(program);
      }
    },
    detach,
    close() {
      detach();
      calls.close(map);
    },
  };
}

function attach(calls: Syscalls, index: number, program: number): { readonly link: number; readonly mode: XdpMode } {
  let failed = 0;
  for (const mode of ['driver', 'generic'] as const) {
    const link = bpf(calls, Command.createLink, [program, index, XDP, MODES[mode]]);
    if (link >= 0) return { link, mode };
    failed = calls.errno();
  }
  throw new SystemError('bpf', failed);
}

/** What the kernel reads and writes; kept, so that it stays where it is during a call. Octets. */
const At = { attributes: 0, values: 128, license: 136, log: 144, program: 144 + LOG_OCTETS } as const;
const LONGEST_PROGRAM = 4096 * 8;
const memory = new ArrayBuffer(At.program + LONGEST_PROGRAM);
const LICENSE = Buffer.from('MIT\0');
/** What `ip link` shows. */
const NAME = new Uint32Array(Uint8Array.from(Buffer.from('zoneplane\0\0\0\0\0\0\0')).buffer);

function loadProgram(calls: Syscalls, options: ProgramOptions): number {
  const program = queryProgram(options);
  const bytes = new Uint8Array(memory);
  bytes.set(LICENSE, At.license);
  bytes.set(program, At.program);
  bytes[At.log] = 0;
  const base = calls.addressOf(memory);
  const load = (log: readonly number[]): number =>
    bpf(calls, Command.load, [
      ...[XDP_PROGRAM, program.length / 8, ...pointer(base + At.program), ...pointer(base + At.license)],
      ...[...log, 0, 0, ...NAME, 0, XDP],
    ]);
  // A signal interrupts the kernel while it checks a program.
  for (let attempt = 0; attempt < LOAD_ATTEMPTS; attempt++) {
    const fd = load([0, 0, 0, 0]);
    if (fd >= 0) return fd;
    if (calls.errno() !== EAGAIN) break;
  }
  const error = new SystemError('bpf', calls.errno());
  // Only now with a log: one that does not fit makes the kernel refuse the program.
  const again = load([1, LOG_OCTETS, ...pointer(base + At.log)]);
  if (again >= 0) return again;
  const log = Buffer.from(bytes.subarray(At.log, bytes.indexOf(0, At.log)))
    .toString()
    .trim();
  if (log !== '') error.message += `: ${log.slice(-500)}`;
  throw error;
}

function bpf(calls: Syscalls, command: number, words: readonly number[]): number {
  new Uint32Array(memory, At.attributes, 32).fill(0).set(words);
  return calls.bpf(command, calls.addressOf(memory) + At.attributes, words.length * 4);
}

function pointer(address: number): [number, number] {
  return [address >>> 0, Math.floor(address / 0x100000000)];
}

function required(calls: Syscalls, name: string, result: number): number {
  if (result < 0) throw new SystemError(name, calls.errno());
  return result;
}
