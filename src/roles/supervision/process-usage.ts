/** What another process of this machine uses, as reported by Linux. */
import { readFileSync } from 'node:fs';

export interface ProcessUsage {
  /** Octets. */
  readonly memory: number;
  /** Of its main thread, milliseconds. */
  readonly processorMs: number;
  /** Whether its main thread waits for a processor, or for a disk. */
  readonly isHeldUp: boolean;
}

const PAGE = 4096;
const MS_OF_TICK = 10;

/** Undefined where the system does not report it. */
export function processUsage(pid: number): ProcessUsage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
    // The name before, in brackets, may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, user, system, pages] = [fields[0], fields[11], fields[12], fields[21]];
    return {
      memory: Number(pages) * PAGE,
      processorMs: (Number(user) + Number(system)) * MS_OF_TICK,
      isHeldUp: state === 'R' || state === 'D' || state === 't',
    };
  } catch {
    return undefined;
  }
}
