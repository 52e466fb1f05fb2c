/** Copies of a database that follow a log in a real PostgreSQL, in this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createConnection } from '../../src/cluster/connection.js';
import { initCluster } from '../../src/cluster/init.js';
import { type CopyOptions, type OpenCopy, openCopy } from '../../src/cluster/open-copy.js';
import { openPostgresLog } from '../../src/cluster/postgres-log.js';
import { DATABASE_FILE, openStore, type Store } from '../../src/store/driver.js';
import { migrate } from '../../src/store/migrate.js';

export const clock = new SystemClock();

export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-copies-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Begins a cluster with a new database, of which `prepare` makes what it needs; returns its directory. */
export async function beginCluster(
  t: Test,
  url: string,
  prepare: (store: Store, dataDir: string) => Promise<void> = async () => {},
): Promise<string> {
  const dataDir = makeDirectory(t);
  const store = openStore(dataDir);
  migrate(store, clock, systemRandom);
  await prepare(store, dataDir);
  const log = openPostgresLog({ url, node: 'first', clock, patienceMs: 5000 });
  const own = createConnection({ url, name: 'test', clock });
  await initCluster({ store, dataDir, log, own, node: 'first', random: systemRandom });
  await own.close();
  await log.close();
  store.close();
  return dataDir;
}

/** Opens a copy, from a snapshot where the directory is empty; it is closed with the test. */
export async function openNode(t: Test, url: string, more: Partial<CopyOptions> = {}): Promise<OpenCopy> {
  const { dataDir = makeDirectory(t), node = 'other' } = more;
  const copy = await openCopy({
    ...{
      url,
      node,
      dataDir,
      clock,
      random: systemRandom,
      logger: silentLogger(),
      patienceMs: 10_000,
      appends: true,
      replaces: true,
    },
    ...more,
  });
  t.teardown(async () => {
    await copy.log.close();
    copy.store.close();
  });
  return copy;
}

/** Every table of a database, as text. */
function contentOf(path: string): string {
  const database = new Database(path, { readonly: true });
  try {
    const tables = database
      .prepare<[], { name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all();
    return JSON.stringify(tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).raw().all()]));
  } finally {
    database.close();
  }
}

export const contentIn = (dataDir: string): string => contentOf(join(dataDir, DATABASE_FILE));
