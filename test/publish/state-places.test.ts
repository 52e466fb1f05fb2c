/** Places of origins in the table of states: what is gone gives them back, and nothing takes them while answers may still read them. */
import t from 'tap';
import { createStatePlaces, UNPROBED } from '../../src/publish/state-places.js';

t.test('places are taken, kept, and taken again when nothing reads them', async (t) => {
  const places = createStatePlaces(5);
  const first = places.keep(1, ['a', 'b']);
  const taken = [first.pool, ...first.origins.values()];
  t.notOk(taken.includes(UNPROBED));
  t.equal(places.keep(1, ['b', 'c']).origins.get('b'), taken[2], 'an origin that stays keeps its place');
  t.throws(() => places.keep(1, ['b', 'c', 'd']), RangeError, 'what was given back may still be read');
  places.settle();
  t.ok(places.keep(1, ['b', 'c', 'e']).origins.get('e'));
  places.drop(1);
  t.equal(places.find(1), undefined);
  t.throws(() => places.keep(2, []), RangeError);
  places.settle();
  t.ok(places.keep(2, ['a', 'b', 'c']));
});

t.test('endless edits and deletions stay within the table', async (t) => {
  const places = createStatePlaces(200);
  const live = new Set<number>();
  for (let i = 0; i < 20_000; i++) {
    // Twenty pools live; each is edited, and the oldest one is deleted without any notice.
    live.add(i);
    if (live.size > 20) live.delete(i - 20);
    places.keep(i, ['x']);
    places.keep(i, [`y${i}`]);
    places.sweep((seq) => live.has(seq));
    places.settle();
  }
  for (const seq of live) t.ok(places.find(seq));
});
