/** Limits of failed attempts. */
import t from 'tap';
import { AppError } from '../../src/base/errors.js';
import { createSignInLimits, networkOf } from '../../src/sign-in/limits.js';
import { TestClock } from '../support/test-clock.js';

const MINUTE = 60_000;

/** Seconds to wait; undefined: it may try. */
function tryOnce(limits: ReturnType<typeof createSignInLimits>, subject: string, network: string): number | undefined {
  try {
    limits.begin(subject, network);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.status === 429 && error.code === 10429) return error.retryAfterSeconds;
    throw error;
  }
}

t.test('an address waits longer with each failure, but is never locked', async (t) => {
  const clock = new TestClock(0);
  const limits = createSignInLimits(clock);
  const attempt = (n: number) => tryOnce(limits, 'ada', `192.0.${n}.0`);
  for (let n = 0; n < 10; n++) t.equal(attempt(n), undefined);
  for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]) {
    t.equal(attempt(20), seconds);
    clock.advance(seconds * 1000 - 1);
    t.equal(attempt(21), 1, 'not a moment earlier');
    clock.advance(1);
    t.equal(attempt(22), undefined);
  }
  t.equal(tryOnce(limits, 'grace', '192.0.23.0'), undefined, 'others do not wait');
  clock.advance(31 * MINUTE);
  for (let n = 0; n < 10; n++) t.equal(attempt(n), undefined, 'long ago');
});

t.test('success makes it begin anew, and many at once count', async (t) => {
  const limits = createSignInLimits(new TestClock(0));
  for (let n = 0; n < 9; n++) limits.begin('ada', '192.0.2.0');
  limits.begin('ada', '192.0.2.0').succeeded();
  for (let n = 0; n < 10; n++) t.equal(tryOnce(limits, 'ada', '192.0.2.0'), undefined);
  t.equal(tryOnce(limits, 'ada', '192.0.2.0'), 1, 'none of these has been answered yet');
});

t.test('strangers elsewhere cannot make a person wait where the person has signed in', async (t) => {
  const clock = new TestClock(0);
  const limits = createSignInLimits(clock);
  limits.begin('ada', '192.0.2.0').succeeded();
  for (let n = 0; n < 10; n++) tryOnce(limits, 'ada', `198.51.${n}.0`);
  t.equal(tryOnce(limits, 'ada', '203.0.113.0'), 1, 'the person waits elsewhere');
  for (let n = 0; n < 10; n++) t.equal(tryOnce(limits, 'ada', '192.0.2.0'), undefined);
  t.equal(tryOnce(limits, 'ada', '192.0.2.0'), 1, 'guesses from there are counted, too');
  limits.begin('password mary', '192.0.2.0').succeeded();
  for (let n = 0; n < 10; n++) {
    for (const guess of ['mary from 192.0.2.0', 'from 192.0.2.0 password mary']) {
      tryOnce(limits, `password ${guess}`, `198.51.${n}.0`);
    }
  }
  t.equal(
    tryOnce(limits, 'password mary', '192.0.2.0'),
    undefined,
    'no address that a stranger sends is counted as hers',
  );
  for (let n = 0; n < 9; n++) limits.begin('grace', `192.0.${n}.0`).succeeded();
  for (let n = 0; n < 10; n++) tryOnce(limits, 'grace', `198.51.${n}.0`);
  t.equal(tryOnce(limits, 'grace', '192.0.0.0'), 1, 'the ninth network has replaced the first');
  t.equal(tryOnce(limits, 'grace', '192.0.8.0'), undefined);
});

t.test('a network has a hundred failures in fifteen minutes', async (t) => {
  const clock = new TestClock(0);
  const limits = createSignInLimits(clock);
  for (let n = 0; n < 50; n++) limits.begin(`right ${n}`, '192.0.2.0').succeeded();
  for (let n = 0; n < 100; n++) t.equal(tryOnce(limits, `wrong ${n}`, '192.0.2.0'), undefined);
  clock.advance(5 * MINUTE);
  t.equal(tryOnce(limits, 'ada', '192.0.2.0'), 600);
  t.equal(tryOnce(limits, 'ada', '192.0.3.0'), undefined, 'the person comes from elsewhere');
  clock.advance(10 * MINUTE);
  t.equal(tryOnce(limits, 'ada', '192.0.2.0'), undefined);
  t.equal(networkOf('192.0.2.77'), '192.0.2.0');
  t.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::');
});
