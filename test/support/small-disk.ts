/** File systems of a few mebibytes, for tests with a full disk. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
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

function mayMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'zoneplane-mount-'));
  const mounted = mountSmall(path, 1);
  if (mounted) spawnSync('umount', [path]);
  rmSync(path, { recursive: true, force: true });
  return mounted;
}

/** Why such tests are skipped; false where they run. */
export const skipWithoutMounts = mayMount() ? false : 'this process may mount nothing';
