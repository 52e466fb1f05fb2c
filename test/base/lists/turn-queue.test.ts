/** Items of several classes, taken in turns. */
import t from 'tap';
import { createTurnQueue } from '../../../src/base/lists/turn-queue.js';

function queueOf(items: string): ReturnType<typeof createTurnQueue<string>> {
  const queue = createTurnQueue<string>((item) => item[0]!);
  for (const item of items.split(' ')) queue.add(item);
  return queue;
}

t.test('each class gets its turn, whoever has added most', (t) => {
  const queue = queueOf('b1 b2 b3 b4 a1 c1');
  t.strictSame(queue.take(4), ['b1', 'a1', 'c1', 'b2']);
  queue.add('a2');
  t.strictSame(queue.take(10), ['b3', 'a2', 'b4']);
  t.equal(queue.size, 0);
  t.strictSame(queue.take(1), []);
  t.end();
});

t.test('what is put back comes first and keeps its order', (t) => {
  const queue = queueOf('b1 b2 b3 a1 a2');
  const taken = queue.take(4);
  t.strictSame(taken, ['b1', 'a1', 'b2', 'a2']);
  queue.putBack(taken.slice(1));
  t.equal(queue.size, 4);
  t.strictSame(queue.take(10), ['a1', 'b2', 'a2', 'b3']);
  t.end();
});
