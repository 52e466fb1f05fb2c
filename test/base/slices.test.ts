/** The budgets of long work. */
import t from 'tap';
import { beginShared } from '../../src/base/slices.js';
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
