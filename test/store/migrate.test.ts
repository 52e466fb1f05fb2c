/** Schema versions: databases of released versions are migrated, those of previews and of newer programs are refused. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { storeSize } from '../../src/store/database-file.js';
import { DATABASE_FILE, openStore, type Store } from '../../src/store/driver.js';
import { EntryRefused } from '../../src/store/failures.js';
import { findDamage } from '../../src/store/integrity.js';
import { type ChangedRR, findChange, rrsOfChange } from '../../src/store/log/changes.js';
import { credentialPepper, findMeta } from '../../src/store/meta.js';
import { migrate, migrateByEntry, requireSchema, schemaVersion, takeSteps } from '../../src/store/migrate.js';
import { allMigrations, SCHEMA_VERSION } from '../../src/store/migrations/migration.js';
import { newestSchema, printSchema } from '../../src/store/migrations/newest.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { runSql } from '../support/write-now.js';

/** Dumps of databases as released versions left them, with rows in many tables: one for each release. */
const RELEASED = [{ name: '1.0', version: 197 }];

/** What is each installation's own. */
const PLANTED: ReadonlySet<unknown> = new Set(['installation', 'created_at', 'credential_pepper']);

const clock = new TestClock();
const random = seededRandom(7);

function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-migrate-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function open(t: Test, directory = temporaryDirectory(t)): Store {
  const store = openStore(directory);
  t.teardown(() => store.close());
  return store;
}

/** The database that a released version left. */
function openReleased(t: Test, { name, version } = RELEASED[0]!): Store {
  const directory = temporaryDirectory(t);
  const database = new Database(join(directory, DATABASE_FILE));
  database.pragma('foreign_keys = OFF');
  database.exec(readFileSync(`test/store/released/${name}.sql`, 'utf8'));
  database.pragma(`user_version = ${version}`);
  database.close();
  return open(t, directory);
}

const schemaOf = (store: Store): unknown[] =>
  store.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();

function countsOf(store: Store): Record<string, number> {
  const tables = store
    .prepareTuples<[], [string]>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all();
  return Object.fromEntries(
    tables.map(([table]) => [table, store.prepareTuples<[], [number]>(`SELECT count(*) FROM "${table}"`).get()![0]]),
  );
}

t.test('a new database', async (t) => {
  const store = open(t);
  t.throws(() => requireSchema(store), { name: 'UserError', message: /not been migrated/ });
  t.equal(migrate(store, clock, random), 0);
  t.equal(schemaVersion(store), SCHEMA_VERSION);
  const installation = findMeta(store, 'installation');
  t.match(installation, /^[0-9a-f-]{36}$/);
  t.equal(credentialPepper(store).length, 32);
  t.equal(migrate(store, clock, random), SCHEMA_VERSION, 'a second time there is nothing to do');
  t.equal(findMeta(store, 'installation'), installation);
  for (const [name] of store
    .prepareTuples<[], [string]>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%STRICT%'",
    )
    .all()) {
    t.fail(`table ${name} is not strict`);
  }
  t.throws(() => runSql(store, 'UPDATE sqlite_schema SET sql = sql'), 'only migrations may write the schema');
});

t.test('a new database begins with what the build has written, which is what the steps lead to', async (t) => {
  const fresh = open(t);
  migrate(fresh, clock, random);
  const stepwise = open(t);
  takeSteps(stepwise);
  t.equal(schemaVersion(stepwise), schemaVersion(fresh));
  t.strictSame(schemaOf(fresh), schemaOf(stepwise), 'the same tables, indexes, triggers and views, octet for octet');
  const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
  for (const [table] of stepwise.prepareTuples<[], [string]>(tables).all()) {
    const rowsOf = (store: Store) =>
      store
        .prepareTuples<[], unknown[]>(`SELECT * FROM "${table}"`)
        .all()
        .filter(([first]) => !PLANTED.has(first));
    t.strictSame(rowsOf(fresh), rowsOf(stepwise), `${table}: the same rows`);
  }
  const text = newestSchema(allMigrations());
  t.equal(text, printSchema(stepwise, allMigrations()));
  const last = allMigrations().at(-1)!;
  const others = [...allMigrations().slice(0, -1), { ...last, sql: `${last.sql} ` }];
  t.equal(newestSchema(others), undefined, 'that of other migrations is not used');
  const half = text!.slice(0, text!.indexOf(';\n', text!.length / 2) + 2);
  for (const part of ['', half]) t.equal(newestSchema(allMigrations(), part), undefined, 'nor is an incomplete one');
});

function textOfRR(change: number, { op, owner_key: owner, type, ttl, rdata }: ChangedRR): string {
  return `${change} ${op} ${toHex(owner)} ${type} ${ttl} ${toHex(rdata)}`;
}

function recordsOfChange(store: Store, change: number): string[] {
  const rrs = rrsOfChange(store, findChange(store, change)!);
  return rrs.filter(({ type }) => type !== Type.soa).map((rr) => textOfRR(change, rr));
}

t.test('a database of each released version becomes what a new one is', async (t) => {
  const fresh = open(t);
  migrate(fresh, clock, random);
  for (const released of RELEASED) {
    const store = openReleased(t, released);
    const before = countsOf(store);
    t.ok((before['audit'] ?? 0) > 5 && before['zones'] === 2, `${released.name} has rows`);
    // Zero octets in names make the keys of owners longer than names are.
    for (const length of [254, 255, 300, 301]) {
      const values = `min(change), ${length}, 1, X'${'41'.repeat(length)}', 16, 300, X'0161'`;
      runSql(store, `INSERT INTO change_rrs SELECT ${values} FROM change_rrs`);
    }
    const listed = store
      .prepare<[], ChangedRR & { change: number }>('SELECT * FROM change_rrs ORDER BY change, ord')
      .all();
    t.ok(listed.length > 10, 'the change log has records');
    t.equal(migrate(store, clock, random), released.version);
    requireSchema(store);
    t.strictSame(
      [...new Set(listed.map(({ change }) => change))].flatMap((change) => recordsOfChange(store, change)).sort(),
      listed.map((rr) => textOfRR(rr.change, rr)).sort(),
      'changes list what they listed',
    );
    t.strictSame(schemaOf(store), schemaOf(fresh), `${released.name}: the same tables, indexes and triggers`);
    t.equal(findDamage(store), undefined);
    t.strictSame(store.prepare('PRAGMA foreign_key_check').all(), []);
    const after = countsOf(store);
    for (const table of ['zones', 'record_rows', 'changes', 'zone_edits', 'api_keys', 'tsig_keys', 'jobs']) {
      t.equal(after[table], before[table], `${table}: no row is lost`);
    }
    t.equal(findZoneByName(store, 'example.com')!.served, 1);
  }
});

t.test('the next migration is applied to a released database, whole or not at all', async (t) => {
  const store = openReleased(t);
  const version = SCHEMA_VERSION + 1;
  const broken =
    "ALTER TABLE zones ADD COLUMN colour TEXT; UPDATE zones SET colour = 'red'; INSERT INTO nowhere VALUES (1);";
  t.throws(() => migrate(store, clock, random, [{ version, sql: broken }]), {
    name: 'UserError',
    message: /says that it has version 197, but its tables are different: no such table.* Nothing was changed/,
  });
  t.equal(schemaVersion(store), 197);
  t.throws(() => store.prepare('SELECT colour FROM zones'), /no such column/);

  const sql = "ALTER TABLE zones ADD COLUMN colour TEXT; UPDATE zones SET colour = 'red' WHERE name = 'example.com';";
  t.equal(migrate(store, clock, random, [{ version, sql }]), 197);
  t.equal(schemaVersion(store), version);
  t.strictSame(store.prepareTuples('SELECT name, colour FROM zones ORDER BY name').all(), [
    ['example.com', 'red'],
    ['other.example', null],
  ]);
});

t.test('migrations write little, however many records there are', async (t) => {
  const next = { version: SCHEMA_VERSION + 1, sql: 'ALTER TABLE record_rows ADD COLUMN colour TEXT;' };
  /** Octets that all migrations write, the log included. */
  const written = (records: number): number => {
    const store = openReleased(t);
    store.alter((run) => {
      run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${records})
        INSERT INTO record_rows (id, record_set, owner_key, name, type, content, rdata, rdata_key, ttl, proxied, created_at, modified_at)
        SELECT CAST(printf('%016d', i * 7919 % 5000) AS BLOB), 1, CAST(printf('n%d', i) AS BLOB), 'n' || i, 1, '', x'', x'', 60, 0, 1, 1 FROM n`);
    });
    store.checkpoint();
    const before = storeSize(store);
    migrate(store, clock, random, [next]);
    t.ok(records < 5000 || before > 1_000_000);
    return storeSize(store) - before;
  };
  const [few, many] = [written(1), written(5000)];
  t.ok(many < few + 50_000, `${few} octets with few records, ${many} with many`);
});

t.test('databases of previews and of newer programs are refused and left as they are', async (t) => {
  const store = open(t);
  migrate(store, clock, random);
  for (const [version, message] of [
    [
      1,
      /written by a preview of zoneplane whose tables are older \(version 1; the first that this program reads is 197\)/,
    ],
    [196, /written by a preview/],
    [SCHEMA_VERSION + 1, /newer zoneplane/],
  ] as const) {
    runSql(store, `PRAGMA user_version = ${version}`);
    const before = storeSize(store);
    t.throws(() => migrate(store, clock, random), { name: 'UserError', message });
    t.throws(() => requireSchema(store), { name: 'UserError', message });
    t.equal(schemaVersion(store), version);
    t.equal(storeSize(store), before);
  }
  runSql(store, 'PRAGMA user_version = 196');
  const { number, id: after } = store.position();
  const entry = { number: number + 1, id: random.uuid(), after, schema: 196, body: new Uint8Array() };
  t.throws(() => migrateByEntry(store, entry, SCHEMA_VERSION), EntryRefused, 'nor are they taken over by a log');
});
