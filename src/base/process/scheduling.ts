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
export const Attributes = { length: 48, policy: 4, flags: 8, nice: 16, priority: 20, runtime: 24 } as const;
const SCHED_OTHER = 0;
const SCHED_RR = 2;
/** What the thread starts has the usual policy. */
const RESET_ON_FORK = 1n;
const LOWEST_PRIORITY = 1;

/** Others have 0.7 to 2.8 ms, more on more processors. With 0.1 ms, the changes of threads cost a percent of a full processor. */
const SHORT_SLICE_NS = 200_000n;

/** Up to this part of a processor, a thread may come before all others; it is looked at so often. */
const LITTLE = 1 / 5;
const LOOK_US = 20_000;

/**
 * Gives the calling thread the same share of the processor, but sooner: since Linux 6.12, a thread with short slices that wakes up does not
 * wait until another one has used up its longer slice. Earlier systems ignore it. One that the operator has given a policy keeps that.
 *
 * Where the system allows it (CAP_SYS_NICE, or RLIMIT_RTPRIO of 1), the thread comes before all others while it needs little. The fair
 * scheduler cannot be told so: a thread to which it owes time comes first, however nice, until the next tick, up to 4 ms later. A thread
 * that needs more has short slices only, so that a flood of questions does not keep others from the processor.
 *
 * `usedUs`: processor time that the thread has used; without it, there is nothing to go by. Returns what is to be told the steady
 * time, every few batches.
 */
export function comeFirst(calls: SchedulingCalls, usedUs: (() => number) | undefined): (nowUs: number) => void {
  const memory = new ArrayBuffer(Attributes.length);
  const attributes = new DataView(memory);
  const address = calls.addressOf(memory);
  const asBefore = (): void => {};
  if (calls.schedGetattr(0, address, Attributes.length, 0) < 0) return asBefore;
  if (attributes.getUint32(Attributes.policy, true) !== SCHED_OTHER) return asBefore;
  const take = (policy: number, priority: number): boolean => {
    attributes.setUint32(Attributes.policy, policy, true);
    attributes.setUint32(Attributes.priority, priority, true);
    return calls.schedSetattr(0, address, 0) === 0;
  };
  attributes.setBigUint64(Attributes.runtime, SHORT_SLICE_NS, true);
  take(SCHED_OTHER, 0);
  if (!usedUs) return asBefore;
  attributes.setBigUint64(Attributes.flags, RESET_ON_FORK, true);
  let isAllowed = true;
  let isFirst = false;
  let lookedUs = 0;
  let before = 0;
  return (nowUs) => {
    if (!isAllowed || nowUs - lookedUs < LOOK_US) return;
    const used = usedUs();
    const needsLittle = lookedUs !== 0 && used - before < (nowUs - lookedUs) * LITTLE;
    lookedUs = nowUs;
    before = used;
    if (needsLittle === isFirst) return;
    isFirst = needsLittle;
    isAllowed = needsLittle ? take(SCHED_RR, LOWEST_PRIORITY) : take(SCHED_OTHER, 0);
  };
}

/** Processor time of the calling thread; undefined where Node cannot tell. */
export function threadTimeUs(): (() => number) | undefined {
  if (typeof process.threadCpuUsage !== 'function') return undefined;
  return () => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  };
}
