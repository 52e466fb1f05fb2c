/** Octets of memory that the process uses, and may use. */
import { totalmem } from 'node:os';

/** Not a number, which metrics leave out, where the system cannot say: reading it needs a descriptor. */
export function residentOctets(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return Number.NaN;
  }
}

/** Of this machine, or what this program may use of it. */
export function memoryLimit(): number {
  // Without a limit it gives a number that no machine has.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
