/** Places of origins in the table of states: they belong to the nodes that read them, and are free when none does. */
import t from 'tap';
import { createStatePlaces, UNPROBED } from '../../src/publish/state-places.js';

t.test('places are taken, kept, and free when nothing reads them', async (t) => {
  const places = createStatePlaces(6);
  const first = places.take(1, ['a', 'b']);
  t.notOk([first.pool, ...first.origins.values()].includes(UNPROBED));
  t.equal(places.take(1, ['a', 'b']), first, 'load balancers that see the same pool share them');
  const second = places.take(1, ['b', 'c']);
  t.equal(second.pool, first.pool);
  t.equal(second.origins.get('b'), first.origins.get('b'), 'an origin that stays keeps its place');
  t.strictSame([...places.find(1)!.origins.keys()], ['a', 'b', 'c'], 'what any node reads is followed');
  t.throws(() => places.take(1, ['b', 'd', 'e']), RangeError);
  t.throws(() => places.take(2, ['a']), RangeError, 'and nothing of it is taken');
  places.release(first);
  t.throws(() => places.take(2, ['a']), RangeError, 'another node reads them');
  places.release(first);
  t.strictSame([...places.find(1)!.origins.keys()], ['b', 'c']);
  const other = places.take(2, ['a']);
  t.equal(other.pool, first.origins.get('a'));
  places.release(second);
  t.equal(places.find(1), undefined);
  t.ok(places.take(3, ['a', 'b']));
});

t.test('endless edits and deletions stay within the table', async (t) => {
  const places = createStatePlaces(100);
  const live: ReturnType<typeof places.take>[] = [];
  for (let i = 0; i < 20_000; i++) {
    const before = places.take(i, ['x']);
    live.push(places.take(i, [`y${i}`]));
    places.release(before);
    if (live.length > 20) places.release(live.shift()!);
  }
  for (const { origins } of live) t.equal(origins.size, 1);
});
