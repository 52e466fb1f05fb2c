import t from 'tap';
import { finished, sortInSteps } from '../../src/base/slices.js';
import { seededRandom } from '../support/seeded-random.js';

t.test('very many items are in order, equal ones as they stood, after steps of a few hundred', (t) => {
  const octets = seededRandom(3).bytes(40_000);
  for (const count of [0, 1, 499, 500, 501, 1500, 20_000]) {
    const items = Array.from({ length: count }, (_, at) => ({
      key: (octets[2 * at]! << 4) | (octets[2 * at + 1]! >> 4),
      at,
    }));
    const given = [...items];
    t.same(
      finished(sortInSteps(items, (a, b) => a.key - b.key)),
      [...items].sort((a, b) => a.key - b.key),
      `${count} items`,
    );
    t.same(items, given, 'the given ones stay');
  }
  let steps = 0;
  for (const _ of sortInSteps(
    Array.from({ length: 20_000 }, (_, i) => -i),
    (a, b) => a - b,
  ))
    steps++;
  t.ok(steps > 200, `${steps} steps`);
  t.end();
});
