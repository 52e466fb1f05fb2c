/**
 * That the content of a copy was replaced, until what follows from it was done: the other processes of this node read everything
 * again, and serials rise above those that were lost. A process may end in between; without this file its successor would know
 * of nothing, and DNS would answer what nobody stores any more.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncPath, writeDurably } from '../base/durable.js';

const FILE = 'cluster-replaced';
const LOST = 'entries were lost\n';

/** To be called before the content changes. What was noted before, and not followed yet, stays. */
export function noteReplacement(dataDir: string, lostEntries: boolean): void {
  const before = findReplacement(dataDir);
  writeDurably(join(dataDir, FILE), lostEntries || before?.lostEntries === true ? LOST : '');
}

export function findReplacement(dataDir: string): { readonly lostEntries: boolean } | undefined {
  const path = join(dataDir, FILE);
  return existsSync(path) ? { lostEntries: readFileSync(path, 'utf8') === LOST } : undefined;
}

export function forgetReplacement(dataDir: string): void {
  const path = join(dataDir, FILE);
  if (!existsSync(path)) return;
  rmSync(path);
  syncPath(dataDir);
}
