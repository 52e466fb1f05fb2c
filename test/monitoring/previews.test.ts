/** Previews of monitors: how many are kept. */
import t from 'tap';
import { createPreviews } from '../../src/monitoring/previews.js';
import { TestClock } from '../support/test-clock.js';

t.test('accounts that keep many previews leave room for others', async (t) => {
  const clock = new TestClock();
  const previews = createPreviews({ clock, node: 'here', once: async () => undefined });
  let ids = 0;
  const begin = (account: number): boolean => previews.begin(`${++ids}`, account, [], {}) !== undefined;
  const beginAll = (account: number): number => {
    let begun = 0;
    while (begin(account)) begun++;
    return begun;
  };
  t.equal(beginAll(1), 20, 'of one account');
  for (let account = 2; account <= 60; account++) beginAll(account);
  t.notOk(begin(1));
  for (let account = 61; account <= 1000; account++) begin(account);
  t.equal(beginAll(1001), 1, 'one that has none may have one');
  for (let account = 1002; account <= 3000; account++) begin(account);
  t.notOk(begin(3001), 'and there is an end');
  clock.advance(600_000);
  t.equal(beginAll(3001), 20);
});
