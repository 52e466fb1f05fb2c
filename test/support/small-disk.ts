/** File systems of a few mebibytes, for tests with a full disk. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Mounts one; false where this process may mount nothing. */
export function mountSmall(path: string, mebibytes: number): boolean {
  mkdirSync(path, { recursive: true });
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]).status === 0;
}

export function unmount(path: string): void {
  spawnSync('umount', ['-l', path]);
}

/** Fills what is left of the file system, to the last octet. */
export function fill(file: string): void {
  for (const octets of [65_536, 4096, 512, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(octets), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

function mayMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'zoneplane-mount-'));
  const mounted = mountSmall(path, 1);
  if (mounted) spawnSync('umount', [path]);
  rmSync(path, { recursive: true, force: true });
  return mounted;
}

/** Why such tests are skipped; false where they run. */
export const skipWithoutMounts = mayMount() ? false : 'this process may mount nothing';
