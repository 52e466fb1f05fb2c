/** The system's clock: wall-clock time follows the system when it is set; intervals never jump. */
import t from 'tap';
import { SystemClock, type SystemTime, steadyMs } from '../../src/base/clock.js';

const START = Date.UTC(2026, 10, 25);
const DAY = 86_400_000;

/** A system whose wall clock and monotonic clock the test sets. */
function settable() {
  const system = { wallMs: START, steadyMs: 5000 };
  const time: SystemTime = { wallMs: () => Math.floor(system.wallMs), steadyMs: () => system.steadyMs };
  const pass = (ms: number): void => {
    system.wallMs += ms;
    system.steadyMs += ms;
  };
  return { system, pass, clock: new SystemClock(time) };
}

t.test('the wall clock is set while the program runs: stamps follow, intervals do not', async (t) => {
  const { system, pass, clock } = settable();
  t.equal(Math.floor(clock.nowUs() / 1000), START);
  pass(10);
  for (const days of [2, -4, 2]) {
    const beganMs = steadyMs(clock);
    system.wallMs += days * DAY;
    pass(1);
    const stampMs = clock.nowUs() / 1000;
    t.ok(Math.abs(stampMs - system.wallMs) < 2, `${days} days: the stamp is the time that the system says`);
    t.equal(clock.nowMs(), Math.floor(system.wallMs));
    t.equal(steadyMs(clock) - beganMs, 1, 'a millisecond has passed');
  }
});

t.test('stamps are unique and in order, also when the clock is put back a little', async (t) => {
  const { system, pass, clock } = settable();
  let last = 0;
  for (let at = 0; at < 500; at++) {
    pass(at % 3 === 0 ? 0.0004 : 0.3);
    if (at % 100 === 99) system.wallMs -= 20;
    const stamp = clock.nowUs();
    t.ok(stamp > last, `stamp ${at} is later than the one before`);
    last = stamp;
  }
});

t.test('that the clock was ahead and is put back is noticed, however short it was', async (t) => {
  const { system, pass, clock } = settable();
  clock.nowUs();
  for (const [aheadMs, times] of [
    [9000, 0],
    [2 * DAY, 1],
    [11_000, 2],
  ] as const) {
    system.wallMs += aheadMs;
    clock.nowMs();
    system.wallMs -= aheadMs;
    pass(1);
    t.equal(clock.timesPutBack(), times);
  }
});

t.test('the clocks of the program', async (t) => {
  const clock = new SystemClock();
  t.ok(Math.abs(clock.nowUs() / 1000 - Date.now()) < 60_000, 'microseconds since 1970');
  const began = clock.steadyUs();
  t.ok(clock.steadyUs() >= began, 'never goes back');
});
