/**
 * Who comes first when the processors are busy: the answers of DNS. Nothing here needs privileges, and where the system is not Linux, or
 * refuses, nothing changes.
 */
import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** By how much niceness is raised; each step is about a fifth less of a busy processor. */
export const Steps = {
  /** The edge answers clients, too. */
  edge: 2,
  /** The process that edits, and commands that do. */
  edit: 5,
  /** Threads and processes that work on what nobody waits for, or only the one who wanted long work. */
  background: 5,
} as const;

const LOWEST = 19;

/**
 * Raises the niceness of the calling thread, or of all threads of the process; once for each. Linux has one for each thread (setpriority(2),
 * "C library/kernel differences"), and new threads and processes have that of the thread that makes them.
 */
export function standBack(steps: number, who: 'thread' | 'process'): void {
  if (process.platform !== 'linux') return;
  for (const thread of who === 'thread' ? [0] : threadsOfProcess()) {
    try {
      setPriority(thread, Math.min(LOWEST, getPriority(thread) + steps));
    } catch {
      // It has ended, or a sandbox forbids it: it goes on as before.
    }
  }
}

function threadsOfProcess(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
}

/** Of sched_setattr(2). Both return -1 on failure; thread 0 is the one that calls. */
export interface SchedulingCalls {
  schedGetattr(thread: number, attributes: number, length: number, flags: number): number;
  schedSetattr(thread: number, attributes: number, flags: number): number;
  /** The address of the storage of `buffer`. */
  addressOf(buffer: ArrayBuffer): number;
}

/** `struct sched_attr` in its first version, which all systems know: its length, and where its members are. */
export const Attributes = { length: 48, policy: 4, nice: 16, runtime: 24 } as const;
const SCHED_OTHER = 0;

/** Others have 0.7 to 2.8 ms, more on more processors. With 0.1 ms, the changes of threads cost a percent of a full processor. */
const SHORT_SLICE_NS = 200_000n;

/**
 * Gives the calling thread the same share of the processor, but sooner: since Linux 6.12, a thread with short slices that wakes up does not
 * wait until another one has used up its longer slice. Earlier systems ignore it. One that the operator has given a policy keeps that.
 */
export function takeShortSlices(calls: SchedulingCalls): void {
  const memory = new ArrayBuffer(Attributes.length);
  const attributes = new DataView(memory);
  const address = calls.addressOf(memory);
  if (calls.schedGetattr(0, address, Attributes.length, 0) < 0) return;
  if (attributes.getUint32(Attributes.policy, true) !== SCHED_OTHER) return;
  attributes.setBigUint64(Attributes.runtime, SHORT_SLICE_NS, true);
  calls.schedSetattr(0, address, 0);
}
