/**
 * Octets that change on the way to PostgreSQL and back, or where they are stored: nothing is lost, and no process ends.
 *
 * Seen failing on 2026-11-25 without the handling: «what is written» and «what is read» where no digest is compared, «where it is
 * stored» likewise; «an answer that cannot be read» ended the process.
 */
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { createConnection } from '../../src/cluster/connection.js';
import { fetchSnapshot, listSnapshots, makeSnapshot } from '../../src/cluster/snapshots.js';
import { catchUp } from '../../src/store/log-writer.js';
import { putMeta } from '../../src/store/meta.js';
import { SCHEMA_VERSION } from '../../src/store/migrations/migration.js';
import { beginCluster, clock, contentIn, makeDirectory, openNode } from '../support/cluster-copies.js';
import { count, increase } from '../support/counter.js';
import { startCuttingProxy } from '../support/cutting-proxy.js';
import { skipWithoutPostgres, startPostgres } from '../support/postgres.js';

/** Parts and node among the values of an append; then the length of the body follows, and the body. */
const OF_APPEND = '\0\0\0\x010\0\0\0\x01a';
const IN_BODY = OF_APPEND.length + 4 + 20;

t.test('octets that change', { skip: skipWithoutPostgres }, async (t) => {
  const postgres = await startPostgres(t);
  const first = await beginCluster(t, postgres.url);
  const proxy = await startCuttingProxy(t, postgres.port);
  const url = postgres.url.replace(`:${postgres.port}`, `:${proxy.port}`);

  t.test('what is written is stored as it was meant', async (t) => {
    const a = await openNode(t, url, { node: 'a', dataDir: first });
    const directory = makeDirectory(t);
    const b = await openNode(t, postgres.url, { node: 'b', dataDir: directory });
    const before = await increase(a.store);
    proxy.flip('client', OF_APPEND, IN_BODY);
    t.equal(await increase(a.store), before + 1, 'it is sent again');
    t.equal(proxy.flips(), 1);
    await catchUp(b.store, b.log);
    t.equal(count(b.store), before + 1);
    t.equal(contentIn(directory), contentIn(first));
  });

  t.test('what is read is applied as it was meant', async (t) => {
    const a = await openNode(t, url, { node: 'a' });
    const b = await openNode(t, postgres.url, { node: 'b' });
    await catchUp(a.store, a.log);
    const { id } = a.store.position();
    await catchUp(b.store, b.log);
    const written = await increase(b.store);
    const flipsBefore = proxy.flips();
    // Behind the identifier of the predecessor: the numbers of schema and parts, and the body in hexadecimal digits.
    proxy.flip('server', b.store.position().id, 36 + 4 + 36 + 4 + String(SCHEMA_VERSION).length + 4 + 1 + 4 + 2 + 50);
    await t.rejects(catchUp(a.store, a.log), { name: 'LogUnavailable', message: /damaged on the way .* TLS/ });
    t.equal(proxy.flips(), flipsBefore + 1);
    t.equal(a.store.position().id, id, 'nothing of it was applied');
    await catchUp(a.store, a.log);
    t.equal(count(a.store), written);
    // The entry at the position of the copy is not another one because its identifier was changed on the way.
    proxy.flip('server', a.store.position().id, 3);
    await t.rejects(catchUp(a.store, a.log), { name: 'LogUnavailable', message: /damaged on the way/ });
    await catchUp(a.store, a.log);
  });

  t.test('an answer that cannot be read ends the connection, and nothing else', async (t) => {
    const a = await openNode(t, url, { node: 'a' });
    const written = await increase(a.store);
    await catchUp(a.store, a.log);
    const flipsBefore = proxy.flips();
    // The third octet of the length of a column, which then ends far behind the message.
    proxy.flip('server', a.store.position().id, -3);
    await t.rejects(catchUp(a.store, a.log), { name: 'OutcomeUnknown', message: /sent what cannot be read/ });
    t.equal(proxy.flips(), flipsBefore + 1);
    t.equal(await increase(a.store), written + 1);
    await catchUp(a.store, a.log);
  });

  t.test('an entry of 9 MiB that changes on the way, in one of its parts', async (t) => {
    const a = await openNode(t, url, { node: 'a' });
    const flipsBefore = proxy.flips();
    const large = systemRandom.bytes(9 << 20);
    // What is random is not deflated.
    Buffer.from(large.buffer).write('in the middle of a part', 1 << 20);
    proxy.flip('client', 'in the middle of a part', 5);
    await a.store.write(() => putMeta(a.store, 'serving_settings', large));
    const b = await openNode(t, postgres.url, { node: 'b' });
    await catchUp(b.store, b.log);
    t.equal(b.store.position().id, a.store.position().id);
    await a.store.write(() => putMeta(a.store, 'serving_settings', ''));
    t.equal(proxy.flips(), flipsBefore + 1);
  });

  t.test('what changes where it is stored is not applied', async (t) => {
    const a = await openNode(t, postgres.url, { node: 'a' });
    const b = await openNode(t, postgres.url, { node: 'b' });
    await catchUp(b.store, b.log);
    await increase(a.store);
    const { number } = a.store.position();
    const change = (by: string) =>
      postgres.query(
        `UPDATE zoneplane.entries SET body = set_byte(body, 20, get_byte(body, 20) # ${by}) WHERE number = ${number}`,
      );
    await change('1');
    await t.rejects(catchUp(b.store, b.log), {
      name: 'EntryRefused',
      reason: 'damaged',
      message: `Entry ${number} of the log is damaged where it is stored.`,
    });
    await change('1');
    await catchUp(b.store, b.log);
    t.equal(count(b.store), count(a.store));
  });

  t.test('a snapshot stores what has changed, and what changes in it is not used', async (t) => {
    const a = await openNode(t, postgres.url, { node: 'a', dataDir: first });
    await a.store.write(() => putMeta(a.store, 'serving_settings', systemRandom.bytes(2 << 20)));
    const own = createConnection({ url: postgres.url, name: 'test', clock });
    t.teardown(() => own.close());
    const storedOctets = async (): Promise<number> => {
      const [row] = await postgres.query('SELECT sum(octet_length(body)) AS octets FROM zoneplane.contents');
      return Number(row!['octets']);
    };
    await makeSnapshot(a.store, first, own, 'a');
    const before = await storedOctets();
    await increase(a.store);
    await makeSnapshot(a.store, first, own, 'a');
    t.ok((await storedOctets()) < before * 1.5, 'the second one shares what is the same');
    const fresh = makeDirectory(t);
    await fetchSnapshot(own, fresh);
    t.equal(contentIn(fresh), contentIn(first));
    for (const _ of [1, 2]) {
      await increase(a.store);
      await makeSnapshot(a.store, first, own, 'a');
    }
    const [unused] = await postgres.query(
      'SELECT count(*) AS count FROM zoneplane.contents c WHERE NOT EXISTS (SELECT FROM zoneplane.pieces p WHERE p.digest = c.digest)',
    );
    t.equal(Number(unused!['count']), 0, 'what no snapshot needs is removed');
    const [newest] = await listSnapshots(own);
    await postgres.query(
      `UPDATE zoneplane.contents SET body = set_byte(body, 30, get_byte(body, 30) # 1)
       WHERE digest = (SELECT digest FROM zoneplane.pieces WHERE number = ${newest!.number} AND piece = 0)`,
    );
    await t.rejects(fetchSnapshot(own, makeDirectory(t)));
  });

  t.test('sslmode=require wants a certificate that is right, and Node warns of nothing', async (t) => {
    const warnings: string[] = [];
    const hear = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', hear);
    t.teardown(() => process.off('warning', hear));
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
      const own = createConnection({ url: `${postgres.url}?sslmode=${mode}`, name: 'test', clock });
      await t.rejects(own.query('SELECT 1'), /does not support SSL/, 'it is not asked without TLS');
      await own.close();
    }
    await sleep(1);
    t.strictSame(warnings, []);
  });
});
