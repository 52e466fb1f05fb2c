/** What many webhooks of an account cost: its events are read once, not once for each webhook. And what waits when policies change. */
import t from 'tap';
import type { SqlValue, Store } from '../../src/store/driver.js';
import { egressTo } from '../support/egress.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { alertWorld, startReceiver } from './world.js';

const WEBHOOKS = 30;
const EVENTS = 20;

/** A store that counts its statements, and the rows of events that they return. */
function counted(store: Store): { readonly store: Store; readonly counts: { prepared: number; rows: number } } {
  const counts = { prepared: 0, rows: 0 };
  const prepare: Store['prepare'] = <Params extends readonly SqlValue[], Row>(sql: string) => {
    counts.prepared++;
    const statement = store.prepare<Params, Row>(sql);
    const count = sql.includes('FROM events') ? 1 : 0;
    return {
      ...statement,
      get(...params: Params) {
        counts.rows += count;
        return statement.get(...params);
      },
      all(...params: Params) {
        const rows = statement.all(...params);
        counts.rows += count * rows.length;
        return rows;
      },
    };
  };
  return { store: Object.assign(Object.create(store), { prepare }), counts };
}

t.test('events are read once for all webhooks of an account, and each gets its own in order', async (t) => {
  const world = await alertWorld(t, { egress: egressTo(new TestClock(), ['127.0.0.1/32']) });
  const receiver = await startReceiver(t);
  const zone = await world.createZone('many.test');
  for (let i = 0; i < WEBHOOKS; i++) {
    const hook = await world.webhook(receiver);
    await world.policy([hook], { filters: { event_type: [i === 0 ? 'record.create' : 'record.delete'] } });
  }
  const { store, counts } = counted(world.store);
  const deliverer = world.startDeliverer({ store });
  const tell = async (names: readonly string[]): Promise<void> => {
    const expected = receiver.got.length + names.length;
    for (const name of names) {
      await world.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name, content: '198.51.100.1' });
      deliverer.look();
    }
    await until(() => {
      world.clock.advance(1);
      return receiver.got.length >= expected;
    }, `${expected} messages`);
  };
  await tell(['first']);
  const [prepared, rows] = [counts.prepared, counts.rows];
  const names = Array.from({ length: EVENTS }, (_, i) => `r${i}`);
  await tell(names);
  const got = receiver.got.slice(1).map(({ body }) => JSON.parse(body).data.subject.name);
  t.strictSame(
    got,
    names.map((name) => `${name}.many.test A`),
  );
  t.equal(counts.prepared, prepared, 'no statement is made for an event');
  // For each event: the number of the newest, the accounts concerned, what policies judge, and what is sent.
  t.ok(counts.rows - rows <= 5 * EVENTS, `${counts.rows - rows} rows for ${EVENTS} events`);
});

t.test('events that wait for a webhook are judged by its new policies', async (t) => {
  const world = await alertWorld(t, { egress: egressTo(new TestClock(), ['127.0.0.1/32']) });
  const receiver = await startReceiver(t);
  const zone = await world.createZone('waiting.test');
  const hook = await world.webhook(receiver);
  await world.policy([hook]);
  const deliverer = world.startDeliverer();
  const arrived = async (count: number): Promise<void> => {
    await until(() => {
      world.clock.advance(1);
      return receiver.got.length >= count;
    }, `${count} messages`);
  };
  receiver.answer = (_request, response) => response.writeHead(503).end();
  for (const name of ['a', 'b', 'c']) {
    await world.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name, content: '198.51.100.1' });
  }
  deliverer.look();
  await arrived(1);
  await until(() => {
    world.clock.advance(1);
    return deliverer.counts.failed === 1;
  }, 'the failure');
  receiver.answer = (_request, response) => response.end();
  await world.policy([hook], { alert_type: 'zoneplane_zone' });
  deliverer.look();
  world.clock.advance(1000);
  await arrived(4);
  const names = receiver.got.map(({ body }) => JSON.parse(body).data.subject.name);
  t.strictSame(
    names,
    ['a', 'a', 'b', 'c'].map((name) => `${name}.waiting.test A`),
  );
});
