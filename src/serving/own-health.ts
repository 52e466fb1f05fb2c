/**
 * The health of origins as this node finds it, used while it cannot agree with others. It is in a file beside the copy of the
 * database, because the copy holds only what all nodes agree on. Otherwise the file is absent.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { IN_MEMORY, type Store } from '../store/driver.js';

/** Names of healthy origins, for pools (store numbers) whose health differs from the agreed one. */
export type OwnPools = ReadonlyMap<number, readonly string[]>;

const FILE = 'own-health.json';

export interface OwnHealth {
  /** Changes with the content of the file. */
  version(): number;
  /** Undefined if the agreed health counts. */
  ofPool(pool: number): ReadonlySet<string> | undefined;
  /** Pools whose health may have changed since the last call. */
  changed(): readonly number[];
}

function fileOf(store: Store): string | undefined {
  return store.path === IN_MEMORY ? undefined : join(dirname(store.path), FILE);
}

export function createOwnHealth(store: Store): OwnHealth {
  const file = fileOf(store);
  let seen = '';
  let version = 0;
  let pools = new Map<number, ReadonlySet<string>>();
  let told = pools;
  const look = (): void => {
    if (file === undefined) return;
    const found = statSync(file, { throwIfNoEntry: false });
    const state = found ? `${found.ino} ${found.mtimeMs} ${found.size}` : '';
    if (state === seen) return;
    seen = state;
    version++;
    pools = found ? readPools(file) : new Map();
  };
  return {
    version() {
      look();
      return version;
    },
    ofPool: (pool) => pools.get(pool),
    changed() {
      look();
      const before = told;
      told = pools;
      return before === pools ? [] : [...new Set([...before.keys(), ...pools.keys()])];
    },
  };
}

function readPools(file: string): Map<number, ReadonlySet<string>> {
  try {
    const list = JSON.parse(readFileSync(file, 'utf8')) as [number, string[]][];
    return new Map(list.map(([pool, names]) => [pool, new Set(names)]));
  } catch (error) {
    // Removed meanwhile, or truncated by a power failure: the agreed health counts until the file is written again.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return new Map();
    throw error;
  }
}

/** Replaces the file as a whole; undefined removes it. */
export function writeOwnHealth(store: Store, pools: OwnPools | undefined): void {
  const file = fileOf(store);
  if (file === undefined) return;
  if (!pools) {
    rmSync(file, { force: true });
    return;
  }
  writeFileSync(`${file}.new`, JSON.stringify([...pools]), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
