/** Backups that restore: what is accepted is whole, and what is not whole is refused or named. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { holdBodies } from '../../src/store/objects/held-bodies.js';
import { filesBelow, type Installation, makeInstallation, openObjects } from '../support/backups.js';
import { PROGRAM, runCommand } from '../support/commands.js';
import { runAndLosePower, runWithFault, skipWithoutStrace } from '../support/strace.js';

const LARGE = Buffer.alloc(300_000, 'large');
const SMALL = Buffer.from('small body');

/** With a small object and two large ones. */
async function withObjects(t: Test): Promise<Installation> {
  const made = await makeInstallation(t);
  const open = openObjects(made.data);
  await open.put('small', SMALL);
  await open.put('one', LARGE);
  await open.put('two', LARGE);
  open.close();
  return made;
}

function flip(path: string, at: number): void {
  const octets = readFileSync(path);
  octets[at]! ^= 1;
  writeFileSync(path, octets);
}

/** The place of a text in a file. */
const placeOf = (path: string, text: string): number => readFileSync(path).indexOf(text);

t.test('a backup beside writers restores to a state between its begin and its end', async (t) => {
  const { data, directory, run } = await makeInstallation(t);
  const open = openObjects(data);
  const bodyOf = (count: number): Buffer => Buffer.alloc(200_000, `version ${count} `);
  let count = 0;
  await open.put('changing', bodyOf(count));
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      await open.put('changing', bodyOf(count + 1));
      count++;
    }
  })();
  for (let round = 0; round < 6; round++) {
    const file = join(directory, `round-${round}.db`);
    const first = count;
    t.match(await run('backup', file), { code: 0, err: '' });
    const last = count + 1;
    const target = join(directory, `restored-${round}`);
    t.match(await run('restore', file, '--data-dir', target), { code: 0 });
    const copy = openObjects(target);
    const octets = await copy.get('changing');
    copy.close();
    const found = Number(/version (\d+)/.exec(octets!.toString('latin1'))![1]);
    t.ok(found >= first && found <= last, `${found} is between ${first} and ${last}`);
    t.ok(octets!.equals(bodyOf(found)));
  }
  isOver = true;
  await writing;
  await open.objects.sweep();
  t.equal(filesBelow(join(data, 'blobs')).length, 1, 'what was held is removed afterwards');
  const hold = holdBodies(data);
  await open.put('changing', bodyOf(count + 1));
  t.equal(await open.objects.sweep(), false);
  t.equal(filesBelow(join(data, 'blobs')).length, 2, 'and not while a backup runs');
  hold.release();
  t.equal(await open.objects.sweep(), true);
  t.equal(filesBelow(join(data, 'blobs')).length, 1);
  open.close();
});

t.test('the sums are those of sha256sum', async (t) => {
  const { directory, run } = await withObjects(t);
  t.match(await run('backup', join(directory, 'b.db')), { code: 0 });
  const checked = execFileSync('sha256sum', ['--check', 'b.db.sha256'], { cwd: directory, encoding: 'utf8' });
  t.equal(checked.match(/: OK$/gm)?.length, 3);
  t.match(await run('backup', 'verify', join(directory, 'b.db')), { code: 0, out: /whole: .* 2 bodies/ });
});

t.test('a damaged body: all else is backed up and restored, and it is named', async (t) => {
  const { data, directory, run } = await withObjects(t);
  const [first] = filesBelow(join(data, 'blobs'));
  flip(first!, 100_000);
  const file = join(directory, 'b.db');
  const written = await run('backup', file);
  t.match(written, { code: 1, err: /the body of object (one|two) is not what was stored \(bucket pictures\)/ });
  const target = join(directory, 'restored');
  t.match(await run('restore', file, '--data-dir', target), { code: 1, err: /is missing .*\n.*--without-damaged/ });
  t.notOk(existsSync(target));
  const restored = await run('restore', file, '--data-dir', target, '--without-damaged');
  t.match(restored, { code: 0, out: /1 object in files/, err: /not restored: the body of object (one|two)/ });
  t.match(await run('zone', 'list', '--data-dir', target), { out: /example\.com/ });
  t.match(await run('backup', join(directory, 'again.db'), '--data-dir', target), { code: 0 });
  flip(join(data, 'zoneplane.db'), placeOf(join(data, 'zoneplane.db'), 'small body'));
  t.match(await run('backup', join(directory, 'c.db')), { code: 1, err: /the body of object small is not what/ });
});

t.test('a damaged page of the database is not a backup', async (t) => {
  const { data, directory, run } = await withObjects(t);
  const database = join(data, 'zoneplane.db');
  const octets = readFileSync(database);
  // Cells of the page with the small body overlap.
  octets.fill(0xff, (placeOf(database, 'small body') & ~4095) + 8, (placeOf(database, 'small body') & ~4095) + 40);
  writeFileSync(database, octets);
  const file = join(directory, 'b.db');
  t.match(await run('backup', file), { code: 1, err: /the database is damaged: / });
  t.same(
    readdirSync(directory).filter((name) => name.startsWith('b.db')),
    [],
    'nothing is left behind',
  );
});

t.test('every changed octet of a backup is noticed', async (t) => {
  const { directory, run } = await withObjects(t);
  const file = join(directory, 'b.db');
  t.match(await run('backup', file), { code: 0 });
  const files = [file, `${file}.sha256`, ...filesBelow(`${file}.blobs`)];
  const target = join(directory, 'restored');
  for (const [index, path] of files.entries()) {
    const whole = readFileSync(path);
    for (let i = 0; i < 4; i++) {
      const at = path === file && i === 0 ? whole.indexOf('small body') : (whole.length * (2 * i + 1) + index) >> 3;
      flip(path, at);
      t.match(await run('backup', 'verify', file), { code: 1 }, `${path} at ${at}`);
      if (i === 0) t.match(await run('restore', file, '--data-dir', target), { code: 1 });
      flip(path, at);
    }
    truncateSync(path, whole.length - 1);
    t.match(await run('backup', 'verify', file), { code: 1 }, `${path} is cut`);
    rmSync(path);
    t.match(await run('backup', 'verify', file), { code: 1 }, `${path} is missing`);
    writeFileSync(path, whole);
  }
  t.match(await run('backup', 'verify', file), { code: 0 });
  const [body] = filesBelow(`${file}.blobs`);
  const link = join(directory, 'elsewhere');
  renameSync(body!, link);
  symlinkSync(link, body!);
  t.match(await run('backup', 'verify', file), { code: 1, err: /cannot be read/ }, 'a link is not a body');
  rmSync(body!);
  renameSync(link, body!);
  renameSync(`${file}.sha256`, join(directory, 'c.db.sha256'));
  renameSync(`${file}.blobs`, join(directory, 'c.db.blobs'));
  renameSync(file, join(directory, 'c.db'));
  t.match(await run('backup', 'verify', join(directory, 'c.db')), { code: 0, out: /was b\.db/ }, 'it may be renamed');
});

t.test('the log of another database is never replayed over a new one', async (t) => {
  const { directory, data, run } = await withObjects(t);
  const file = join(directory, 'b.db');
  t.match(await run('backup', file), { code: 0 });
  for (const name of ['zoneplane.db-wal', 'zoneplane.db-journal']) {
    const target = join(directory, `target-${name}`);
    mkdirSync(target, { mode: 0o700 });
    writeFileSync(join(target, name), 'changes of another database');
    for (const command of [['restore', file], ['zone', 'create', 'example.net', '--init'], ['serve']]) {
      const refused = await run(...command, '--data-dir', target);
      t.match(
        refused,
        { code: 1, err: /it has changes of a database that was lost\n.*move it away/ },
        command.join(' '),
      );
    }
    t.same(readdirSync(target), [name]);
    writeFileSync(join(target, name), '');
    t.match(await run('restore', file, '--data-dir', target), { code: 0 }, 'an empty one has none');
    t.match(await run('zone', 'list', '--data-dir', target), { out: /example\.com/ });
  }
  t.ok(existsSync(data));
});

t.test('an interruption at any step of a restoration', { skip: skipWithoutStrace }, async (t) => {
  const { directory, environment, run } = await withObjects(t);
  const file = join(directory, 'b.db');
  t.match(await run('backup', file), { code: 0 });
  const faults = [
    ['zoneplane.db.blobs', 'rename:signal=KILL'],
    ['zoneplane.db', 'rename:signal=KILL'],
    ['zoneplane.db', 'rename:error=EIO'],
    ['moving', 'openat:signal=KILL'],
    ['zoneplane.db.blobs', 'fsync:signal=KILL'],
  ] as const;
  for (const [index, [name, inject]] of faults.entries()) {
    const target = join(directory, `target-${index}`);
    const own = { ...environment, ZONEPLANE_DATA_DIR: target };
    const stopped = await runWithFault({ path: join(target, 'restoring', name), inject }, own, 'restore', file);
    t.not(stopped.code, 0, `${inject} of ${name}`);
    t.notOk(existsSync(join(target, 'zoneplane.db')));
    if (inject.endsWith('KILL')) {
      t.match(await runCommand(own, 'serve'), { code: 1, err: /a restoration into .* was interrupted/ });
    } else t.notOk(existsSync(join(target, 'blobs')), 'nothing of it is left');
    t.match(await runCommand(own, 'restore', file), { code: 0 }, 'the next attempt begins anew');
    t.match(await runCommand(own, 'zone', 'list'), { out: /example\.com/ });
    t.equal(filesBelow(join(target, 'blobs')).length, 2);
    t.notOk(existsSync(join(target, 'restoring')));
  }
});

t.test('what was said to be written or restored survives a power failure', { skip: skipWithoutStrace }, async (t) => {
  const { directory, data, environment } = await withObjects(t);
  // So many that their file system is forced to the disk whole.
  const open = openObjects(data);
  for (let index = 0; index < 60; index++) await open.put(`one of many ${index}`, Buffer.alloc(70_000, index));
  open.close();
  const file = join(directory, 'made', 'b.db');
  mkdirSync(join(directory, 'made'));
  const written = await runAndLosePower(environment, ['backup', file], join(directory, 'made'), 'wrote');
  t.match(written, { code: 0 });
  t.same(
    written.lost.filter((what) => !what.includes('partial')),
    [],
  );
  const target = join(directory, 'restored', 'deep');
  const restored = await runAndLosePower(
    environment,
    ['restore', file, '--data-dir', target],
    join(directory, 'restored'),
    'restored 1 zone',
  );
  t.match(restored, { code: 0 });
  t.same(
    restored.lost.filter((what) => !/restoring|\.lock$/.test(what)),
    [],
  );
});

t.test('places that a backup does not take', async (t) => {
  const { directory, data, run } = await withObjects(t);
  const file = join(directory, 'b.db');
  for (const place of ['zoneplane.db-wal', 'zoneplane.db-newest', 'blobs/00']) {
    t.match(
      await run('backup', join(data, place)),
      { code: 1, err: /(own files|does not exist|exists already)/ },
      place,
    );
  }
  t.match(await run('backup', join(data, 'own.db')), { code: 0 }, 'another name there is allowed');
  mkdirSync(`${file}.blobs`);
  t.match(await run('backup', file), { code: 1, err: /b\.db\.blobs exists already/ });
  rmSync(`${file}.blobs`, { recursive: true });
  const both = await Promise.all([run('backup', file), run('backup', file)]);
  t.same(both.map(({ code }) => code).toSorted(), [0, 1], 'two at once: one of them');
  t.match(await run('backup', 'verify', file), { code: 0 });
  t.match(await run('restore', file), { code: 1, err: /holds data already/ });
});

t.test('backups of before there were sums', async (t) => {
  const { directory, data, run } = await withObjects(t);
  const file = join(directory, 'old.db');
  const { store, close } = openObjects(data);
  await store.backup(file);
  close();
  cpSync(join(data, 'blobs'), `${file}.blobs`, { recursive: true });
  t.match(await run('backup', 'verify', file), { code: 0, err: /has no list of sums/ });
  const target = join(directory, 'restored');
  t.match(await run('restore', file, '--data-dir', target), { code: 0, err: /has no list of sums/ });
  t.match(await run('zone', 'list', '--data-dir', target), { out: /example\.com/ });
  flip(filesBelow(`${file}.blobs`)[0]!, 9);
  t.match(await run('backup', 'verify', file), { code: 1, err: /is not what was stored/ });
  rmSync(`${file}.blobs`, { recursive: true });
  t.match(await run('backup', join(directory, 'b.db')), { code: 0 });
  rmSync(join(directory, 'b.db.sha256'));
  t.match(await run('backup', 'verify', join(directory, 'b.db')), { code: 1, err: /b\.db\.sha256 is missing/ });
});

t.test('a backup of a preview with older tables is refused', async (t) => {
  const { directory, data, run } = await makeInstallation(t);
  const file = join(directory, 'preview.db');
  const { store, close } = openObjects(data);
  store.alter((alter) => alter('PRAGMA user_version = 196'));
  await store.backup(file);
  close();
  const sentence = /preview\.db was written by a preview of zoneplane whose tables are older \(version 196;/;
  t.match(await run('backup', 'verify', file), { code: 1, err: sentence });
  const target = join(directory, 'restored');
  t.match(await run('restore', file, '--data-dir', target), { code: 1, err: sentence });
  t.notOk(existsSync(target));
});

t.test('a stream is a tar archive of the same files', async (t) => {
  const { directory, data, environment, run } = await withObjects(t);
  const unpacked = join(directory, 'unpacked');
  mkdirSync(unpacked);
  const send = `"${process.execPath}" "${PROGRAM}" backup --to -`;
  const env = { PATH: process.env['PATH'], ...environment };
  execFileSync('sh', ['-c', `${send} | tar --extract --directory "${unpacked}"`], { env });
  t.match(await run('backup', 'verify', join(unpacked, 'zoneplane.db')), { code: 0, out: /2 bodies/ });
  t.same(execFileSync('sha256sum', ['--check', '--quiet', 'zoneplane.db.sha256'], { cwd: unpacked }).length, 0);
  t.match(await run('restore', join(unpacked, 'zoneplane.db'), '--data-dir', join(directory, 'new')), { code: 0 });
  const cut = execFileSync('sh', ['-c', `${send} 2>&1 >"${join(directory, 'archive')}"; echo $?`], {
    env,
    encoding: 'utf8',
  });
  t.equal(cut, '0\n');
  truncateSync(join(directory, 'archive'), 700_000);
  const half = join(directory, 'half');
  mkdirSync(half);
  t.throws(() => execFileSync('tar', ['xf', join(directory, 'archive'), '-C', half], { stdio: 'ignore' }));
  t.match(await run('restore', join(half, 'zoneplane.db'), '--data-dir', join(directory, 'none')), { code: 1 });
  t.notOk(existsSync(join(data, 'streaming')));
  t.match(await run('backup'), { code: 2, err: /name one file to write/ });
});

t.test('nobody stays signed in through a restoration', async (t) => {
  const { data, directory, run } = await makeInstallation(t);
  t.match(await run('dashboard', 'link'), { code: 0 });
  t.match(await run('user', 'link', 'admin@localhost'), { code: 0 });
  const count = (place: string): number[] => {
    const { store, close } = openObjects(place);
    const tables = ['sessions', 'login_links', 'user_links'];
    const counts = tables.map((table) => store.prepareTuples<[], [number]>(`SELECT count(*) FROM ${table}`).get()![0]);
    close();
    return counts;
  };
  const { store, close } = openObjects(data);
  const insert = `INSERT INTO sessions (id, hash, user, how, proved_at, address, user_agent, created_at, last_used_at, expires_at)
    SELECT zeroblob(16), zeroblob(32), seq, 'password', 0, '', '', 0, 0, 9000000000000000 FROM users`;
  await store.write(() => store.prepare<[]>(insert).run());
  close();
  t.strictSame(count(data), [1, 1, 1]);
  const file = join(directory, 'b.db');
  t.match(await run('backup', file), { code: 0 });
  const target = join(directory, 'restored');
  t.match(await run('restore', file, '--data-dir', target), { code: 0 });
  t.strictSame(count(target), [0, 0, 0]);
});
