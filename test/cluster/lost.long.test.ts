/**
 * Entries that PostgreSQL has lost and nodes still have. With a real failover: failover.long.test.ts.
 *
 * Seen failing on 2026-11-26: «agree» where no node appends anything again; «has said» where the others are not waited for;
 * «another history» where what the others say is not compared.
 */
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { examineCluster } from '../../src/cli/cluster/examine.js';
import { keepLost, type LostParts, lostFiles, recoverLost } from '../../src/cluster/lost-entries.js';
import { tellNode } from '../../src/cluster/nodes.js';
import type { OpenCopy } from '../../src/cluster/open-copy.js';
import { loadSettings } from '../../src/config/load.js';
import { catchUp } from '../../src/store/log-writer.js';
import { SCHEMA_VERSION } from '../../src/store/migrations/migration.js';
import { beginCluster, clock, contentIn, makeDirectory, openNode } from '../support/cluster-copies.js';
import { runCommand } from '../support/commands.js';
import { count, increase } from '../support/counter.js';
import { NOTHING_WRITTEN } from '../support/memory-log.js';
import { skipWithoutPostgres, startPostgres } from '../support/postgres.js';

t.test('entries that PostgreSQL has lost', { skip: skipWithoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const first = await beginCluster(t, postgres.url);
  const lose = (behind: number) => postgres.query(`DELETE FROM zoneplane.entries WHERE number > ${behind}`);
  const partsOf = ({ store, log, recent }: OpenCopy, node: string): LostParts => ({
    ...{ store, log, recent, node, appends: true, clock, logger: silentLogger() },
  });
  const tell = ({ store, log }: OpenCopy, name: string, id?: string): Promise<void> => {
    const { number: applied, id: appliedId } = store.position();
    const about = { role: 'all', version: '1', schema: 1, knows: 1, report: '{}' };
    return tellNode(log.teller, { ...about, name, applied, appliedId: id ?? appliedId });
  };
  /** Two copies at the same position, and the number behind which the log has lost five entries. */
  const loseFive = async (t: Test) => {
    const directory = makeDirectory(t);
    const a = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    const b = await openNode(t, postgres.url, { node: 'b', dataDir: directory });
    await increase(a.store);
    const { number } = a.store.position();
    for (let lost = 0; lost < 5; lost++) await increase(a.store);
    await catchUp(b.store, b.log);
    await lose(number);
    for (const { store, log } of [a, b])
      await t.rejects(catchUp(store, log), { name: 'EntryRefused', reason: 'history' });
    return { a, b, directory, number };
  };

  t.test('all nodes agree: they are appended again, at the same positions', async (t) => {
    const { a, b, directory } = await loseFive(t);
    const counted = count(a.store);
    const position = a.store.position();
    t.strictSame(await Promise.all([recoverLost(partsOf(a, 'a')), recoverLost(partsOf(b, 'b'))]), [true, true]);
    for (const { store, log } of [a, b]) {
      await catchUp(store, log);
      t.strictSame([store.position(), count(store)], [position, counted]);
    }
    t.equal(await increase(b.store), counted + 1, 'and nodes write again');
    await catchUp(a.store, a.log);
    t.equal(contentIn(directory), contentIn(first));
    t.equal(await keepLost(partsOf(a, 'a'), first), undefined, 'nothing is lost');
  });

  t.test('a node that lives is waited for until it has said where it is', async (t) => {
    const { a, b, number } = await loseFive(t);
    await tell(b, 'b');
    let isOver = false;
    const recovering = recoverLost(partsOf(a, 'a')).finally(() => {
      isOver = true;
    });
    await sleep(600);
    const [row] = await postgres.query('SELECT max(number) AS last FROM zoneplane.entries');
    t.strictSame([isOver, Number(row!['last'])], [false, number]);
    for (; !isOver; await sleep(100)) await tell(b, 'b');
    t.ok(await recovering);
  });

  t.test('a node with another history: nothing is appended, and what was lost is kept and printed', async (t) => {
    const { a, b, number } = await loseFive(t);
    await tell(b, 'b', 'another');
    let isOver = false;
    const recovering = recoverLost(partsOf(a, 'a')).finally(() => {
      isOver = true;
    });
    for (; !isOver; await sleep(100)) await tell(b, 'b', 'another');
    t.notOk(await recovering);
    const [row] = await postgres.query('SELECT max(number) AS last FROM zoneplane.entries');
    t.equal(Number(row!['last']), number);
    await postgres.query("DELETE FROM zoneplane.nodes WHERE name = 'b'");

    const after = (await postgres.query(`SELECT id FROM zoneplane.entries WHERE number = ${number}`))[0]!['id'];
    const other = {
      number: number + 1,
      id: 'other',
      after: String(after),
      schema: SCHEMA_VERSION,
      body: NOTHING_WRITTEN,
    };
    t.ok(await a.log.append(other), 'another history begins');
    t.notOk(await recoverLost(partsOf(a, 'a')));
    const path = await keepLost(partsOf(a, 'a'), first);
    t.match(lostFiles(first), [{ path, first: number + 1, last: number + 5 }]);
    const environment = { ZONEPLANE_DATA_DIR: first, ZONEPLANE_CLUSTER: postgres.url };
    const findings = await examineCluster(loadSettings({ environment, flags: {} }), clock);
    t.ok(findings.some(({ text }) => text === 'a failover of PostgreSQL has lost 5 entries that this node had'));
    const { code, out } = await runCommand({ ZONEPLANE_DATA_DIR: first }, 'cluster', 'lost', '--json');
    t.equal(code, 1);
    const [file] = JSON.parse(out);
    t.strictSame(
      file.entries.map((entry: { readonly number: number }) => entry.number),
      [1, 2, 3, 4, 5].map((index) => number + index),
    );
    t.match(file.entries[4].statements[0], { text: /^INSERT INTO meta/, values: ['last_account', count(a.store)] });
  });
});
