/** Messages to users: few in an hour, in turns, and a share for whoever has sent none. */
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { createLetters } from '../../src/sign-in/letters.js';
import { TestClock } from '../support/test-clock.js';

const LIMITS = { to: 3, of: 10, inAll: 40 };

t.test('greedy accounts leave messages for others', (t) => {
  const letters = createLetters(new TestClock(), silentLogger(), LIMITS);
  let sent = 0;
  const counted = (of: string): number => {
    let own = 0;
    while (letters.count(`somebody-${sent}@example.com`, of)) {
      own++;
      sent++;
    }
    return own;
  };
  t.equal(counted('first'), 10, 'alone, an account has all that one may have');
  t.equal(counted('second'), 10);
  t.strictSame([counted('third'), counted('fourth')], [10, 5], 'half of what the others leave');
  for (let n = 5; n <= 30; n++) t.ok(counted(`account-${n}`) >= 1, 'whoever has sent none may send one');
  t.ok(sent <= 80, `${sent} in all, at most twice as many`);
  t.end();
});

t.test('an hour later there is room again, and one address gets few', (t) => {
  const clock = new TestClock();
  const letters = createLetters(clock, silentLogger(), LIMITS);
  const ask = (): boolean[] => ['a', 'b', 'c', 'd'].map((of) => letters.count('one@example.com', of));
  t.strictSame(ask(), [true, true, true, false]);
  clock.advance(3_600_000);
  t.strictSame(ask(), [true, true, true, false]);
  t.end();
});

t.test('a message that takes long keeps nobody else waiting', async (t) => {
  const letters = createLetters(new TestClock(), silentLogger(), LIMITS);
  let end = (): void => {};
  let sent = 0;
  letters.later('slow', () => new Promise((resolve) => (end = resolve)));
  letters.later('slow', async () => void t.equal(sent, 1, 'the next one of the same waits'));
  const other = new Promise<void>((resolve) => {
    letters.later('other', async () => {
      sent++;
      resolve();
    });
  });
  await other;
  end();
  await letters.idle();
});

t.test('while the mail server is slow, accounts take turns', async (t) => {
  const letters = createLetters(new TestClock(), silentLogger(), LIMITS);
  const done: string[] = [];
  for (let n = 0; n < 30; n++) letters.later('greedy', async () => void done.push('greedy'));
  letters.later('other', async () => void done.push('other'));
  letters.later('other', () => Promise.reject(new Error('away')));
  letters.later('third', async () => void done.push('third'));
  await letters.idle();
  t.equal(done.length, 12, 'ten of the greedy one were kept');
  t.ok(done.indexOf('other') < 3, 'after one of the greedy one');
  t.ok(done.indexOf('third') < 3);
  letters.later('other', async () => void done.push('later'));
  await letters.idle();
  t.equal(done.at(-1), 'later', 'it begins again after an end and after a failure');
});
