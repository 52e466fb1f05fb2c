/** Octets of memory that the process uses. */

/** Not a number, which metrics leave out, where the system cannot say: reading it needs a descriptor. */
export function residentOctets(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return Number.NaN;
  }
}
