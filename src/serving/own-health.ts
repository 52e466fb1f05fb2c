/**
 * What this node has found of origins itself, for the time in which it cannot agree with others: a file beside the copy of the
 * database, since the copy has only what all nodes agree on. It is absent otherwise.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { IN_MEMORY, type Store } from '../store/driver.js';

/** Names of healthy origins of pools (store numbers) that are otherwise than was agreed. */
export type OwnPools = ReadonlyMap<number, readonly string[]>;

const FILE = 'own-health.json';

export interface OwnHealth {
  /** Another number when something else stands there. */
  version(): number;
  /** Undefined: what was agreed counts. */
  ofPool(pool: number): ReadonlySet<string> | undefined;
  /** Pools that are otherwise than at the last call. */
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
    // It was removed meanwhile, or a power failure has left a part of it: then what was agreed counts until it is written again.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return new Map();
    throw error;
  }
}

/** Replaces what stands there, as a whole; undefined removes it. */
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
