/** The store on real SQLite files: opening, migrations, transactions, failures, and the publisher's reads. */
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { concatBytes } from '../../src/base/bytes.js';
import { UserError } from '../../src/base/errors.js';
import { makeId } from '../../src/base/random.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import { allAccounts, insertAccount } from '../../src/store/access/accounts.js';
import { storeSize } from '../../src/store/database-file.js';
import { putSignatures, signaturesOfZone } from '../../src/store/dnssec/signatures.js';
import { insertDnssecZone } from '../../src/store/dnssec/zones.js';
import { DATABASE_FILE, IN_MEMORY, openStore, type Store } from '../../src/store/driver.js';
import { StoreBusy, StoreConflict, StoreFull } from '../../src/store/failures.js';
import {
  appendChange,
  type ChangedRR,
  type ChangeKind,
  changesAfter,
  firstChange,
  lastChange,
  rrsOfChange,
  touchedOwners,
} from '../../src/store/log/changes.js';
import { putMeta } from '../../src/store/meta.js';
import { migrate, requireSchema } from '../../src/store/migrate.js';
import { insertBucket } from '../../src/store/objects/buckets.js';
import { insertObject, removeObject } from '../../src/store/objects/objects.js';
import { hasDescendants, insertRecord, type NewRecordRow, rdataKeyOf } from '../../src/store/records/records.js';
import { storedRows, storedRowsOfOwner } from '../../src/store/records/stored-rows.js';
import { findLostChanges, findNotedLoss, followNewestChange } from '../../src/store/state/newest-change.js';
import {
  findServedZone,
  findZone,
  insertZone,
  servedZones,
  soaOfZone,
  updateZone,
} from '../../src/store/zones/zones.js';
import { countRecords } from '../support/rows.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { runSql, writeNow } from '../support/write-now.js';

const clock = new TestClock();
const random = seededRandom(7);
const APEX = parseName('example.com.');

function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-store-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function openMigrated(t: Test, directory = temporaryDirectory(t)): Store {
  const store = openStore(directory);
  migrate(store, clock, random);
  t.teardown(() => store.close());
  return store;
}

function addZone(store: Store, name = 'example.com', served = 1): number {
  return writeNow(store, () => insertServedZone(store, name, served));
}

function insertServedZone(store: Store, name: string, served: number): number {
  const now = clock.nowUs();
  if (allAccounts(store).length === 0) {
    insertAccount(store, { id: makeId(now, random), name: 'Main', type: 'standard', created_at: now });
  }
  const apex = parseName(`${name}.`);
  return insertZone(store, {
    id: makeId(now, random),
    account: 1,
    name,
    apex,
    status: 'active',
    served,
    type: 'full',
    serial: 1,
    name_server_mode: 'service',
    verification_key: null,
    proven_by: null,
    proven_at: null,
    name_servers: null,
    created_at: now,
    modified_at: now,
    activated_at: now,
  });
}

function recordOf(zone: number, name: string, last: number, changes: Partial<NewRecordRow> = {}): NewRecordRow {
  const now = clock.nowUs();
  const rdata = Uint8Array.of(192, 0, 2, last);
  return {
    id: makeId(now, random),
    zone,
    owner_key: ownerKeyOf(parseName(`${name}.`), APEX),
    name,
    type: 1,
    content: `192.0.2.${last}`,
    rdata,
    rdata_key: rdata,
    ttl: 300,
    proxied: 0,
    settings: null,
    comment: null,
    tags: null,
    private_routing: null,
    created_at: now,
    modified_at: now,
    comment_modified_at: null,
    tags_modified_at: null,
    ...changes,
  };
}

t.test('writes whose power failure the next one bears', async (t) => {
  const store = openMigrated(t, temporaryDirectory(t));
  const pragmas = (): unknown[] =>
    ['synchronous', 'wal_autocheckpoint'].map((name) => store.prepareTuples<[], [number]>(`PRAGMA ${name}`).get()![0]);
  const [full, normal] = [
    [2, 1000],
    [1, 16_384],
  ];
  await store.syncLater(async () => {
    t.same(pragmas(), normal);
    await store.write(() => putMeta(store, 'first_run_done', 1));
  });
  t.same(pragmas(), full, 'the next write waits for the disk');
  await t.rejects(
    store.syncLater(async () => {
      throw new Error('no');
    }),
  );
  t.same(pragmas(), full, 'also after a failure');
  const copy = openStore(temporaryDirectory(t), { isCopy: true });
  t.teardown(() => copy.close());
  await copy.syncLater(async () => {});
  t.equal(copy.prepareTuples<[], [number]>('PRAGMA synchronous').get()![0], 1, 'NORMAL, as it was opened');
});

t.test('opening', async (t) => {
  const directory = temporaryDirectory(t);
  t.throws(() => openStore(directory, { readonly: true }), UserError, 'a reader makes no database');
  const store = openMigrated(t, directory);
  const path = join(directory, DATABASE_FILE);
  t.equal(statSync(path).mode & 0o777, 0o600, 'nobody else may read it');
  t.equal(store.prepareTuples<[], [string]>('PRAGMA journal_mode').get()![0], 'wal');
  t.equal(store.prepareTuples<[], [number]>('PRAGMA synchronous').get()![0], 2, 'FULL');
  t.equal(store.prepareTuples<[], [number]>('PRAGMA foreign_keys').get()![0], 1);
  t.ok(storeSize(store) > 0);
  t.equal(storeSize(openStore(IN_MEMORY)), 0);

  const reader = openStore(directory, { readonly: true });
  t.teardown(() => reader.close());
  requireSchema(reader);
  await t.rejects(
    reader.write(() => putMeta(reader, 'first_run_done', 1)),
    UserError,
    'a reader cannot write',
  );

  const file = join(directory, 'file');
  writeFileSync(file, '');
  t.throws(() => openStore(file), UserError, 'a file is not a data directory');
  const damaged = temporaryDirectory(t);
  writeFileSync(join(damaged, DATABASE_FILE), 'this is not a database, but long enough to look like one '.repeat(200));
  t.throws(() => openStore(damaged), { name: 'UserError', remedy: /backup/ });
});

t.test('transactions', async (t) => {
  const directory = temporaryDirectory(t);
  const store = openMigrated(t, directory);
  const other = openStore(directory, { busyTimeoutMs: 5 });
  t.teardown(() => other.close());
  const zone = addZone(store);

  await t.rejects(
    store.write(() => {
      insertRecord(store, recordOf(zone, 'a.example.com', 1));
      throw new Error('stop');
    }),
    { message: 'stop' },
  );
  t.equal(countRecords(store, zone), 0, 'nothing stays of a failed transaction');

  const version = store.dataVersion();
  let waiting: Promise<unknown>[] = [];
  await store.write(() => {
    t.throws(() => other.capture(() => undefined), StoreBusy);
    waiting = [other.write(() => undefined, 1)];
  });
  await t.rejects(Promise.all(waiting), StoreBusy);
  t.equal(store.dataVersion(), version, 'own commits do not count');
  await other.write(() => insertRecord(other, recordOf(zone, 'b.example.com', 1)));
  t.not(store.dataVersion(), version, 'those of others do');

  store.snapshot(() => {
    const before = countRecords(store, zone);
    writeNow(other, () => insertRecord(other, recordOf(zone, 'c.example.com', 1)));
    t.equal(countRecords(store, zone), before, 'a snapshot stands still');
  });
  t.equal(countRecords(store, zone), 2);

  const twice = recordOf(zone, 'd.example.com', 1);
  writeNow(store, () => insertRecord(store, twice));
  t.throws(
    () => writeNow(store, () => insertRecord(store, { ...twice, id: makeId(1, random) })),
    StoreConflict,
    'same owner, type and data',
  );
  t.throws(
    () => writeNow(store, () => insertRecord(store, recordOf(99, 'e.example.com', 1))),
    StoreConflict,
    'no such zone',
  );
  store.checkpoint();
});

t.test('a full disk and a damaged file', async (t) => {
  const directory = temporaryDirectory(t);
  const store = openMigrated(t, directory);
  const zone = addZone(store);
  const pages = store.prepareTuples<[], [number]>('PRAGMA page_count').get()![0];
  runSql(store, `PRAGMA max_page_count = ${pages}`);
  const fill = () =>
    store.write(() => {
      for (let i = 0; i < 6000; i++) insertRecord(store, recordOf(zone, `h${i}.example.com`, i % 250));
    });
  await t.rejects(fill(), StoreFull);
  runSql(store, 'PRAGMA max_page_count = 1000000');
  t.equal(countRecords(store, zone), 0);
  await fill();
  t.equal(countRecords(store, zone), 6000, 'works again when there is room');
  store.checkpoint();
  store.close();

  // Pages with rows; those with the schema stay as they are.
  const path = join(directory, DATABASE_FILE);
  const file = openSync(path, 'r+');
  const from = 4096 * Math.ceil((statSync(path).size * 3) / 4 / 4096);
  writeSync(file, Buffer.alloc(statSync(path).size - from, 0x5a), 0, undefined, from);
  closeSync(file);
  t.throws(() => openStore(directory).prepare('SELECT * FROM records ORDER BY owner_key').all(), {
    name: 'StoreCorrupt',
  });
});

t.test('backup', async (t) => {
  const store = openMigrated(t);
  const zone = addZone(store);
  writeNow(store, () => insertRecord(store, recordOf(zone, 'a.example.com', 1)));
  const target = temporaryDirectory(t);
  await store.backup(join(target, DATABASE_FILE));
  const copy = openStore(target, { readonly: true });
  t.equal(countRecords(copy, zone), 1);
  copy.close();
  await t.rejects(store.backup(join(target, DATABASE_FILE)), UserError, 'never overwrites');
});

t.test('a backup finishes while a writer is busy, and leaves nothing behind when it fails', async (t) => {
  const store = openMigrated(t);
  await store.write(() => putMeta(store, 'serving_settings', new Uint8Array(8 << 20)));
  const writer = openStore(dirname(store.path));
  const target = temporaryDirectory(t);
  let done = false;
  const copying = store.backup(join(target, DATABASE_FILE)).then(() => {
    done = true;
  });
  const MOST_WRITES = 300;
  let writes = 0;
  for (; !done && writes < MOST_WRITES; writes++) {
    await writer.write(() => putMeta(writer, 'first_run_done', writes));
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(writes < MOST_WRITES, `${writes} writes while it was copied`);
  await copying;
  writer.close();
  t.same(readdirSync(target), [DATABASE_FILE]);

  const closed = openStore(dirname(store.path));
  closed.close();
  await t.rejects(closed.backup(join(target, 'second.db')), UserError);
  t.same(readdirSync(target), [DATABASE_FILE], 'a failed one leaves no file');
});

t.test('signatures, read in parts', async (t) => {
  const store = openMigrated(t);
  const zone = addZone(store);
  writeNow(store, () => {
    insertDnssecZone(store, { zone, state: 'pending', phase: 'signed', denial: 'nsec', modified_at: 1 });
  });
  for (const count of [0, 1, 149, 150, 151, 700]) {
    const rows = Array.from({ length: count }, (_, i) => ({
      owner_key: Uint8Array.of(i >> 8, i, 0),
      octets: new Uint8Array(i % 300).fill(i),
    }));
    writeNow(store, () => {
      for (const { owner_key: key, octets } of rows) putSignatures(store, zone, key, null, octets);
    });
    t.ok(isDeepStrictEqual([...signaturesOfZone(store, zone, new Uint8Array(0))], rows), `each of ${count} once`);
  }
});

t.test("the publisher's reads", async (t) => {
  const store = openMigrated(t);
  const zone = addZone(store);
  const hidden = addZone(store, 'example.net', 0);
  writeNow(store, () => {
    for (const name of ['z.example.com', 'a.z.example.com', 'example.com', 'b.example.com', 'x.a.z.example.com']) {
      insertRecord(store, recordOf(zone, name, 1));
    }
    insertRecord(store, recordOf(zone, 'b.example.com', 2, { type: 16, proxied: 0, settings: '{"ipv4_only":true}' }));
    insertRecord(store, recordOf(hidden, 'b.example.com', 1));
  });
  const keys = [...storedRows(store, zone)].map(([key, type]) => `${Buffer.from(key).toString('latin1')}/${type}`);
  t.same(keys, ['/1', 'b\0/1', 'b\0/16', 'z\0/1', 'z\0a\0/1', 'z\0a\0x\0/1'], 'canonical order, then type');
  const own = storedRowsOfOwner(store, zone, ownerKeyOf(parseName('b.example.com.'), APEX));
  t.equal(own.length, 2);
  const octets = Uint8Array.from({ length: 256 }, (_, i) => i);
  const odd = { owner_key: concatBytes(octets.subarray(2), Uint8Array.of(0)), rdata: octets, settings: '{"x":"ü\\""}' };
  writeNow(store, () => {
    for (let i = 0; i < 4500; i++) {
      const rdata = concatBytes(octets.subarray(0, i % 256), Uint8Array.of(i >> 8, i));
      insertRecord(store, recordOf(hidden, `h${i}.example.com`, 1, { rdata, rdata_key: rdata }));
    }
    for (let i = 0; i < 2500; i++)
      insertRecord(store, recordOf(hidden, 'z.example.com', 1, { rdata_key: Uint8Array.of(i >> 8, i) }));
    insertRecord(store, recordOf(hidden, 'odd.example.com', 1, odd));
    insertRecord(store, recordOf(hidden, 'example.com', 1, { owner_key: new Uint8Array(0), rdata: new Uint8Array(0) }));
  });
  const plain = store.prepareTuples<[number], unknown[]>(
    `SELECT owner_key, type, ttl, proxied, rdata, settings FROM records WHERE zone = ?
     ORDER BY owner_key, type, rdata_key`,
  );
  const withBuffers = (row: readonly unknown[]): unknown[] =>
    row.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
  t.ok(
    isDeepStrictEqual([...storedRows(store, hidden)].map(withBuffers), plain.all(hidden)),
    'all octets, whole owners, every row once',
  );
  t.equal(own[1]![5], '{"ipv4_only":true}');
  const below = (name: string) => hasDescendants(store, zone, ownerKeyOf(parseName(name), APEX));
  t.ok(below('example.com.'));
  t.ok(below('z.example.com.'));
  t.ok(below('a.z.example.com.'));
  t.notOk(below('x.a.z.example.com.'));
  t.notOk(below('b.example.com.'));

  t.same(servedZones(store), [zone]);
  t.equal(findServedZone(store, hidden), undefined);
  t.equal(findServedZone(store, zone)?.name, 'example.com');
  writeNow(store, () => updateZone(store, hidden, { served: 1 }));
  t.same(servedZones(store), [zone, hidden]);
  t.throws(() => addZone(store, 'example.net', 1), StoreConflict, 'a name is served once');

  const row = findZone(store, zone)!;
  t.match(soaOfZone(row, ['ns1.dns.test', 'ns2.dns.test']), {
    mname: 'ns1.dns.test',
    rname: 'dns.dns.test',
    refresh: 10000,
    retry: 2400,
    expire: 604800,
    minimum: 1800,
    ttl: 3600,
  });
  t.equal(soaOfZone({ ...row, soa_mname: 'a.b', soa_retry: 7 }, []).mname, 'a.b');
});

t.test('the change log', async (t) => {
  const store = openMigrated(t);
  t.equal(lastChange(store), 0);
  const key = (name: string) => ownerKeyOf(parseName(name), APEX);
  const rr = (op: 0 | 1, name: string) => ({ op, owner_key: key(name), type: 1, ttl: 300, rdata: Uint8Array.of(1) });
  const common = { atUs: 1, zone: 5, serialFrom: 1, serialTo: 2, complete: true, actor: 'a', requestId: 'r' };
  const rrs = [rr(0, 'a.example.com.'), rr(1, 'a.example.com.'), rr(1, 'b.example.com.')];
  const append = (kind: ChangeKind, changed: readonly ChangedRR[]) =>
    writeNow(store, () => appendChange(store, { ...common, kind, rrs: changed }));
  const first = append('rrs', rrs);
  const second = append('settings', []);
  t.equal(second, first + 1);
  t.equal(lastChange(store), second);
  t.equal(firstChange(store), first);
  t.same(
    changesAfter(store, first, 10).map(({ kind }) => kind),
    ['settings'],
  );
  t.equal(changesAfter(store, 0, 1).length, 1);
  t.same(
    touchedOwners(store, first).map((owner) => Buffer.from(owner).toString('latin1')),
    ['a\0', 'b\0'],
  );
  for (const count of [0, 1, 7, 8, 9, 16, 23]) {
    const many = Array.from({ length: count }, (_, i): ChangedRR => {
      return { op: i % 2 === 0 ? 0 : 1, owner_key: Buffer.from(`n${i}\0`), type: 1, ttl: i, rdata: Buffer.of(i) };
    });
    const [row] = changesAfter(store, append('rrs', many) - 1, 1);
    const listed = [0, 1].flatMap((op) => many.filter((rr) => rr.op === op));
    t.same(rrsOfChange(store, row!), listed, `${count} records`);
  }
  const zeros = parseName(
    `${['\\000', '\\001', '\\000'].map((octet) => octet.repeat(63)).join('.')}.${'\\000'.repeat(40)}.example.com.`,
  );
  const keys = [zeros, zeros.subarray(64), zeros.subarray(128)].map((name) => ownerKeyOf(name, APEX));
  const long = [...[254, 255, 256].map((length) => Buffer.alloc(length, 65)), ...keys];
  t.ok(long.some(({ length }) => length > 400));
  const owners = long.map(
    (owner_key): ChangedRR => ({ ...rr(1, 'a.example.com.'), rdata: Buffer.of(1), owner_key: Buffer.from(owner_key) }),
  );
  const [longest] = changesAfter(store, append('rrs', owners) - 1, 1);
  t.same(rrsOfChange(store, longest!), owners, 'long owner keys');
});

t.test('nobody is told of commits that wrote only objects', async (t) => {
  const told: boolean[] = [];
  const store = openStore(temporaryDirectory(t), { onCommit: (isFollowed) => told.push(isFollowed) });
  t.teardown(() => store.close());
  migrate(store, clock, random);
  t.ok(told.length > 0 && told.every(Boolean), 'migrations');
  const owner = { id: makeId(1, random), name: 'Main', type: 'standard', created_at: 1 } as const;
  const usual = { jurisdiction: 'default', location: null, storage_class: 'Standard', created_at: 1 } as const;
  const addBucket = (): number => insertBucket(store, { account: insertAccount(store, owner), name: 'b', ...usual });
  const bucket = writeNow(store, addBucket);
  const put = (key: string): number =>
    insertObject(
      store,
      {
        ...{
          bucket,
          key,
          version: key,
          size: 1,
          md5: Buffer.alloc(16),
          storage_class: 'Standard',
          http_metadata: '{}',
        },
        ...{ custom_metadata: '{}', metadata_size: 0, uploaded_at: 1, blob: null, upload: null, parts: null },
        ...{ checksum: null, crc32: null },
      },
      Buffer.of(1),
    );
  const outcome = async (work: () => unknown): Promise<boolean[]> => {
    told.length = 0;
    await store.write(work);
    return told;
  };
  let first = 0;
  t.same(await outcome(() => (first = put('a'))), [false]);
  t.same(await outcome(() => removeObject(store, first)), [false]);
  const both = (key: string): void => {
    putMeta(store, 'first_run_done', 1);
    put(key);
  };
  t.same(await outcome(() => both('b')), [true], 'an object and something else');
  t.same(await outcome(() => put('c')), [false], 'each transaction begins anew');
  t.same(await outcome(() => store.part(() => both('d'))), [true]);
});

t.test('a write-ahead log that is cut or removed is noticed', async (t) => {
  const directory = temporaryDirectory(t);
  let note = (): void => {};
  const store = openStore(directory, { onCommit: () => note() });
  t.teardown(() => store.close());
  migrate(store, clock, random);
  const failures: unknown[] = [];
  const followed = await followNewestChange(store, 1, (error) => failures.push(error));
  t.equal(followed.loss, undefined, 'a new directory has lost nothing');
  note = followed.note;
  const zone = addZone(store);
  const commitChange = (): void => {
    const change = { atUs: 1, kind: 'rrs', serialFrom: 1, serialTo: 2, complete: true, actor: '', requestId: '' };
    writeNow(store, () => appendChange(store, { ...change, kind: 'rrs' as ChangeKind, zone, rrs: [] }));
  };
  for (let i = 0; i < 3; i++) commitChange();
  store.checkpoint();
  const checkpointed = lastChange(store);
  for (let i = 0; i < 40; i++) commitChange();
  const known = lastChange(store);
  /** What a killed process leaves, after somebody changed it. */
  const left = (change: (wal: string) => void): Store => {
    const copy = temporaryDirectory(t);
    for (const file of [DATABASE_FILE, `${DATABASE_FILE}-wal`, `${DATABASE_FILE}-newest`]) {
      copyFileSync(join(directory, file), join(copy, file));
    }
    change(join(copy, `${DATABASE_FILE}-wal`));
    const opened = openStore(copy);
    t.teardown(() => opened.close());
    return opened;
  };
  t.equal(findLostChanges(left(() => {})), undefined, 'a whole log');
  const removed = left((wal) => rmSync(wal));
  t.strictSame(findLostChanges(removed), { found: checkpointed, known }, 'removed');
  const cut = findLostChanges(left((wal) => truncateSync(wal, statSync(wal).size / 2)))!;
  t.ok(cut.found > checkpointed && cut.found < known && cut.known === known, `cut: ${JSON.stringify(cut)}`);
  const torn = left((wal) => writeFileSync(join(dirname(wal), `${DATABASE_FILE}-newest`), '00000'));
  t.equal(findLostChanges(torn), undefined, 'a number that is not whole says nothing');
  const next = await followNewestChange(removed, 5, (error) => failures.push(error));
  t.strictSame(next.loss, { found: checkpointed, known });
  t.strictSame(findNotedLoss(removed), { found: checkpointed, known, atMs: 5 });
  t.equal(findLostChanges(removed), undefined, 'noticed once');
  rmSync(join(dirname(removed.path), `${DATABASE_FILE}-newest`));
  mkdirSync(join(dirname(removed.path), `${DATABASE_FILE}-newest`));
  writeNow(removed, () => putMeta(removed, 'first_run_done', 1));
  t.strictSame(failures, []);
  writeNow(removed, () =>
    appendChange(removed, {
      atUs: 1,
      kind: 'rrs',
      serialFrom: 2,
      serialTo: 3,
      complete: true,
      actor: '',
      requestId: '',
      zone,
      rrs: [],
    }),
  );
  next.note();
  t.equal(failures.length, 1, 'a number that cannot be written is told, and harms no commit');
});

t.test('duplicate keys stay short', async (t) => {
  t.equal(rdataKeyOf(new Uint8Array(64)).length, 64);
  t.equal(rdataKeyOf(new Uint8Array(65)).length, 32);
  t.notSame(rdataKeyOf(new Uint8Array(65)), rdataKeyOf(new Uint8Array(66)));
});
