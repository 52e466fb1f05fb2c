/** Makes files, and the names of files, survive a power failure. */
import { spawnSync } from 'node:child_process';
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Forces a file, or the names in a directory, to the disk. Throws errors of the system. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** From this many files on, the whole file system is synced: one wait instead of one for each file. */
const MANY = 100;

/** Like {@link syncPath} for many files and directories, which must be on one file system. */
export function syncAll(paths: readonly string[]): void {
  // Node has no syncfs. Where `sync -f` is missing too, each file is synced.
  if (paths.length >= MANY && spawnSync('sync', ['-f', paths[0]!], { stdio: 'ignore' }).status === 0) return;
  for (const path of paths) syncPath(path);
}

/**
 * Writes a file that only this user can read. Whoever reads it meanwhile, or after a crash at any step, finds the old text or
 * the new one. Throws errors of the system; then nothing has changed.
 */
export function writeDurably(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  try {
    const file = openSync(draft, 'wx', mode);
    try {
      fchmodSync(file, mode);
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncPath(dirname(path));
}
