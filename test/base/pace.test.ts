/** Pieces of bodies in turns: by account, then by client, and few while connections come. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { createBodyPace, noteNewcomer } from '../../src/base/pace.js';

/** What was made in each turn of the event loop, without the turns in which nothing was. */
async function turnsOf(most: number, waiting: readonly (readonly [number, string])[], each = (): void => {}) {
  const pace = createBodyPace(most);
  const turns: string[][] = [];
  let made: string[] = [];
  for (const [account, client] of waiting) pace.wait(account, client, () => made.push(`${account}${client}`));
  t.strictSame(made, [], 'not even the first one is made at once');
  let passed = 0;
  for (let left = waiting.length; left > 0; passed++) {
    each();
    await nextTurn();
    left -= made.length;
    if (made.length > 0) turns.push(made);
    made = [];
  }
  return { turns, passed };
}

t.test('accounts take turns, and clients of an account', async (t) => {
  const waiting = [...Array.from({ length: 4 }, () => [1, 'a'] as const), [1, 'b'], [2, 'c']] as const;
  const { turns } = await turnsOf(2, waiting);
  t.strictSame(turns, [
    ['1a', '2c'],
    ['1b', '1a'],
    ['1a', '1a'],
  ]);
});

t.test('while connections come, one piece is made in four turns', async (t) => {
  const waiting = Array.from({ length: 8 }, () => [1, 'a'] as const);
  t.equal((await turnsOf(8, waiting)).passed, 1);
  const { turns, passed } = await turnsOf(8, waiting, noteNewcomer);
  t.equal(turns.length, 8);
  t.equal(passed, 32);
});
