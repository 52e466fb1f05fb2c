/**
 * Nodes are upgraded one after the other to a version with another schema: all of them serve and write meanwhile.
 *
 * Seen failing on 2026-11-25 where the first node that is upgraded migrates at once: the other was not ready, and did not write.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { SCHEMA_VERSION } from '../../src/store/migrations/migration.js';
import { contentIn } from '../support/cluster-copies.js';
import { copyMasterKey, makeNodes, type TestNode } from '../support/cluster-nodes.js';
import { makeNewerProgram } from '../support/newer-program.js';
import { skipWithoutPostgres, startPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';

t.test('a rolling upgrade with a new schema', { skip: skipWithoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const make = makeNodes(t, postgres);
  const [a, b] = [make('a'), make('b')];
  t.match(await a.command('cluster', 'init'), { code: 0 });
  copyMasterKey(a, b);
  t.match(await b.command('cluster', 'join'), { code: 0 });
  const next = SCHEMA_VERSION + 1;
  const newer = makeNewerProgram(t, next);
  await a.start();
  const { id: zone } = (await a.call('POST', '/zones', { name: 'upgrade.test' })).json.result;
  let added = 0;
  const add = async (node: TestNode): Promise<number> => {
    const record = { type: 'A', name: `h${++added}`, content: '192.0.2.1' };
    return (await node.call('POST', `/zones/${zone}/dns_records?wait=insync`, record)).status;
  };
  const readiness = async (node: TestNode): Promise<readonly number[]> =>
    Promise.all(
      ['', '?for=dns', '?for=writes'].map(
        async (query) => (await fetch(`${node.program().api}/readyz${query}`)).status,
      ),
    );
  const schemas = async (): Promise<unknown> => {
    const { json } = await a.call('GET', '/cluster');
    return json.result.nodes.map(({ schema }: { readonly schema: number }) => schema).join();
  };
  t.equal((await fetch(`${a.program().api}/readyz?for=mail`)).status, 400);
  await until(async () => (await schemas()) === `${SCHEMA_VERSION}`, 'the first node has told what it knows');
  await b.start('all', {}, newer);

  for (const node of [a, b]) {
    t.strictSame(await readiness(node), [200, 200, 200], node.name);
    t.equal(await add(node), 200, `${node.name} writes`);
  }
  t.match(await a.command('cluster', 'status'), {
    out: new RegExp(`schema version ${next} waits until these nodes are upgraded: a `),
  });
  t.equal(await schemas(), `${SCHEMA_VERSION},${SCHEMA_VERSION}`);
  await a.stop();
  await a.start('all', {}, newer);
  await until(
    async () => (await schemas()) === `${next},${next}`,
    'the last one is upgraded: all migrate',
    () => a.program().printed(),
  );
  for (const node of [a, b]) {
    t.strictSame(await readiness(node), [200, 200, 200]);
    t.equal(await add(node), 200);
  }

  const last = makeNewerProgram(t, next, next + 1);
  /** A command of the last program. */
  const run = (node: TestNode, ...command: readonly string[]): string => {
    const about = { ZONEPLANE_CLUSTER: postgres.url, ZONEPLANE_NODE_NAME: node.name, ZONEPLANE_DATA_DIR: node.dataDir };
    return execFileSync(process.execPath, [last, ...command], {
      env: { PATH: process.env['PATH'], ...about },
    }).toString();
  };
  await b.stop();
  t.match(run(b, 'cluster', 'migrate'), `has schema version ${next + 1}`);
  await until(async () => (await readiness(a)).join() === '503,200,503', 'by command, nobody is waited for');
  t.ok((await a.ask('h1.upgrade.test'))?.length, 'the node with the older version goes on answering');
  await a.stop();
  for (const node of [a, b]) run(node, 'zone', 'list');
  t.equal(contentIn(b.dataDir), contentIn(a.dataDir));
});
