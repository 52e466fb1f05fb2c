/**
 * What it costs a program without a cluster that its writes could go through a log: each statement asks whether it may write
 * and whether it is recorded. The statements of creations through the store, and the same as the store ran them before there
 * were clusters, in turn on copies of one database; beside both, the whole use case.
 */

import { copyFileSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import { systemRandom } from '../src/base/random.js';
import { ensureFirstAdministrator } from '../src/control/access/keys.js';
import { OPERATOR } from '../src/control/guard/actor.js';
import { type Context, DEFAULT_LIMITS } from '../src/control/kernel/context.js';
import { PARTICIPANTS } from '../src/control/participants.js';
import { createRecord } from '../src/control/records/records.js';
import { createZone } from '../src/control/zones/zones.js';
import { createEgress } from '../src/egress/egress.js';
import { DATABASE_FILE, openStore, type Store } from '../src/store/driver.js';
import { createLogWriter } from '../src/store/log-writer.js';
import { migrate } from '../src/store/migrate.js';
import { whenFree } from '../src/store/patience.js';
import { type Entry, statementsOf, type Written } from '../src/store/recording.js';
import { storeFailure } from '../src/store/sqlite-failure.js';
import { median } from './median.js';
import type { Figures } from './writes.js';

const CREATIONS = 400;

/** The statements of each creation, and the database before the first one. */
interface Recorded {
  readonly database: string;
  readonly zoneId: string;
  readonly creations: readonly (readonly Written[])[];
}

export async function measureSeam(directory: string, rounds: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'seam-'));
  const recorded = await record(own);
  const ways = { useCase: createAll, through: runThrough, bare: runBare };
  const costs = { useCase: [] as number[], through: [] as number[], bare: [] as number[], ratio: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    const us = { useCase: 0, through: 0, bare: 0 };
    for (const [name, way] of Object.entries(ways)) {
      const copy = join(own, `${round + 1}-${name}`);
      mkdirSync(copy);
      copyFileSync(recorded.database, join(copy, DATABASE_FILE));
      us[name as keyof typeof us] = await way(copy, recorded);
    }
    if (round < 0) continue;
    costs.useCase.push(us.useCase);
    costs.through.push(us.through);
    costs.bare.push(us.bare);
    costs.ratio.push(us.useCase / (us.useCase - us.through + us.bare));
  }
  return {
    'a creation, us of CPU': median(costs.useCase),
    'its statements through the store, us': median(costs.through),
    'its statements without the seam, us': median(costs.bare),
    'a creation with the seam / without': median(costs.ratio),
  };
}

function contextOf(store: Store): Context {
  return {
    ...{ store, clock: new SystemClock(), random: systemRandom, log: silentLogger() },
    egress: createEgress({ allowed: [], own: { has: () => false } }),
    ...{ actor: OPERATOR, requestId: 'bench', source: 'service', participants: PARTICIPANTS },
    settings: {
      ...{
        nameServers: ['ns1.dns.test', 'ns2.dns.test'],
        edgeAddresses: [],
        nameServerAddresses: [],
        ownAddresses: [],
      },
      ...{ activation: 'trust', privateSuffixes: 'refuse', limits: DEFAULT_LIMITS },
    },
  };
}

const create = (ctx: Context, zoneId: string, index: number) =>
  createRecord(ctx, zoneId, { type: 'A', name: `c${index}`, content: `192.0.2.${index % 250}`, ttl: 60 });

async function record(own: string): Promise<Recorded> {
  const [plain, logged] = [join(own, 'plain'), join(own, 'logged')];
  const first = openStore(plain);
  migrate(first, new SystemClock(), systemRandom);
  await ensureFirstAdministrator(contextOf(first), { email: 'bench@example.org' });
  const { id: zoneId } = await createZone(contextOf(first), { name: 'bench.test' });
  first.close();
  const database = join(plain, DATABASE_FILE);
  mkdirSync(logged);
  copyFileSync(database, join(logged, DATABASE_FILE));
  const entries: Entry[] = [];
  const log = {
    append: async (entry: Entry) => entries.push(entry) > 0,
    read: async () => ({ entries: [], isEnd: true }),
  };
  const store = openStore(logged, { writer: (of) => createLogWriter(of, log, systemRandom) });
  for (let index = 0; index < CREATIONS; index++) await create(contextOf(store), zoneId, index);
  store.close();
  return { database, zoneId, creations: entries.map(({ body }) => [...statementsOf(body)]) };
}

/** Microseconds of CPU a creation. */
async function costOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CREATIONS;
}

async function createAll(directory: string, { zoneId }: Recorded): Promise<number> {
  const store = openStore(directory);
  const ctx = contextOf(store);
  const cost = await costOf(async () => {
    for (let index = 0; index < CREATIONS; index++) await create(ctx, zoneId, index);
  });
  store.close();
  return cost;
}

/** Prepares each text once. */
function preparedBy<Prepared>(prepare: (sql: string) => Prepared, creations: Recorded['creations']) {
  const texts = new Set(creations.flat().map(([sql]) => sql));
  return new Map([...texts].map((sql) => [sql, prepare(sql)]));
}

async function runThrough(directory: string, { creations }: Recorded): Promise<number> {
  const store = openStore(directory);
  const prepared = preparedBy((sql) => store.prepare<Written[1], unknown>(sql), creations);
  const cost = await costOf(async () => {
    for (const statements of creations) {
      await store.write(() => {
        for (const [sql, params] of statements) prepared.get(sql)!.run(...params);
      });
    }
  });
  store.close();
  return cost;
}

async function runBare(directory: string, { creations }: Recorded): Promise<number> {
  const database = new Database(join(directory, DATABASE_FILE));
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'cache_size = -65536']) {
    database.pragma(pragma);
  }
  for (const pragma of [`mmap_size = ${1 << 30}`, 'temp_store = MEMORY', 'trusted_schema = OFF'])
    database.pragma(pragma);
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')];
  const prepared = preparedBy((sql) => explained(database.prepare(sql)), creations);
  const writeOnce = (statements: readonly Written[], attemptMs: number): void => {
    database.pragma(`busy_timeout = ${attemptMs}`);
    begin.run();
    database.pragma('busy_timeout = 5000');
    for (const [sql, params] of statements) prepared.get(sql)!.run(...params);
    commit.run();
  };
  const cost = await costOf(async () => {
    for (const statements of creations) await whenFree((attemptMs) => writeOnce(statements, attemptMs));
  });
  database.close();
  return cost;
}

/** A statement whose failures would be explained. */
const explained = (inner: Database.Statement) => ({
  run(...params: Written[1]): unknown {
    try {
      return inner.run(...params);
    } catch (error) {
      throw storeFailure(error);
    }
  },
});
