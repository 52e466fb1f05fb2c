/**
 * Secrets at rest: envelopes, the master key's file, refusal without the right key, and replacing the key while other
 * processes work or are killed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { equalBytes, toBase64, toHex } from '../../src/base/bytes.js';
import { sleep } from '../../src/base/clock.js';
import { UserError } from '../../src/base/errors.js';
import { systemRandom } from '../../src/base/random.js';
import { DATABASE_FILE, openStore, type Store } from '../../src/store/driver.js';
import { catchUp, createLogWriter } from '../../src/store/log-writer.js';
import { ALL_PURPOSES, countSealed, SEALED_COLUMNS } from '../../src/store/sealed-columns.js';
import { deriveKey, keyIdOf, openWith, sealWith } from '../../src/vault/envelope.js';
import { fileKeys, type MasterKeys, settingKeys } from '../../src/vault/master-key.js';
import { rotateMasterKey } from '../../src/vault/rotate.js';
import { vaultStatus } from '../../src/vault/status.js';
import { unlockVault } from '../../src/vault/unlock.js';
import type { Vault } from '../../src/vault/vault.js';
import { MemoryLog } from '../support/memory-log.js';
import { seededRandom } from '../support/seeded-random.js';
import { runSql } from '../support/write-now.js';
import { addSealed, COLUMNS, countOpened, KEYS, openWithTable, secretOf, TOKENS } from './fixture.js';

const MASTER = Uint8Array.from({ length: 32 }, (_, i) => i);

interface Place {
  readonly directory: string;
  readonly file: string;
  readonly keys: MasterKeys;
}

function newPlace(t: Test): Place {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-vault-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'master.key');
  return { directory, file, keys: fileKeys(file) };
}

function open(t: Test, { directory }: Place): Store {
  const store = openWithTable(directory);
  t.teardown(() => store.close());
  return store;
}

const unlock = (store: Store, keys: MasterKeys, purposes = ALL_PURPOSES): Promise<Vault> =>
  unlockVault({ store, keys, random: systemRandom, purposes, columns: COLUMNS });

const rotate = (store: Store, keys: MasterKeys) =>
  rotateMasterKey({ store, keys, random: systemRandom, columns: COLUMNS });

async function refusal(work: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    if (error instanceof UserError) return `${error.message} | ${error.remedy}`;
    throw error;
  }
  throw new Error('was accepted');
}

async function fill(store: Store, vault: Vault, rows: number): Promise<void> {
  await store.write(() => {
    for (let row = 1; row <= rows; row++) addSealed(store, vault, row);
  });
}

t.test('an envelope opens only complete, in its place and with its key', async (t) => {
  const key = deriveKey(MASTER, ALL_PURPOSES);
  const tls = key.byPurpose.get('tls')!;
  const plain = Buffer.from('a private key');
  const place = { column: KEYS, row: 7 };
  const sealed = sealWith(tls, key.id, place, plain, systemRandom);
  t.equal(sealed.length, plain.length + 37);
  t.ok(equalBytes(openWith(tls, place, sealed)!, plain));
  t.ok(equalBytes(keyIdOf(sealed)!, key.id));
  t.notOk(Buffer.from(sealed).includes(plain));
  for (let at = 0; at < sealed.length; at++) {
    const bent = Uint8Array.from(sealed);
    bent[at]! ^= 1;
    t.equal(openWith(tls, place, bent), undefined, `octet ${at} is guarded`);
  }
  for (const length of [0, 1, 9, 36, sealed.length - 1]) {
    t.equal(openWith(tls, place, sealed.subarray(0, length)), undefined, `cut to ${length} octets`);
  }
  const elsewhere = [
    { column: KEYS, row: 8 },
    { column: KEYS, row: '7' },
    { column: KEYS, row: Uint8Array.of(7) },
    { column: TOKENS, row: 7 },
    { column: { ...KEYS, table: 'others' }, row: 7 },
    { column: { ...KEYS, purpose: 'acme' as const }, row: 7 },
  ];
  for (const other of elsewhere) t.equal(openWith(tls, other, sealed), undefined, JSON.stringify(other));
  t.equal(openWith(key.byPurpose.get('acme')!, place, sealed), undefined, 'a key of another purpose');
  const again = sealWith(tls, key.id, place, plain, systemRandom);
  t.notSame(again.subarray(9, 21), sealed.subarray(9, 21), 'a nonce is never used twice');
  t.ok(
    equalBytes(openWith(tls, place, sealWith(tls, key.id, place, new Uint8Array(0), systemRandom))!, new Uint8Array(0)),
  );
});

t.test('the form is stable: values sealed by an older version open', async (t) => {
  const key = deriveKey(MASTER, ALL_PURPOSES);
  t.equal(toHex(key.id), '2ecac55e87396523');
  const sealed = sealWith(
    key.byPurpose.get('tls')!,
    key.id,
    { column: KEYS, row: 'r' },
    Buffer.from('x'),
    seededRandom(1),
  );
  t.equal(toHex(sealed), '012ecac55e87396523840095b322eb4623ee040092e4fa5525151889a780f7e93f5a3ef582b8');
  const ids = new Set(ALL_PURPOSES.map((purpose) => toHex(key.byPurpose.get(purpose)!.export())));
  t.equal(ids.size, ALL_PURPOSES.length, 'each purpose has a key of its own');
});

t.test('the first start creates a key that only its owner can read', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  const vault = await unlock(store, place.keys);
  t.equal(statSync(place.file).mode & 0o777, 0o600);
  t.match(readFileSync(place.file, 'utf8'), /^[0-9a-f]{64}\n$/);
  await fill(store, vault, 3);
  t.equal(countOpened(store, await unlock(store, place.keys)), 3, 'the next start opens the same');
  t.notOk(existsSync(`${place.file}.new`));
});

t.test('an unusable file is refused with a remedy, and never shown', async (t) => {
  const key = 'ab'.repeat(32);
  const cases: [content: string, mode: number, expected: RegExp][] = [
    [`${key}\n`, 0o644, /open to other users \(mode 0644\) \| chmod 600 .*vault rotate/],
    [`${key}\n`, 0o640, /open to other users/],
    [`${key}\n`, 0o602, /open to other users/],
    ['', 0o600, /must hold 32 octets.* \| Restore the file/],
    [`${key.slice(2)}\n`, 0o600, /must hold 32 octets/],
    [`${key}ab\n`, 0o600, /must hold 32 octets/],
    [`${key}\nnot a key\n`, 0o600, /must hold 32 octets/],
    [`${toBase64(MASTER).slice(0, 40)}\n`, 0o600, /must hold 32 octets/],
    [`${key}\n`.repeat(1000), 0o600, /must hold 32 octets/],
  ];
  const place = newPlace(t);
  const store = open(t, place);
  for (const [content, mode, expected] of cases) {
    writeFileSync(place.file, content, { mode });
    chmodSync(place.file, mode);
    const text = await refusal(unlock(store, place.keys));
    t.match(text, expected);
    t.notMatch(text, key.slice(0, 20));
    rmSync(place.file);
  }
  mkdirSync(place.file);
  t.match(await refusal(unlock(store, place.keys)), /must hold 32 octets|EISDIR/);
  rmSync(place.file, { recursive: true });
  for (const content of [`${key}\n`, key, `${key}\r\n`, toBase64(MASTER)]) {
    writeFileSync(place.file, content, { mode: 0o600 });
    t.equal(place.keys.read()?.length, 1, 'hexadecimal or base 64, with and without a line break');
  }
});

t.test(
  'a file of another user is refused',
  { skip: process.geteuid?.() !== 0 && 'only root can give files away' },
  async (t) => {
    const place = newPlace(t);
    writeFileSync(place.file, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
    chownSync(place.file, 12345, 0);
    t.match(
      await refusal(unlock(open(t, place), place.keys)),
      /belongs to user 12345, but zoneplane runs as user 0 \| /,
    );
  },
);

t.test('nothing opens without the right key', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  await unlock(store, place.keys);
  rmSync(place.file);
  await unlock(store, place.keys);
  t.ok(existsSync(place.file), 'nothing was sealed yet: a new key does no harm');

  await fill(store, await unlock(store, place.keys), 1);
  const right = readFileSync(place.file);
  rmSync(place.file);
  t.match(await refusal(unlock(store, place.keys)), /is missing, but secrets .* \| Restore it from your copy/);
  t.notOk(existsSync(place.file), 'and none is made');
  t.match(await refusal(() => vaultStatus(store, place.keys, COLUMNS)), /is missing/);
  t.match(await refusal(rotate(store, place.keys)), /is missing/);

  writeFileSync(place.file, `${toHex(MASTER)}\n`, { mode: 0o600 });
  t.match(
    await refusal(unlock(store, place.keys)),
    /not the one .*needed: key [0-9a-f]{16}; found: [0-9a-f]{16}\) \| Restore the/,
  );
  t.match(await refusal(rotate(store, place.keys)), /not the one/);
  t.match(
    await refusal(unlock(store, settingKeys([MASTER], 'ZONEPLANE_MASTER_KEY'))),
    /of ZONEPLANE_MASTER_KEY is not the one .* \| Set the key .* a comma and the old key/,
  );
  t.equal(readFileSync(place.file, 'utf8'), `${toHex(MASTER)}\n`, 'the file is left alone');

  writeFileSync(place.file, right);
  t.equal(countOpened(store, await unlock(store, place.keys)), 1);
});

t.test('a process opens only values for which it has keys', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  await fill(store, await unlock(store, place.keys), 2);
  const edge = await unlock(store, place.keys, ['tls']);
  const row = store
    .prepare<[], { sealed: Uint8Array; token: Uint8Array }>('SELECT * FROM test_keys WHERE id = 2')
    .get()!;
  t.equal(Buffer.from(edge.open(KEYS, 2, row.sealed)).toString(), secretOf(2));
  t.throws(() => edge.open(TOKENS, 2, row.token), { code: 'withheld' });
  t.throws(() => edge.open(KEYS, 1, row.sealed), { code: 'damaged' });
  t.throws(() => edge.open(KEYS, 2, Uint8Array.of(1, 2, 3)), { code: 'damaged' });
  t.throws(() => edge.seal({ ...KEYS, column: 'other' }, 2, MASTER), /listed among the sealed columns/);
});

t.test('rotation: everything is resealed, and running processes continue', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  const running = await unlock(open(t, place), place.keys);
  await fill(store, await unlock(store, place.keys), 450);
  const before = readFileSync(place.file, 'utf8');
  t.equal(countOpened(store, running), 450);
  const old = settingKeys(place.keys.read()!, 'kept');

  const rotation = await rotate(store, place.keys);
  t.match(rotation, { resealed: 450 + 225, damaged: 0, resumed: false });
  const after = readFileSync(place.file, 'utf8');
  t.match(after, /^[0-9a-f]{64}\n$/, 'the old key is gone');
  t.not(after, before);
  t.equal(statSync(place.file).mode & 0o777, 0o600);
  t.equal(countOpened(store, running), 450, 'it read the new key by itself');
  await store.write(() => addSealed(store, running, 451));
  t.match(vaultStatus(store, place.keys, COLUMNS), {
    key: rotation.key,
    oldKeys: 0,
    columns: [
      { values: 451, old: 0 },
      { values: 225, old: 0 },
    ],
  });
  t.match(await refusal(unlock(store, old)), /not the one/, 'the old key opens nothing any more');
});

t.test('rotation of a setting is done by the operator, step by step', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  const [first, second] = [systemRandom.bytes(32), systemRandom.bytes(32)];
  const setting = (...keys: Uint8Array[]) => settingKeys(keys, 'ZONEPLANE_MASTER_KEY');
  await fill(store, await unlock(store, setting(first)), 5);
  t.notOk(existsSync(place.file), 'a file is not made where a setting gives the key');
  t.match(
    await refusal(rotate(store, setting(first))),
    /so only you can replace it \| Set it to the new key, a comma and the current key/,
  );
  t.match(await refusal(unlock(store, setting(second))), /not the one/);
  t.match(await refusal(rotate(store, setting(second, first))), /has not been started with the first key/);
  const vault = await unlock(store, setting(second, first));
  t.equal(countOpened(store, vault), 5);
  t.match(vaultStatus(store, setting(second, first), COLUMNS), { oldKeys: 1, columns: [{ old: 5 }, { old: 2 }] });
  t.match(await rotate(store, setting(second, first)), { resealed: 7 });
  t.equal(countOpened(store, await unlock(store, setting(second))), 5);
});

t.test('rotation in a cluster: nodes are restarted one by one, and each opens what the others seal', async (t) => {
  const directories = [newPlace(t).directory, newPlace(t).directory];
  openWithTable(directories[0]!).close();
  copyFileSync(join(directories[0]!, DATABASE_FILE), join(directories[1]!, DATABASE_FILE));
  const log = new MemoryLog();
  const [a, b] = directories.map((directory) => {
    const store = openStore(directory, { writer: (own) => createLogWriter(own, log, systemRandom) });
    t.teardown(() => store.close());
    return store;
  }) as [Store, Store];
  const [first, second] = [systemRandom.bytes(32), systemRandom.bytes(32)];
  const setting = (...keys: Uint8Array[]) => settingKeys(keys, 'ZONEPLANE_MASTER_KEY');
  let row = 0;
  /** A start of each node with these keys; both then open what both have sealed, before and after. */
  const restart = async (onA: MasterKeys, onB: MasterKeys): Promise<void> => {
    const started: [Store, Vault][] = [];
    for (const [store, keys] of [
      [a, onA],
      [b, onB],
    ] as const) {
      await catchUp(store, log);
      started.push([store, await unlock(store, keys)]);
    }
    for (const [store, vault] of started) {
      row++;
      await store.write(() => addSealed(store, vault, row));
    }
    for (const [store, vault] of started) {
      await catchUp(store, log);
      t.equal(countOpened(store, vault), row);
    }
  };
  await restart(setting(first), setting(first));
  await restart(setting(first, second), setting(first));
  await restart(setting(first, second), setting(first, second));
  await restart(setting(second, first), setting(first, second));
  await restart(setting(second, first), setting(second, first));
  t.ok((await rotate(a, setting(second, first))).resealed > 0);
  await restart(setting(second), setting(second, first));
  await restart(setting(second), setting(second));
});

t.test('a value that no key opens prevents the old key from being dropped', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  await fill(store, await unlock(store, place.keys), 3);
  runSql(
    store,
    `UPDATE test_keys SET sealed = CAST(substr(sealed, 1, 40) ||
         CASE substr(sealed, 41, 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(sealed, 42) AS BLOB) WHERE id = 2`,
  );
  t.match(await rotate(store, place.keys), { resealed: 3, damaged: 1 });
  t.equal(place.keys.read()?.length, 2);
  runSql(store, 'DELETE FROM test_keys WHERE id = 2');
  t.match(await rotate(store, place.keys), { resealed: 0, damaged: 0, resumed: true });
  t.equal(place.keys.read()?.length, 1);
});

t.test(
  'a rotation that fails at any step leaves everything readable, and continues when it is run again',
  async (t) => {
    for (let step = 1; ; step++) {
      const place = newPlace(t);
      const store = open(t, place);
      await fill(store, await unlock(store, place.keys), 210);
      let left = step;
      const fail = (): void => {
        if (--left === 0) throw new Error('killed');
      };
      const keys: MasterKeys = {
        ...place.keys,
        replace(masters) {
          fail();
          place.keys.replace!(masters);
          fail();
        },
      };
      const brittle: Store = Object.assign(Object.create(store), {
        write: async <T>(work: () => T): Promise<T> => {
          fail();
          const result = await store.write(work);
          fail();
          return result;
        },
      });
      const died = await rotate(brittle, keys).then(
        () => false,
        () => true,
      );
      if (!died) {
        t.equal(step, 17, 'two writes of the file, and every write of the database, before and after');
        break;
      }
      const vault = await unlock(store, place.keys);
      t.equal(countOpened(store, vault), 210, `opens after step ${step}`);
      await store.write(() => addSealed(store, vault, 1000));
      await rotate(store, place.keys);
      t.equal(place.keys.read()?.length, 1);
      t.equal(countOpened(store, await unlock(store, place.keys)), 211);
    }
  },
);

t.test('a rotation that is killed repeatedly comes to its end', { timeout: 300_000 }, async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  await fill(store, await unlock(store, place.keys), 3000);
  const before = place.keys.read()![0]!;
  const program = resolve('build/test/vault/rotate-child.js');
  let kills = 0;
  // On a slow machine it takes seconds, and need not be killed a hundred times.
  for (let delayMs = 0; ; delayMs = Math.max(40, delayMs * 1.25)) {
    const child = spawn(process.execPath, [program, place.directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit') as Promise<[number | null]>;
    await once(child.stdout, 'data');
    await sleep(delayMs);
    child.kill('SIGKILL');
    const [code] = await ended;
    t.equal(countOpened(store, await unlock(store, place.keys)), 3000);
    if (code === 0) break;
    kills++;
  }
  t.ok(kills > 2, `killed ${kills} times`);
  t.equal(place.keys.read()?.length, 1);
  t.notOk(equalBytes(place.keys.read()![0]!, before));
  t.ok(COLUMNS.every((column) => countSealed(store, column).length === 1));
});

t.test('other processes seal while the key is being replaced', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  const other = open(t, place);
  await fill(store, await unlock(store, place.keys), 1000);
  const vault = await unlock(other, place.keys);
  let row = 1000;
  let done = false;
  const writing = (async () => {
    while (!done) {
      await other.write(() => addSealed(other, vault, ++row));
      await sleep(1);
    }
  })();
  await rotate(store, place.keys);
  await rotate(store, place.keys);
  done = true;
  await writing;
  t.ok(row > 1000);
  t.equal(countOpened(store, await unlock(store, place.keys)), row);
  t.equal(place.keys.read()?.length, 1);
});

t.test('no plain secrets in database, write-ahead log and backup; the master key in none of them', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  await fill(store, await unlock(store, place.keys), 50);
  const masters = [...place.keys.read()!];
  await rotate(store, place.keys);
  masters.push(...place.keys.read()!);
  await store.backup(join(place.directory, 'backup.db'));
  const files = readdirSync(place.directory).filter((name) => name !== 'master.key');
  t.ok(files.includes('zoneplane.db-wal') && files.includes('backup.db'));
  for (const name of files) {
    const octets = readFileSync(join(place.directory, name));
    t.equal(octets.indexOf('top-secret-of-row'), -1, name);
    for (const master of masters) {
      for (const form of [Buffer.from(master), toHex(master), toBase64(master)])
        t.equal(octets.indexOf(form), -1, name);
    }
  }
});

t.test('every listed column exists and has a unique identifier', async (t) => {
  const place = newPlace(t);
  const store = open(t, place);
  for (const { table, id, column } of SEALED_COLUMNS) {
    const columns = store
      .prepare<[string], { name: string; pk: number }>('SELECT * FROM pragma_table_info(?)')
      .all(table);
    t.ok(
      columns.some(({ name }) => name === column),
      `${table}.${column}`,
    );
    const unique = store
      .prepare<[string], { name: string }>('SELECT name FROM pragma_index_list(?) WHERE "unique" = 1')
      .all(table)
      .map(({ name }) => store.prepare<[string], { name: string }>('SELECT name FROM pragma_index_info(?)').all(name));
    const isKey = columns.filter(({ pk }) => pk > 0).length === 1 && columns.some((c) => c.pk === 1 && c.name === id);
    t.ok(isKey || unique.some((names) => names.length === 1 && names[0]!.name === id), `${table}.${id} is unique`);
  }
});
