/**
 * The log in a real PostgreSQL, and copies that follow it.
 *
 * Seen failing on 2026-11-22 with the handling taken out: «two nodes with 50 writers» where who was beaten is not told; «an
 * answer that is lost» without the look-up of the entry by its identifier; «killed after its append» where a start applies
 * nothing; «whole or not at all» without the transaction of an entry; «every time» without the look before a request; «a role
 * that follows» with more rights; «what is older goes» where too much is pruned; «an entry … stops the copy» where a fresh copy
 * is replaced again for the same entry, or changed rows are not counted.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import t, { type Test } from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createConnection } from '../../src/cluster/connection.js';
import { allowFollower } from '../../src/cluster/init.js';
import { claimName, tellNode } from '../../src/cluster/nodes.js';
import { isToBeReplaced, type OpenCopy } from '../../src/cluster/open-copy.js';
import { followLog } from '../../src/cluster/replica.js';
import { makeSnapshot } from '../../src/cluster/snapshots.js';
import { openStore } from '../../src/store/driver.js';
import { catchUp } from '../../src/store/log-writer.js';
import { findMeta, putMeta } from '../../src/store/meta.js';
import { SCHEMA_VERSION } from '../../src/store/migrations/migration.js';
import { migrationTo, startRecording } from '../../src/store/recording.js';
import { beginCluster, clock, contentIn, makeDirectory, openNode } from '../support/cluster-copies.js';
import { count, increase } from '../support/counter.js';
import { startCuttingProxy } from '../support/cutting-proxy.js';
import { NOTHING_WRITTEN } from '../support/memory-log.js';
import { type Postgres, skipWithoutPostgres, startPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';

/** The name of the node among the values of an append, as PostgreSQL's protocol has it: octets, then their text. */
const OF_APPEND = '\0\0\0\x03cut';

const READS = 1000;

t.test('the log in PostgreSQL', { skip: skipWithoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const first = await beginCluster(t, postgres.url);

  t.test('two clusters that begin at once in one database: one does', async (t) => {
    await postgres.query('CREATE DATABASE twice');
    const url = postgres.url.replace(/\/postgres$/, '/twice');
    const begun = await Promise.allSettled([beginCluster(t, url), beginCluster(t, url)]);
    t.strictSame(begun.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    t.match(
      begun.find(({ status }) => status === 'rejected'),
      { reason: /there is a cluster already in this PostgreSQL database/ },
    );
    const own = createConnection({ url, name: 'test', clock });
    t.teardown(() => own.close());
    // The other comes between the first entry and the first snapshot.
    await own.query('DELETE FROM zoneplane.pieces');
    await own.query('DELETE FROM zoneplane.snapshots');
    await t.rejects(beginCluster(t, url), { message: /there is a cluster already in this PostgreSQL database/ });
  });

  t.test('an address that cannot be used is explained, without its password', async (t) => {
    for (const url of [
      'postgresql://z:secret@127.0.0.1:99999/z',
      'postgresql://z:secret@127.0.0.1/z?sslmode=verify-full&sslrootcert=/none',
    ]) {
      const own = createConnection({ url, name: 'test', clock });
      const error = await own.query('SELECT 1').catch((reason: unknown) => reason);
      t.match(error, { name: 'UserError', message: /^the address of the cluster cannot be used: / });
      t.notMatch(String((error as Error).message), /secret/);
    }
  });

  t.test('two nodes with 50 writers lose nothing, repeat nothing, and become equal', async (t) => {
    const directory = makeDirectory(t);
    const [a, b] = [
      await openNode(t, postgres.url, { dataDir: first, node: 'a' }),
      await openNode(t, postgres.url, { dataDir: directory, node: 'b' }),
    ];
    const results = await Promise.all(
      [a, b].flatMap(({ store }) =>
        Array.from({ length: 25 }, async () => [await increase(store), await increase(store)]),
      ),
    );
    const numbers = results.flat().sort((x, y) => x - y);
    t.strictSame(
      numbers,
      Array.from({ length: 100 }, (_, index) => index + 1),
      'each write saw all before it',
    );
    for (const { store, log } of [a, b]) await catchUp(store, log);
    t.equal(contentIn(first), contentIn(directory));
  });

  t.test('an answer that is lost changes nothing', async (t) => {
    const proxy = await startCuttingProxy(t, postgres.port);
    const url = postgres.url.replace(`:${postgres.port}`, `:${proxy.port}`);
    const { store, log } = await openNode(t, url, { node: 'cut' });
    const before = count(store);
    for (let round = 1; round <= 3; round++) {
      proxy.cutAfter(OF_APPEND);
      t.equal(await increase(store), before + round);
      t.equal(proxy.cuts(), round, 'the answer was lost');
    }
    await catchUp(store, log);
    const [row] = await postgres.query("SELECT count(*) AS n FROM zoneplane.entries WHERE node = 'cut'");
    t.equal(Number(row!['n']), 3, 'nothing is in the log twice');
  });

  t.test('a node that is killed after its append, before its copy has the entry', async (t) => {
    const proxy = await startCuttingProxy(t, postgres.port);
    const url = postgres.url.replace(`:${postgres.port}`, `:${proxy.port}`);
    const directory = makeDirectory(t);
    const before = await openNode(t, postgres.url, { node: 'cut', dataDir: directory });
    const counted = count(before.store);
    const { number } = before.store.position();
    before.store.close();
    await before.log.close();
    proxy.holdAfter(OF_APPEND);
    const child = spawn(process.execPath, [resolve('build/test/support/counting-child.js'), url, directory, 'cut'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (piece: Buffer) => (printed += piece));
    const ended = once(child, 'exit');
    await until(async () => proxy.held() > 0);
    child.kill('SIGKILL');
    await ended;
    t.equal(printed, '', 'nobody was told');
    const [row] = await postgres.query("SELECT max(number) AS last FROM zoneplane.entries WHERE node = 'cut'");
    t.equal(Number(row!['last']), number + 1, 'the log has the entry');
    const copy = openStore(directory, { readonly: true });
    t.equal(count(copy), counted, 'the copy has it not');
    copy.close();
    const again = await openNode(t, postgres.url, { node: 'cut', dataDir: directory });
    t.equal(count(again.store), counted + 1, 'the next start applies it');
    t.equal(await increase(again.store), counted + 2);
  });

  t.test('who reads the database of a node sees an entry whole or not at all', async (t) => {
    const directory = makeDirectory(t);
    const a = await openNode(t, postgres.url, { node: 'a' });
    const b = await openNode(t, postgres.url, { node: 'b', dataDir: directory });
    const both = (number: number) =>
      a.store.write(() => {
        putMeta(a.store, 'last_account', number);
        for (let row = 0; row < 1500; row++) putMeta(a.store, 'serving_settings', row);
        putMeta(a.store, 'first_run_done', number);
      });
    const begin = count(a.store);
    await both(begin);
    await catchUp(b.store, b.log);
    const child = spawn(process.execPath, [resolve('build/test/support/watching-child.js'), directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    let printed = '';
    child.stdout.on('data', (piece: Buffer) => (printed += piece));
    const untilSeen = (value: number) => until(() => printed.includes(`saw ${value}\n`), `it sees ${value}`);
    await untilSeen(begin);
    for (let round = 1; round <= 10; round++) {
      await both(begin + round);
      await catchUp(b.store, b.log);
      await untilSeen(begin + round);
    }
    child.stdin.end();
    await until(async () => printed.includes('}'));
    const { differences } = JSON.parse(printed.trimEnd().split('\n').at(-1)!);
    t.equal(differences, 0, 'never a part of one');
    await a.store.write(() => putMeta(a.store, 'serving_settings', ''));
  });

  t.test('a node reads what another has acknowledged, every time', async (t) => {
    const news: Record<'a' | 'b', string[]> = { a: [], b: [] };
    const a = await openNode(t, postgres.url, { node: 'a', onNews: (told) => news.a.push(told) });
    const b = await openNode(t, postgres.url, { node: 'b', onNews: (told) => news.b.push(told) });
    const replica = followLog({
      ...{ ...b, clock, logger: silentLogger(), isToBeReplaced: async () => true },
      onDiverged: (reason) => t.fail(reason),
    });
    t.teardown(() => replica.close());
    for (let round = 0; round < READS; round++) {
      const written = await increase(a.store);
      await replica.refresh();
      if (count(b.store) !== written) t.equal(count(b.store), written, `round ${round}`);
    }
    t.equal(count(b.store), count(a.store));
    const { number } = a.store.position();
    await until(async () => news.a.includes(`own ${number}`) && news.b.includes(`entry ${number}`));
    t.strictSame(
      [news.a, news.b].map((told) => told.filter((text) => /^(?:entry|own) /.test(text)).length),
      [READS, READS],
    );
    t.notOk(news.a.includes(`entry ${number}`), 'who has appended an entry need not look for it');
  });

  t.test('an entry of 20 MiB is read in parts', async (t) => {
    const a = await openNode(t, postgres.url, { node: 'a' });
    const b = await openNode(t, postgres.url, { node: 'b' });
    const large = systemRandom.bytes(20 << 20);
    await a.store.write(() => putMeta(a.store, 'serving_settings', large));
    await catchUp(b.store, b.log);
    t.ok(Buffer.from(findMeta(b.store, 'serving_settings') as Uint8Array).equals(large));
    await a.store.write(() => putMeta(a.store, 'serving_settings', ''));
  });

  t.test('a role that follows can neither write, nor keep others from it, nor speak for other nodes', async (t) => {
    await postgres.query('CREATE ROLE follower LOGIN');
    const own = createConnection({ url: postgres.url, name: 'test', clock });
    t.teardown(() => own.close());
    await allowFollower(own, 'follower', ['dns', 'dns2']);
    const url = postgres.url.replace('zoneplane@', 'follower@');
    const { store, log } = await openNode(t, url, { node: 'dns', appends: false, patienceMs: 500 });
    await catchUp(store, log);
    await t.rejects(increase(store), /permission denied/);
    const { number, id } = store.position();
    t.equal(await log.head(), number, 'the log is as it was');
    t.ok(id);

    const a = await openNode(t, postgres.url, { node: 'a', patienceMs: 500 });
    const told = { role: 'dns', version: '1', schema: 1, knows: 1, applied: 1, appliedId: '', report: '{}' };
    await tellNode(a.log.teller, { ...told, name: 'a' });
    await tellNode(log.teller, { ...told, name: 'dns' });
    for (const name of ['a', 'new', 'DNS']) {
      const refused = { message: `role follower is not node ${name}` };
      await t.rejects(tellNode(log.teller, { ...told, name, applied: 9 }), refused);
    }
    await t.rejects(tellNode(log.teller, { ...told, name: 'dns', role: 'all' }), /role follower does not write/);
    const attacker = createConnection({ url, name: 'attacker', clock });
    t.teardown(() => attacker.close());
    const table = 'zoneplane.nodes';
    for (const text of [
      `UPDATE ${table} SET applied = 0`,
      `INSERT INTO ${table} SELECT 'x', role, version, schema, knows, applied, applied_id, beat, report, seen_at FROM ${table}`,
      `DELETE FROM ${table}`,
      `INSERT INTO zoneplane.followers VALUES ('follower', 'a')`,
      `LOCK TABLE ${table} IN ROW EXCLUSIVE MODE`,
      'LOCK TABLE zoneplane.turn IN ROW SHARE MODE',
      'LOCK TABLE zoneplane.entries IN SHARE MODE',
      'SELECT FROM zoneplane.entries FOR SHARE',
      'SELECT zoneplane.await_turn()',
    ]) {
      await attacker.query('BEGIN');
      await t.rejects(attacker.query(text), /permission denied/, text);
      await attacker.query('ROLLBACK');
    }
    const rows = await postgres.query('SELECT name, applied FROM zoneplane.nodes ORDER BY name');
    t.match(rows, [
      { name: 'a', applied: '1' },
      { name: 'dns', applied: '1' },
    ]);
    // Every lock that anybody can take: the former number of the turn, and the name of another node.
    await attacker.query('SELECT pg_advisory_lock(1516138341)');
    t.ok(await claimName(attacker, 'a'));
    t.ok(await increase(a.store), 'others write');
    t.ok(await claimName(a.log.reader, 'a'), 'and it is not a claim of their names');
    const second = createConnection({ url: postgres.url, name: 'second', clock });
    t.teardown(() => second.close());
    t.ok(await claimName(second, 'b'));
    t.notOk(await claimName(a.log.reader, 'b'), 'that of a node that may be it is one');
    const news: string[] = [];
    const hearing = await openNode(t, postgres.url, { node: 'hearing', onNews: (text) => news.push(text) });
    await catchUp(hearing.store, hearing.log);
    for (const text of ['down', 'up', 'own 99', 'node x']) await attacker.query(`NOTIFY zoneplane, '${text}'`);
    await until(() => news.includes('node x'));
    t.strictSame(news, ['up', 'node x'], 'what is not a notification of a node is not heard');

    await postgres.query('CREATE ROLE nobody LOGIN');
    await t.rejects(openNode(t, postgres.url.replace('zoneplane@', 'nobody@')), {
      name: 'UserError',
      message: 'PostgreSQL refuses it: permission denied for schema zoneplane',
    });
  });

  t.test('a snapshot is where a node begins, and what is older goes', async (t) => {
    const a = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    const lateDirectory = makeDirectory(t);
    const late = await openNode(t, postgres.url, { node: 'late', dataDir: lateDirectory });
    const own = createConnection({ url: postgres.url, name: 'test', clock });
    t.teardown(() => own.close());
    for (let round = 0; round < 2; round++) {
      await increase(a.store);
      await makeSnapshot(a.store, first, own, 'a');
    }
    const { number } = a.store.position();
    await increase(a.store);
    const kept = await postgres.query('SELECT number FROM zoneplane.snapshots ORDER BY number');
    t.strictSame(
      kept.map((row) => Number(row['number'])),
      [number - 1, number],
      'two are kept',
    );
    await postgres.query("UPDATE zoneplane.entries SET at = now() - interval '8 days'");
    await makeSnapshot(a.store, first, own, 'a');
    const [row] = await postgres.query('SELECT min(number) AS first FROM zoneplane.entries');
    t.equal(Number(row!['first']), number, 'entries behind the older snapshot stay');
    const directory = makeDirectory(t);
    const fresh = await openNode(t, postgres.url, { node: 'fresh', dataDir: directory });
    t.equal(count(fresh.store), count(a.store));
    fresh.store.close();
    t.equal(contentIn(directory), contentIn(first));
    await late.log.close();
    late.store.close();
    const again = await openNode(t, postgres.url, { node: 'late', dataDir: lateDirectory });
    t.ok(again.wasReplaced, 'who lacks entries that are gone begins anew');
    t.equal(count(again.store), count(a.store));
  });

  await refusals(t, postgres, first);
});

/** What a copy does not apply. */
async function refusals(t: Test, postgres: Postgres, first: string): Promise<void> {
  const appendAfter = async ({ store, log }: OpenCopy, body: Uint8Array): Promise<number> => {
    const { number, id: after } = store.position();
    const entry = { number: number + 1, id: systemRandom.uuid(), after, schema: SCHEMA_VERSION, body };
    t.ok(await log.append(entry));
    return entry.number;
  };
  /** Statements of which one says that it changed more rows than it does. */
  const poison = (): Uint8Array => {
    const recording = startRecording();
    recording.add("DELETE FROM meta WHERE name = 'last_account'", [], 7);
    return recording.finish()!;
  };

  for (const [what, body, replacements] of [
    ['that cannot be read', Uint8Array.of(9, 9, 9), 0],
    ['with a statement for a table that does not exist', unknownTable(), 1],
    ['that has another effect on every copy', poison(), 1],
  ] as const) {
    t.test(`an entry ${what} stops the copy, which goes on serving`, async (t) => {
      const directory = makeDirectory(t);
      const a = await openNode(t, postgres.url, { node: 'a', dataDir: directory });
      const kept = count(a.store);
      const number = await appendAfter(a, body);
      const named = new RegExp(`Entry ${number} of the log was not applied: `);
      let asked = 0;
      const follow = ({ store, log, refusal }: OpenCopy) => {
        const replica = followLog({
          ...{ store, log, clock, logger: silentLogger(), onDiverged: () => asked++ },
          isToBeReplaced: (found) => isToBeReplaced(log, found, refusal),
        });
        t.teardown(() => replica.close());
        return replica;
      };
      const running = follow(a);
      await t.rejects(running.catchUp(), named);
      t.match(running.status(), { state: 'stopped', reason: named, applied: number - 1 });
      t.equal(asked, replacements, 'where another copy could help, it is replaced once');
      await t.rejects(increase(a.store), { name: 'LogUnavailable', message: named }, 'it does not write');
      t.equal(count(a.store), kept, 'it goes on reading');
      await running.close();

      const again = await openNode(t, postgres.url, { node: 'a', dataDir: directory });
      t.match(again.refusal, { entry: number, message: named });
      t.equal(count(again.store), kept);
      asked = 0;
      const replica = follow(again);
      await t.rejects(replica.catchUp(), named);
      t.equal(asked, 0, 'a copy that was replaced is not replaced for the same entry again');
      for (const [schema, expected] of [
        [SCHEMA_VERSION, 1],
        // Of a preview with other tables.
        [1, 1],
      ] as const) {
        await postgres.query(
          `INSERT INTO zoneplane.snapshots (number, schema, pieces, octets, node) VALUES (${number}, ${schema}, 0, 0, 'x')`,
        );
        await t.rejects(replica.catchUp(), named);
        t.equal(asked, expected, `unless a snapshot includes it: ${schema}`);
        await postgres.query(`DELETE FROM zoneplane.snapshots WHERE node = 'x'`);
      }
      await postgres.query(`DELETE FROM zoneplane.entries WHERE number = ${number}`);
      await replica.catchUp();
      t.equal(replica.status().state, 'following');
      t.equal(await increase(again.store), kept + 1);
    });
  }

  t.test('entries that do not fit are refused, and the copy is replaced by a snapshot', async (t) => {
    const directory = makeDirectory(t);
    const behind = await openNode(t, postgres.url, { node: 'behind', dataDir: directory });
    const a = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    await increase(a.store);
    await catchUp(behind.store, behind.log);
    // As a failover to a standby that lacked the last entry.
    const { number } = a.store.position();
    await postgres.query(`DELETE FROM zoneplane.entries WHERE number = ${number}`);
    await t.rejects(catchUp(behind.store, behind.log), { name: 'EntryRefused', reason: 'history' });
    await t.rejects(increase(behind.store), { name: 'LogUnavailable' }, 'it does not write');
    const own = createConnection({ url: postgres.url, name: 'test', clock });
    t.teardown(() => own.close());
    const message = `the log does not have entry ${number} of this copy`;
    await t.rejects(makeSnapshot(behind.store, directory, own, 'behind'), { message }, 'others do not begin with it');
    await own.query('ROLLBACK');
    const other = await openNode(t, postgres.url, { node: 'other' });
    await increase(other.store);
    await t.rejects(catchUp(behind.store, behind.log), { name: 'EntryRefused', reason: 'history' });
    behind.store.close();
    await behind.log.close();
    const killed = await openNode(t, postgres.url, { node: 'behind', dataDir: directory });
    t.match(killed, { wasReplaced: true, lostEntries: true });
    killed.store.close();
    await killed.log.close();
    const again = await openNode(t, postgres.url, { node: 'behind', dataDir: directory });
    t.match(again, { wasReplaced: true, lostEntries: true }, 'the next process does what that one did not come to');
    again.noteFollowed();
    const third = await openNode(t, postgres.url, { node: 'third', dataDir: directory });
    t.match(third, { wasReplaced: false, lostEntries: false }, 'once');
    t.strictSame(again.store.position(), other.store.position());
    await increase(again.store);
    t.equal(count(again.store), count(other.store) + 1);
  });

  t.test('a newer schema stops the copy and nothing else', async (t) => {
    const { store, log } = await openNode(t, postgres.url, { node: 'old' });
    const before = store.position();
    const entry = { number: before.number + 1, id: systemRandom.uuid(), after: before.id, schema: SCHEMA_VERSION };
    t.ok(await log.append({ ...entry, body: migrationTo(SCHEMA_VERSION + 1) }));
    let replaced = false;
    const replica = followLog({
      ...{ store, log, clock, logger: silentLogger(), onDiverged: () => (replaced = true) },
      isToBeReplaced: (refusal) => isToBeReplaced(log, refusal, undefined),
    });
    t.teardown(() => replica.close());
    await t.rejects(replica.catchUp(), /upgrade this node/);
    t.match(replica.status(), { state: 'stopped', applied: before.number });
    t.notOk(replaced);
    await t.rejects(increase(store), { name: 'LogUnavailable' });
    await postgres.query(`DELETE FROM zoneplane.entries WHERE number = ${entry.number}`);
    await replica.catchUp();
    t.equal(replica.status().state, 'following');
    t.ok(await log.append({ ...entry, id: systemRandom.uuid(), body: NOTHING_WRITTEN }));
  });
}

function unknownTable(): Uint8Array {
  const recording = startRecording();
  recording.add('INSERT INTO missing (name) VALUES (?)', ['x'], 1);
  return recording.finish()!;
}
