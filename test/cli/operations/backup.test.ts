/** Backup, restore and what tells that data was lost: the real program on data directories of its own. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createLocalStore } from '../../../src/bucket/local-store.js';
import { openStore } from '../../../src/store/driver.js';
import { allBuckets } from '../../../src/store/objects/buckets.js';
import { lastSweepOf, putBucketRules, setLastSweep } from '../../../src/store/objects/rules.js';
import { type Outcome, spawnCommand } from '../../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-'));
const DATA = join(directory, 'data');
t.teardown(() => rmSync(directory, { recursive: true }));

async function run(...args: readonly string[]): Promise<Outcome> {
  return runIn({}, ...args);
}

function runIn(environment: Record<string, string>, ...args: readonly string[]): Promise<Outcome> {
  return spawnCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '', ...environment }, args);
}

t.test('backup and restore, objects too', async (t) => {
  t.equal((await run('zone', 'create', 'example.com', '--init')).code, 0);
  t.equal((await run('bucket', 'create', 'pictures')).code, 0);
  const store = openStore(DATA);
  const clock = new SystemClock();
  const objects = createLocalStore({ store, clock, random: systemRandom, log: silentLogger() });
  const [bucket] = allBuckets(store);
  const large = Buffer.alloc(300_000, 'body');
  for (const key of ['one', 'two']) {
    await objects.put(bucket!.seq, key, Readable.from([large]), {
      httpMetadata: {},
      customMetadata: {},
      limit: 1 << 20,
    });
  }
  await store.write(() => {
    putBucketRules(store, bucket!.seq, 'lifecycle', { rules: '[]', revision: 'first', at: clock.nowUs() });
    setLastSweep(store, bucket!.seq, clock.nowUs());
  });
  store.close();
  t.match(JSON.parse((await run('doctor', '--json')).out), new Set([{ what: 'objects', verdict: 'ok' }]));

  const file = join(directory, 'whole.db');
  const written = await run('backup', file);
  t.match(written, { code: 0, out: /and .*whole\.db\.blobs \(2 bodies of objects, 600000 octets\)\n$/ });
  const target = join(directory, 'elsewhere');
  t.match(await run('restore', file, '--data-dir', target), {
    code: 0,
    out: /2 objects in files.*\n1 bucket has lifecycle rules: what is old by now is deleted from --lifecycle-interval/,
  });
  t.match((await run('zone', 'list', '--data-dir', target)).out, /example\.com +active/);
  const copy = openStore(target, { readonly: true });
  t.equal(lastSweepOf(copy, bucket!.seq), null, 'objects that a rule had deleted can be kept');
  const opened = await createLocalStore({ store: copy, clock, random: systemRandom, log: silentLogger() }).open(
    bucket!.seq,
    'two',
    'test',
  );
  t.ok(opened, 'the object is there');
  const octets: Buffer[] = [];
  for await (const piece of opened!.read()) octets.push(Buffer.from(piece));
  t.ok(Buffer.concat(octets).equals(large));
  copy.close();
  t.match(await run('restore', file, '--data-dir', target), { code: 1, err: /holds data already/ });

  const text = join(directory, 'text');
  writeFileSync(text, 'this is not a database, but long enough to look like one '.repeat(200));
  const none = join(directory, 'none');
  t.match(await run('restore', text, '--data-dir', none), {
    code: 1,
    err: `zoneplane: ${text} is not a backup of zoneplane\nName the file that \`zoneplane backup\` wrote.\n`,
  });
  t.notOk(existsSync(join(none, 'zoneplane.db')));

  const [body] = readdirSync(`${file}.blobs`, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const path = join(body!.parentPath, body!.name);
  const changed = Buffer.from(large);
  changed[7]! ^= 1;
  for (const [how, damage] of [
    ['is not what was stored', () => writeFileSync(path, changed)],
    ['is not whole', () => writeFileSync(path, large.subarray(1))],
    ['is missing', () => rmSync(path)],
  ] as const) {
    damage();
    const empty = join(directory, 'empty');
    t.match(await run('restore', file, '--data-dir', empty), {
      code: 1,
      err: new RegExp(`body of object \\w+ ${how}`),
    });
    t.notOk(existsSync(join(empty, 'zoneplane.db')), 'nothing is restored by halves');
  }
  const [own] = readdirSync(join(target, 'blobs'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  rmSync(join(own!.parentPath, own!.name));
  const examined = await run('doctor', '--json', '--data-dir', target);
  t.match(
    JSON.parse(examined.out),
    new Set([{ what: 'objects', verdict: 'fail', text: /1 of 2 objects are missing/ }]),
  );
});

t.test('an empty database beside other data was lost', async (t) => {
  const lost = mkdtempSync(join(directory, 'lost-'));
  writeFileSync(join(lost, 'zoneplane.db'), '');
  writeFileSync(join(lost, 'master.key'), 'k');
  for (const command of [['zone', 'create', 'example.com'], ['serve'], ['zone', 'list']]) {
    t.match(await run(...command, '--data-dir', lost), { code: 1, err: /zoneplane\.db is empty, but .*master\.key/ });
  }
  t.equal(statSync(join(lost, 'zoneplane.db')).size, 0);
});
