/** Mail about events: when it is sent, and what is in it. */
import t from 'tap';
import type { Attempt } from '../../src/alerts/send.js';
import { until } from '../support/until.js';
import { alertWorld } from './world.js';

const DELIVERED: Attempt = {
  ...{ delivered: true, status: undefined, reason: undefined, answer: undefined, durationMs: 1, isGone: false },
};

const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => prefix + i);

t.test('a mail has the events of five seconds, and the next one those of five minutes', async (t) => {
  const world = await alertWorld(t);
  const zone = await world.createZone('mailed.test');
  const other = await world.createZone('other.test');
  const mailed: string[][] = [];
  const deliverer = world.startDeliverer({
    async send(_target, alerts) {
      mailed.push(alerts.map(({ event }) => String(event!.name).split('.')[0]!));
      return DELIVERED;
    },
  });
  const mechanisms = { email: [{ id: 'admin@localhost' }] };
  await world.policy([], { mechanisms, filters: { zones: [zone] } });
  const add = async (names: readonly string[], to = zone): Promise<void> => {
    const posts = names.map((name) => ({ type: 'A', name, content: '198.51.100.1' }));
    const { status } = await world.call('POST', `/zones/${to}/dns_records/batch`, { posts });
    t.equal(status, 200);
    deliverer.look();
  };
  const sent = (count: number): Promise<void> => until(() => mailed.length === count, `${count} mails`);
  deliverer.look();
  await add(['first']);
  world.clock.advance(4_000);
  await add(['second', 'third']);
  t.strictSame(mailed, [], 'events are still gathered');
  world.clock.advance(1_000);
  await sent(1);
  t.strictSame(mailed, [['first', 'second', 'third']]);
  await until(() => deliverer.counts.delivered === 3, 'what was sent to be known');
  const many = numbered('n', 60);
  for (const at of [0, 20, 40]) {
    await add(many.slice(at, at + 20));
    await add(numbered(`of${at}-`, 150), other);
  }
  world.clock.advance(299_000);
  t.equal(mailed.length, 1, 'not yet');
  await until(() => {
    world.clock.advance(1_000);
    return mailed.length === 2;
  }, 'the second mail');
  t.strictSame(mailed[1], many.slice(0, 50), 'as many as one mail may have, although others come in between');
  await until(() => {
    world.clock.advance(1_000);
    return mailed.length === 3;
  }, 'the third mail');
  t.strictSame(mailed[2], many.slice(50), 'and the others');
});
