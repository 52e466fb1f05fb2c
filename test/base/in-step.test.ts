/** Timers in step. */
import t from 'tap';
import { untilNext } from '../../src/base/in-step.js';

t.test('periods and multiples of them end together, whenever they begin', async (t) => {
  for (const nowMs of [0, 1, 130, 499.4, 500, 731.25, 999]) {
    for (const periodMs of [500, 1000, 5000]) {
      const waitMs = untilNext(nowMs, periodMs);
      t.equal((nowMs + waitMs) % periodMs, 0, `${nowMs} ms, every ${periodMs}`);
      t.ok(waitMs >= periodMs / 4 && waitMs <= periodMs * 1.25, `${waitMs} ms`);
    }
  }
  t.equal(untilNext(999.5, 500), 500.5, 'a timer that rings early does not ring twice');
});
