/** A cache of several owners: beside a plain model, whoever has most loses what it has not used for longest. */
import t from 'tap';
import { FairCache } from '../../../src/base/lists/fair-cache.js';

interface Modelled {
  readonly owner: number;
  readonly key: number;
  readonly size: number;
}

/** In the order of use. */
class Model {
  all: Modelled[] = [];

  constructor(private readonly most: number) {}

  of(owner: number): number {
    return this.all.reduce((sum, one) => (one.owner === owner ? sum + one.size : sum), 0);
  }

  get(key: number): void {
    const found = this.all.find((one) => one.key === key);
    if (found) this.all = [...this.all.filter((one) => one !== found), found];
  }

  delete(key: number): void {
    this.all = this.all.filter((one) => one.key !== key);
  }

  /** Returns what may have been dropped last, by owner: of several that have most, any may lose. */
  set(owner: number, key: number, size: number): void {
    this.delete(key);
    if (size <= this.most) this.all.push({ owner, key, size });
  }
}

/** A pseudorandom sequence (Park and Miller, 1988). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

t.test('it does what a plain model does', async (t) => {
  const most = 40;
  const next = numbers(7);
  const dropped: number[] = [];
  const cache = new FairCache<number, number, number>(most, (key) => dropped.push(key));
  const model = new Model(most);
  for (let step = 0; step < 20_000; step++) {
    const [owner, key] = [next(6), next(60)];
    // A key has one owner most of the time.
    const of = step % 50 === 0 ? owner : key % 6;
    dropped.length = 0;
    const act = next(10);
    if (act === 0) {
      cache.delete(key);
      model.delete(key);
    } else if (act < 5) {
      const value = cache.get(key);
      if ((value === key) !== model.all.some((one) => one.key === key)) t.fail(`step ${step}: ${key} is ${value}`);
      model.get(key);
    } else {
      const size = step % 97 === 0 ? most + 1 : 1 + next(act === 9 ? 12 : 2);
      cache.set(of, key, key, size);
      model.set(of, key, size);
      for (const gone of dropped) {
        const loser = model.all.find((one) => one.key === gone)!;
        const largest = Math.max(...model.all.map((one) => model.of(one.owner)));
        if (model.of(loser.owner) !== largest) t.fail(`step ${step}: ${loser.owner} has not most`);
        if (model.all.find((one) => one.owner === loser.owner) !== loser) t.fail(`step ${step}: ${gone} is not oldest`);
        model.delete(gone);
      }
    }
    const size = model.all.reduce((sum, one) => sum + one.size, 0);
    if (cache.size !== size || cache.count !== model.all.length || size > most) t.fail(`step ${step}: ${cache.size}`);
  }
  t.same([...cache.keys()].sort(), model.all.map(({ key }) => key).sort());
});

t.test('who is alone may have all, and keeps its share from then on', async (t) => {
  const cache = new FairCache<string, string, number>(100);
  const fill = (owner: string, count: number): void => {
    for (let i = 0; i < count; i++) cache.set(owner, `${owner} ${i}`, i);
  };
  const has = (owner: string): number => [...cache.keys()].filter((key) => key.startsWith(owner)).length;
  fill('b', 1000);
  t.equal(has('b'), 100);
  fill('a', 10);
  fill('b', 1000);
  t.same([has('a'), has('b')], [10, 90]);
  fill('c', 1000);
  t.same([has('a'), has('b'), has('c')], [10, 45, 45]);
  cache.clear();
  t.same([cache.size, cache.count], [0, 0]);
  fill('c', 1000);
  t.equal(has('c'), 100, 'nothing is remembered of those before');
});

t.test('where all have as much, whoever comes gets a place', async (t) => {
  const cache = new FairCache<number, number, number>(10);
  for (let owner = 0; owner < 10; owner++) cache.set(owner, owner, owner);
  for (let owner = 10; owner < 25; owner++) {
    cache.set(owner, owner, owner);
    t.equal(cache.peek(owner), owner);
  }
  t.same([...cache.keys()], [15, 16, 17, 18, 19, 20, 21, 22, 23, 24], 'who came first loses first');
  cache.set(20, 100, 0);
  t.equal(cache.peek(20), undefined, 'who would have more loses its own');
  t.equal(cache.peek(15), 15);
});
