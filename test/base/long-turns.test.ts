/** What counts as a long turn, and whose it is. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { threadProcessorUs } from '../../src/base/clock.js';
import { nameOfTurn, nameTurns, watchLongTurns } from '../../src/base/long-turns.js';
import { TestClock } from '../support/test-clock.js';

/** Uses so much processor time, whatever else the machine does. */
function work(ms: number): void {
  const endUs = threadProcessorUs() + ms * 1000;
  while (threadProcessorUs() < endUs);
}

async function settledWork(times: number, ms: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    work(ms);
    await null;
  }
}

t.test('turns that keep others waiting are counted by their names', async (t) => {
  await nextTurn();
  const watch = watchLongTurns('test');
  t.teardown(watch.stop);
  const counted = async (): Promise<Record<string, number>> => {
    await nextTurn();
    const totals = watch.samples().filter(({ name }) => name === 'long_turns_total');
    return Object.fromEntries(totals.map(({ labels, value }) => [labels['route']!, value]));
  };
  t.strictSame(await counted(), {});
  await nameTurns('short', async () => {
    for (let i = 0; i < 30; i++) {
      work(2);
      await nextTurn();
    }
  });
  t.strictSame(await counted(), {}, 'many short turns are none');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
  t.strictSame(await counted(), {}, 'time that something else uses does not count');
  await nameTurns('GET /a', async () => {
    await nextTurn();
    work(60);
    await nextTurn();
    t.equal(nameOfTurn(), 'GET /a');
  });
  t.strictSame(await counted(), { 'GET /a': 1 }, 'the name stays with what follows');
  await nameTurns('promises', () => settledWork(12, 5));
  t.strictSame(await counted(), { 'GET /a': 1, promises: 1 }, 'what follows at once belongs to the turn');
  const [longest] = watch
    .samples()
    .filter(({ name, labels }) => name === 'longest_turn_seconds' && labels['route'] === 'GET /a');
  t.ok(longest!.value >= 0.05);
  t.equal(nameOfTurn(), '');
});

t.test('a thread that is watched in part is watched in one second of ten', async (t) => {
  const clock = new TestClock();
  const watch = watchLongTurns('test', clock);
  t.teardown(watch.stop);
  const longTurns = async (): Promise<number> => {
    await nextTurn();
    await nameTurns('long', async () => {
      await nextTurn();
      work(40);
      await nextTurn();
    });
    await nextTurn();
    return watch.samples().find(({ name }) => name === 'long_turns_total')?.value ?? 0;
  };
  t.equal(await longTurns(), 1);
  clock.advance(1000);
  t.equal(await longTurns(), 1, 'not now');
  clock.advance(9000);
  t.equal(await longTurns(), 2, 'what was used meanwhile is none');
});
