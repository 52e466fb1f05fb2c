/**
 * PostgreSQL is killed, hangs, or is replaced by its standby while nodes write: what was acknowledged is there, once.
 *
 * Seen failing on 2026-11-22 with the handling taken out: both kills without the look-up of the entry by its identifier; the
 * standbys where a standby is taken for a primary; the one that lacks entries where nobody asks whether the log has the entry
 * of the copy; the holder of the turn where appends do not wait for the turn. On 2026-11-23: the former primary where
 * what a node has seen is not asked, and where not all hosts are compared; PgBouncer where nobody looks whether sessions are kept.
 */
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { sleep, steadyMs } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { examineCluster } from '../../src/cli/cluster/examine.js';
import { isToBeReplaced, type OpenCopy } from '../../src/cluster/open-copy.js';
import { followLog } from '../../src/cluster/replica.js';
import { prepareTurn, TAKE_TURN } from '../../src/cluster/statements.js';
import { loadSettings } from '../../src/config/load.js';
import { openStore } from '../../src/store/driver.js';
import { catchUp } from '../../src/store/log-writer.js';
import { putMeta } from '../../src/store/meta.js';
import { beginCluster, clock, contentIn, makeDirectory, openNode } from '../support/cluster-copies.js';
import { runCommand } from '../support/commands.js';
import { count, increase } from '../support/counter.js';
import { type CuttingProxy, startCuttingProxy } from '../support/cutting-proxy.js';
import { skipWithoutPgbouncer, startPgbouncer } from '../support/pgbouncer.js';
import { addSynchronousStandby, type Postgres, skipWithoutPostgres, startPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';

/** A write whose answer came: the value that it gave the counter. */
interface Acknowledged {
  readonly value: number;
  readonly node: string;
  readonly atMs: number;
}

/**
 * Each write makes the counter one greater. Two answers with one value: the earlier of them was lost. A value without an
 * answer: a write was made and then made again, as the writer did not learn of it. Says which, and when, relative to the begin
 * of the trouble.
 */
function faultsOf(acknowledged: readonly Acknowledged[], fromMs: number) {
  const sorted = [...acknowledged].sort((x, y) => x.value - y.value || x.atMs - y.atMs);
  const when = ({ value, node, atMs }: Acknowledged): string =>
    `${value}, answered by ${node} ${Math.round(atMs - fromMs)} ms after the trouble began`;
  const lost = sorted.filter(({ value }, index) => sorted[index + 1]?.value === value).map(when);
  const repeated = sorted.flatMap((one, index) => {
    const gap = index === 0 ? 0 : one.value - sorted[index - 1]!.value - 1;
    return gap > 0 ? [`${gap} before ${when(one)}`] : [];
  });
  return { lost, repeated, last: sorted.at(-1)?.value };
}

/** Runs eight writers on each of two new nodes while `trouble` happens, and checks what came of their writes. */
async function writeDuring(t: Test, url: string, first: string, trouble: () => Promise<void>): Promise<void> {
  const directory = makeDirectory(t);
  const nodes: OpenCopy[] = [
    await openNode(t, url, { node: 'a', dataDir: first, patienceMs: 30_000 }),
    await openNode(t, url, { node: 'b', dataDir: directory, patienceMs: 30_000 }),
  ];
  let stop = false;
  const acknowledged: Acknowledged[] = [];
  const writers = nodes.flatMap(({ store }, index) =>
    Array.from({ length: 8 }, async () => {
      while (!stop) acknowledged.push({ value: await increase(store), node: 'ab'[index]!, atMs: steadyMs(clock) });
    }),
  );
  await until(async () => acknowledged.length > 50);
  const fromMs = steadyMs(clock);
  await trouble();
  const before = acknowledged.length;
  await until(async () => acknowledged.length > before + 50);
  stop = true;
  await Promise.all(writers);
  for (const { store, log } of nodes) await catchUp(store, log);
  const { lost, repeated, last } = faultsOf(acknowledged, fromMs);
  t.strictSame(lost, [], `none of ${acknowledged.length} acknowledged writes was lost`);
  t.strictSame(repeated, [], 'none was made twice');
  t.equal(count(nodes[0]!.store), last, 'and nothing else was written');
  t.equal(contentIn(directory), contentIn(first));
}

/** Number of parts and name of the node among the values of an append: octets, then their text. */
const OF_APPEND = '\0\0\0\x010\0\0\0\x01a';

/** Resolves when PostgreSQL has stored an entry of node a, whose answer is kept back: node a must find out what came of it. */
async function loseAnswer(proxy: CuttingProxy): Promise<void> {
  proxy.holdAfter(OF_APPEND);
  await until(async () => proxy.held() > 0);
}

t.test('trouble with PostgreSQL', { skip: skipWithoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const first = await beginCluster(t, postgres.url);

  t.test('it crashes before it has answered an append, and comes back', async (t) => {
    const proxy = await startCuttingProxy(t, postgres.port);
    await writeDuring(t, postgres.url.replace(`:${postgres.port}`, `:${proxy.port}`), first, async () => {
      await loseAnswer(proxy);
      await postgres.signal('SIGKILL');
      await sleep(300);
      await postgres.start();
    });
  });

  t.test('it is away: a write that is not to wait is refused at once', async (t) => {
    const { store } = await openNode(t, postgres.url, { node: 'a', dataDir: first, patienceMs: 600_000 });
    await increase(store);
    await postgres.signal('SIGKILL');
    await t.rejects(
      store.write(() => putMeta(store, 'last_account', 0), 5),
      // Whether it was sent depends on whether this process has noticed already that the connection is lost.
      { name: /^(?:LogUnavailable|OutcomeUnknown)$/ },
    );
    await postgres.start();
    await until(async () => (await increase(store)) > 0);
  });

  t.test(
    'a network that swallows everything: no write waits longer than its patience, and each says what is known',
    async (t) => {
      const proxy = await startCuttingProxy(t, postgres.port);
      const url = postgres.url.replace(`:${postgres.port}`, `:${proxy.port}`);
      const { store } = await openNode(t, url, { node: 'a', dataDir: first, patienceMs: 2000 });
      const before = await increase(store);
      proxy.swallowAfter(OF_APPEND);
      const fromMs = steadyMs(clock);
      const failures = await Promise.all(
        Array.from({ length: 20 }, () =>
          increase(store).then(
            () => 'written',
            ({ name }: Error) => name,
          ),
        ),
      );
      const expected = ['OutcomeUnknown', ...Array.from({ length: 19 }, () => 'LogUnavailable')];
      t.strictSame(failures, expected, 'the first was sent, the others were not');
      const tookMs = steadyMs(clock) - fromMs;
      t.ok(tookMs < 30_000, `all waited 2 s, not one after the other: ${Math.round(tookMs)} ms`);
      proxy.goOn();
      await until(async () => (await increase(store).catch(() => 0)) > 0);
      t.equal(count(store), before + 2, 'the one that is not known was stored, and no other');
    },
  );

  t.test('it ends all connections', async (t) => {
    await writeDuring(t, postgres.url, first, async () => {
      for (let round = 0; round < 5; round++) {
        await postgres.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
        await sleep(100);
      }
    });
  });

  t.test('it hangs: readers do not wait for it', async (t) => {
    const { store, log } = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    const replica = followLog({
      ...{ store, log, clock, logger: silentLogger(), isToBeReplaced: async () => true },
      onDiverged: (reason) => t.fail(reason),
    });
    t.teardown(() => replica.close());
    await replica.refresh();
    t.equal(replica.status().state, 'following');
    await postgres.signal('SIGSTOP');
    await replica.refresh();
    t.equal(replica.status().state, 'away', 'one request waits for a second');
    const writing = increase(store);
    await replica.refresh();
    await postgres.signal('SIGCONT');
    t.ok(await writing);
    await until(async () => replica.status().state === 'following');
  });

  t.test('the holder of the turn dies', async (t) => {
    const { store } = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    const holder = new pg.Client(postgres.url);
    holder.on('error', () => {});
    await holder.connect();
    const [{ pid } = { pid: 0 }] = (await holder.query('SELECT pg_backend_pid() AS pid')).rows as { pid: number }[];
    await holder.query(TAKE_TURN);
    let isWritten = false;
    const writing = increase(store).then(() => (isWritten = true));
    const environment = { ZONEPLANE_DATA_DIR: first, ZONEPLANE_CLUSTER: postgres.url };
    const found = await examineCluster(loadSettings({ environment, flags: {} }), clock);
    t.notOk(isWritten, 'who has no turn waits');
    const text = `the turn to write has been held for more than 1 s by role zoneplane (without a name, process ${pid} of PostgreSQL): other nodes cannot write`;
    const remedy = `If it stays, end that session with pg_terminate_backend(${pid}).`;
    t.match(
      found.find((one) => one.text.includes('turn')),
      { verdict: 'warn', text, remedy },
      'doctor says who has it',
    );
    await postgres.query(`SELECT pg_terminate_backend(${pid})`);
    t.ok(await writing);
  });

  t.test('the holder of the turn stands still', async (t) => {
    const { store } = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    const before = await increase(store);
    const holder = new pg.Client(postgres.url);
    let end = '';
    // A second error reports the end of the connection; the first one has the reason.
    holder.on('error', ({ message }) => (end ||= message));
    await holder.connect();
    await holder.query(prepareTurn(5000));
    await holder.query(TAKE_TURN);
    t.equal(await increase(store), before + 1);
    await until(() => end !== '');
    t.match(end, /idle-in-transaction timeout/);
  });

  t.test('a standby that lacks the last entries takes over: nodes write nothing until it has them again', async (t) => {
    const primary = await startPostgres(t);
    const dataDir = await beginCluster(t, primary.url);
    const standby = await primary.addStandby();
    const url = primary.url.replace(/@[^/]*/, `@127.0.0.1:${standby.port},127.0.0.1:${primary.port}`);
    const { store, log } = await openNode(t, url, { node: 'a', dataDir, patienceMs: 2000 });
    const kept = await increase(store);
    await until(async () => {
      const [row] = await standby.query('SELECT max(number) AS last FROM zoneplane.entries');
      return Number(row!['last']) === store.position().number;
    });
    await standby.signal('SIGINT');
    for (let lost = 0; lost < 5; lost++) await increase(store);
    await primary.signal('SIGKILL');
    await standby.start();
    standby.promote();
    const refused: string[] = [];
    const replica = followLog({
      ...{ store, log, clock, logger: silentLogger(), onDiverged: (reason: string) => refused.push(reason) },
      isToBeReplaced: (refusal) => isToBeReplaced(log, refusal, undefined),
    });
    t.teardown(() => replica.close());
    await until(async () => refused.length > 0);
    t.match(refused[0], /^This copy is at entry 7, but the log ends at 2: it has lost entries\.$/);
    await t.rejects(increase(store), { name: 'LogUnavailable', message: /it has lost entries/ });
    t.equal(count(store), kept + 5, 'it goes on reading');
    await replica.close();
    await log.close();
    store.close();
    const again = await openNode(t, url, { node: 'a', dataDir });
    t.notOk(again.wasReplaced);
    t.equal(await increase(again.store), kept + 6, 'what the standby lacked is there again');
  });

  t.test('a former primary that comes back beside its promoted standby is not used', async (t) => {
    const former = await startPostgres(t);
    const dataDir = await beginCluster(t, former.url);
    const promoted = await former.addStandby();
    const both = former.url.replace(/@[^/]*/, `@127.0.0.1:${former.port},127.0.0.1:${promoted.port}`);
    const lastOn = async (postgres: Postgres): Promise<number> => {
      const [row] = await postgres.query('SELECT max(number) AS last FROM zoneplane.entries');
      return Number(row!['last']);
    };
    const reason = `127.0.0.1:${former.port}: it is a former primary: it accepts writes on timeline 1, but the log has gone on with timeline 2`;
    const { store, log } = await openNode(t, both, { node: 'a', dataDir, patienceMs: 2000 });
    await increase(store);
    await until(async () => (await lastOn(promoted)) === store.position().number);
    await former.signal('SIGKILL');
    promoted.promote();
    await until(async () => (await increase(store).catch(() => 0)) > 0);
    await former.start();
    const formerLast = await lastOn(former);
    // The former primary is the first host of the address.
    await promoted.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    await until(async () => (await increase(store).catch(() => 0)) > 0);
    await catchUp(store, log);
    t.strictSame(log.reader.connected()?.passedOver, [reason]);
    t.strictSame([await lastOn(promoted), await lastOn(former)], [store.position().number, formerLast]);

    const joined = await openNode(t, both, { node: 'joined' });
    t.equal(count(joined.store), count(store), 'a node that has seen neither finds the one that was promoted');
    t.strictSame(joined.log.reader.connected()?.passedOver, [reason]);
    const findings = async (url: string) => {
      const environment = { ZONEPLANE_DATA_DIR: dataDir, ZONEPLANE_CLUSTER: url };
      return (await examineCluster(loadSettings({ environment, flags: {} }), clock)).map(
        ({ verdict, text }) => `${verdict} ${text}`,
      );
    };
    const second = `warn a second PostgreSQL server accepts writes, and is not used: ${reason}`;
    t.ok((await findings(both)).includes(second));

    await promoted.signal('SIGKILL');
    await until(() =>
      catchUp(store, log).then(
        () => false,
        ({ remedy = '' }) => remedy.startsWith('Start the server that was promoted'),
      ),
    );
    // The write may have been sent before this process noticed that the server is gone.
    await t.rejects(increase(store), { name: /^(?:LogUnavailable|OutcomeUnknown)$/, message: new RegExp(reason) });
    await log.close();
    store.close();
    // As an address that wanders to the server that is there.
    const again = await openNode(t, former.url, { node: 'a', dataDir, patienceMs: 500 });
    t.notOk(again.wasReplaced, 'after a restart it goes on with its copy');
    await t.rejects(increase(again.store), {
      name: 'LogUnavailable',
      message: `PostgreSQL cannot be used: ${reason}`,
    });
    t.strictSame(await findings(former.url), [`fail PostgreSQL cannot be used: ${reason}`]);
    t.equal(await lastOn(former), formerLast, 'nothing was written to it');
    await again.log.close();
    again.store.close();
    await promoted.start();
    const last = await openNode(t, both, { node: 'a', dataDir });
    t.notOk(last.wasReplaced);
    t.equal(await increase(last.store), count(joined.store) + 1);
  });

  t.test('a server that does not tell which one it is', async (t) => {
    await postgres.query('CREATE ROLE plain LOGIN');
    await postgres.query('GRANT pg_read_all_data, pg_write_all_data TO plain');
    const functions = 'FUNCTION pg_walfile_name(pg_lsn), pg_control_system()';
    await postgres.query(`REVOKE EXECUTE ON ${functions} FROM PUBLIC`);
    const url = postgres.url.replace('zoneplane@', 'plain@');
    const { store, log } = await openNode(t, url, { node: 'plain', dataDir: first });
    t.ok(await increase(store));
    t.strictSame(log.writer.connected()?.server, {});
    const environment = { ZONEPLANE_DATA_DIR: first, ZONEPLANE_CLUSTER: url };
    const findings = await examineCluster(loadSettings({ environment, flags: {} }), clock);
    t.match(
      findings.find(({ text }) => text.includes('does not tell its system identifier and timeline')),
      { verdict: 'warn', remedy: /^Let the user of ZONEPLANE_CLUSTER run them: GRANT EXECUTE/ },
    );
    await postgres.query(`GRANT EXECUTE ON ${functions} TO PUBLIC`);
    await postgres.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    await until(async () => (await increase(store).catch(() => 0)) > 0);
    t.match(log.writer.connected()?.server, { system: /^\d+$/, timeline: 1 });
  });

  t.test('PgBouncer', { skip: skipWithoutPgbouncer }, async (t) => {
    const pooled = await startPgbouncer(t, postgres, 'transaction');
    await t.rejects(openNode(t, pooled, { node: 'a', dataDir: first }), {
      name: 'UserError',
      message: /^transaction pooling is not supported: /,
      remedy: /^Set pool_mode = session/,
    });
    const url = await startPgbouncer(t, postgres, 'session');
    const news: string[] = [];
    const a = await openNode(t, url, { node: 'a', dataDir: first, onNews: (told) => news.push(told) });
    const b = await openNode(t, url, { node: 'b' });
    const values = await Promise.all([a, b, a, b].map(({ store }) => increase(store)));
    t.equal(new Set(values).size, 4);
    for (const { store, log } of [a, b]) await catchUp(store, log);
    t.equal(count(a.store), count(b.store));
    const { number } = a.store.position();
    t.equal(await increase(a.store), count(b.store) + 1);
    await until(async () => news.includes(`own ${number + 1}`));
  });

  t.test('tables that are gone are as a server that is away', async (t) => {
    const { store, log } = await openNode(t, postgres.url, { node: 'a', patienceMs: 500 });
    const replica = followLog({
      ...{ store, log, clock, logger: silentLogger(), isToBeReplaced: async () => true },
      onDiverged: (reason) => t.fail(reason),
    });
    t.teardown(() => replica.close());
    await postgres.query('ALTER SCHEMA zoneplane RENAME TO elsewhere');
    await t.rejects(replica.catchUp(), { name: 'UserError', message: /holds no cluster/ });
    t.match(replica.status(), { state: 'away', reason: /holds no cluster/ });
    await t.rejects(increase(store), { name: 'LogUnavailable' });
    await postgres.query('ALTER SCHEMA elsewhere RENAME TO zoneplane');
    await until(async () => replica.status().state === 'following');
    t.ok(await increase(store));
  });

  t.test('a node that was restored from an old backup begins anew', async (t) => {
    const a = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    const backup = join(makeDirectory(t), 'backup.db');
    await a.store.backup(backup);
    await increase(a.store);
    const directory = makeDirectory(t);
    const restore = await runCommand({ ZONEPLANE_DATA_DIR: directory }, 'restore', backup);
    t.match(restore, { code: 0, err: /belongs to a cluster/ });
    const again = await openNode(t, postgres.url, { node: 'restored', dataDir: directory });
    t.ok(again.wasReplaced, 'a restoration writes what is in no log');
    t.notOk(again.lostEntries, 'the log has lost nothing');
    t.equal(await increase(again.store), count(a.store) + 1);
    await catchUp(a.store, a.log);
    t.equal(contentIn(directory), contentIn(first));
    const alone = makeDirectory(t);
    const environment = { ZONEPLANE_DATA_DIR: alone };
    t.match(await runCommand(environment, 'restore', backup), { code: 0 });
    t.match(await runCommand(environment, 'cluster', 'leave'), { code: 0 });
    const own = openStore(alone);
    t.same(own.position(), { number: 0, id: '' });
    own.close();
    await postgres.query('CREATE DATABASE begun_again');
    const url = postgres.url.replace(/\/postgres$/, '/begun_again');
    t.match(await runCommand({ ...environment, ZONEPLANE_CLUSTER: url }, 'cluster', 'init'), { code: 0 });
    t.ok(await increase((await openNode(t, url, { dataDir: alone })).store), 'it can begin another cluster');
  });

  t.test('its standby takes over', async (t) => {
    const standby = await addSynchronousStandby(postgres);
    const proxy = await startCuttingProxy(t, postgres.port);
    const both = postgres.url.replace(/@[^/]*/, `@127.0.0.1:${standby.port},127.0.0.1:${proxy.port}`);
    await writeDuring(t, both, first, async () => {
      await loseAnswer(proxy);
      await postgres.signal('SIGKILL');
      await sleep(300);
      standby.promote();
    });
  });
});
