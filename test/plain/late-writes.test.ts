/** What is written at the end of a turn comes in its order, whatever one of the writes does, and none waits for more than some others. */
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { MOST_LATE, writeAtEndOfTurn } from '../../src/plain/late-writes.js';

const written: string[] = [];
const faults: unknown[] = [];

function add(name: string, work: () => void = () => {}): void {
  writeAtEndOfTurn({
    writeLate() {
      work();
      written.push(name);
    },
    onFault: (error) => void faults.push(error),
  });
}

t.beforeEach(() => {
  written.length = 0;
  faults.length = 0;
});

t.test('at the end of the turn, and what comes of it in the next one', async (t) => {
  add('a', () => add('c'));
  add('b');
  t.strictSame(written, []);
  await turn();
  t.strictSame(written, ['a', 'b']);
  await turn();
  t.strictSame(written, ['a', 'b', 'c']);
});

t.test('a fault of one is told to that one', async (t) => {
  add('a', () => {
    throw new Error('a fault');
  });
  add('b');
  await turn();
  t.strictSame(written, ['b']);
  t.match(faults, [/a fault/]);
});

t.test('a fault in what is told of a fault keeps no others from being written', async (t) => {
  const broken = (): never => {
    throw new Error('a fault of a fault');
  };
  add('a');
  writeAtEndOfTurn({ writeLate: broken, onFault: broken });
  for (let i = 2; i < MOST_LATE - 1; i++) add(String(i));
  t.throws(() => add('last'), /a fault of a fault/);
  t.strictSame(written, ['a']);
  await turn();
  t.equal(written.length, MOST_LATE - 1);
  for (let i = 0; i < MOST_LATE; i++) add('next');
  t.equal(written.length, 2 * MOST_LATE - 1, 'nor later ones from being written before the end of the turn');
});

t.test('many are written before the end of the turn, without ever beginning within each other', async (t) => {
  let depth = 0;
  let deepest = 0;
  let left = 1000;
  const again = (): void => {
    deepest = Math.max(deepest, ++depth);
    if (left-- > 0) for (let i = 0; i < 2; i++) add('more', again);
    depth--;
  };
  for (let i = 0; i < MOST_LATE - 1; i++) add(String(i), again);
  t.equal(written.length, 0);
  add('last', again);
  t.equal(written.length, MOST_LATE);
  t.equal(written.at(-1), 'last');
  while (left > 0) await turn();
  await turn();
  t.equal(deepest, 1);
  t.strictSame(faults, []);
});
