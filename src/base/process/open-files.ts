/** The number of this process's open files, and its limit, as reported by Linux. */
import { readdirSync } from 'node:fs';
import { processLimit } from './limits.js';

/** Undefined if the system does not report it. */
export function openFileLimit(): number | undefined {
  return processLimit('open files');
}

/** Includes sockets. Undefined if the system does not report it, or if no file can be opened to read it. */
export function countOpenFiles(): number | undefined {
  try {
    // The directory being read is one of them.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined;
  }
}

/** Whether an operation failed because this process, or the system, has no open file left. */
export function lacksOpenFiles(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}
