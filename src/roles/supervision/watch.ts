/**
 * Watches a process that says every other second that it lives. What takes its only thread for good, in native code too, cannot be
 * noticed inside the process.
 */
import type { Clock } from '../../base/clock.js';
import type { Role } from '../process/ipc.js';
import { LIFE_LOOK_MS } from '../process/limits.js';
import { type ProcessUsage, processUsage } from './process-usage.js';

/** Looks without a word after which the process is looked at more closely. */
const LONGEST_PAUSE = 2;
/** Looks after which a process counts as stopped that neither waits for a processor nor for a disk. */
const LONGEST_REST = 30;
/** Looks after which any process is given up. */
const LONGEST_SILENCE = 300;
/** Octets that a process may take while it says nothing. */
const MOST_GROWTH = 512 * 1024 ** 2;
/** Processor time that one piece of work may take, milliseconds: zones are large, requests are not. */
const MOST_WORK_MS: Readonly<Record<Role, number>> = { admin: 60_000, dns: 30_000, edge: 10_000 };

export interface WatchOptions {
  readonly role: Role;
  readonly pid: number;
  readonly clock: Clock;
  /** Undefined where the system does not report it. */
  readonly usageOf?: (pid: number) => ProcessUsage | undefined;
  /** Called once, with what is wrong. */
  readonly onStuck: (why: string) => void;
}

export interface Watch {
  /** Something was heard of the process. */
  heard(): void;
  end(): void;
}

/**
 * Silence is counted in looks, not in time: while the whole program is suspended, or gets no processor, nobody looks. A process
 * that gets no processor is not silent because it is stuck.
 */
export function watchProcess({ role, pid, clock, usageOf = processUsage, onStuck }: WatchOptions): Watch {
  let looks = 0;
  let before: ProcessUsage | undefined;
  const look = (): void => {
    looks += 1;
    if (looks <= LONGEST_PAUSE) return;
    const now = usageOf(pid);
    before ??= now;
    const why = whatIsWrong(role, looks, now, before);
    if (why === undefined) return;
    cancel();
    onStuck(why);
  };
  const cancel = clock.inStep(LIFE_LOOK_MS, look);
  return {
    heard() {
      looks = 0;
      before = undefined;
    },
    end: cancel,
  };
}

function whatIsWrong(
  role: Role,
  looks: number,
  now: ProcessUsage | undefined,
  before: ProcessUsage | undefined,
): string | undefined {
  if (looks >= LONGEST_SILENCE) return 'does not report any more';
  if (!now || !before) return looks >= LONGEST_REST ? 'does not report any more' : undefined;
  if (now.memory - before.memory > MOST_GROWTH) return 'takes more and more memory and does not report any more';
  if (now.processorMs - before.processorMs > MOST_WORK_MS[role]) return 'is caught in one piece of work';
  return looks >= LONGEST_REST && !now.isHeldUp ? 'does not report any more' : undefined;
}
