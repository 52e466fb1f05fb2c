/** The limits of this process (`ulimit`), as reported by Linux. */
import { readFileSync } from 'node:fs';

/** Undefined when there is none, or when the system does not report it. Address space is in octets. */
export function processLimit(name: 'open files' | 'address space'): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const soft = new RegExp(`^Max ${name}\\s+(\\d+)`, 'm').exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
