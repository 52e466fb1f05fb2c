/** Makes directories. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncPath } from './durable.js';

/**
 * Makes a directory and those above it that are missing, and returns the first one that it made; undefined when all were there.
 * What it made survives a power failure.
 * Throws errors of the system like `mkdirSync`. The option `recursive` of Node does not end where the file system says that nothing
 * can be made below a directory that exists, such as /proc.
 */
export function makeDirectories(path: string, mode = 0o777): string | undefined {
  const target = resolve(path);
  const missing: string[] = [];
  for (let at = target; !isThere(at, at === target ? 'EEXIST' : 'ENOTDIR'); at = dirname(at)) missing.push(at);
  for (const one of missing.toReversed()) make(one, mode);
  return missing.at(-1);
}

/** Throws an error with this code when something else than a directory is there. */
function isThere(path: string, code: 'EEXIST' | 'ENOTDIR'): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) return found !== undefined;
  throw Object.assign(new Error(`${code}: ${path} is not a directory`), { code, syscall: 'mkdir', path });
}

function make(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
    syncPath(dirname(path));
  } catch (error) {
    // Somebody else made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isThere(path, 'EEXIST')) throw error;
  }
}
