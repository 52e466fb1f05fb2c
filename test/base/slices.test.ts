/** The budgets of long work. */
import t from 'tap';
import { beginShared, inSlices } from '../../src/base/slices.js';
import { TestClock } from '../support/test-clock.js';

t.test('changes share a commit although the processor does something else meanwhile, but not for long', async (t) => {
  const clock = new TestClock();
  const isOver = beginShared(clock);
  t.notOk(isOver());
  clock.advance(20);
  t.notOk(isOver(), 'nothing was done in these 20 ms');
  clock.advance(11);
  t.ok(isOver(), 'others wait for the lock');
});

t.test('what takes the processor ends it earlier', async (t) => {
  const clock = new TestClock();
  const isOver = beginShared(clock);
  clock.advance(13);
  for (let turns = 0; !isOver(); turns++) {
    let sum = 0;
    for (let i = 0; i < 1e6; i++) sum += i;
    if (turns > 10_000 || sum < 0) throw new Error('it does not end');
  }
  t.pass();
});

t.test('a change that would take as long as the one before begins only if there is time for it', async (t) => {
  const clock = new TestClock();
  const start = clock.nowMs();
  const processorUs = (): number => (clock.nowMs() - start) * 1000;
  const few = beginShared(clock, processorUs);
  clock.advance(7);
  t.ok(few(), 'a second one would end after 14 ms');
  const more = beginShared(clock, processorUs);
  for (const _ of [1, 2]) {
    clock.advance(4);
    t.notOk(more());
  }
  clock.advance(4);
  t.ok(more());
});

t.test('short works that follow one another share the budget of a turn', async (t) => {
  const clock = new TestClock();
  const turns = [0];
  let isDone = false;
  const count = (): void => {
    turns.push(0);
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const work = function* (): Generator<undefined, void> {
    for (let step = 0; step < 2; step++) {
      clock.advance(2);
      turns[turns.length - 1]!++;
      yield;
    }
  };
  for (let works = 0; works < 6; works++) await inSlices(clock, work(), 1);
  isDone = true;
  t.equal(
    turns.reduce((sum, steps) => sum + steps),
    12,
  );
  t.same(
    turns.filter((steps) => steps > 0),
    [3, 3, 3, 3],
    'each turn has steps until 5 ms are over',
  );
});
