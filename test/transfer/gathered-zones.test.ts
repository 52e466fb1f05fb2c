import t from 'tap';
import { gatherZones } from '../../src/transfer/gathered-zones.js';
import { until } from '../support/until.js';

t.test('the zones of a storm of NOTIFY share a few writes, and a failed write costs no others', async (t) => {
  let writes = 0;
  const store = {
    async write<Value>(work: () => Value): Promise<Value> {
      if (++writes === 2) throw new Error('the store is locked');
      return work();
    },
  };
  const written: number[] = [];
  const failures: string[] = [];
  const tell = gatherZones(
    store as never,
    (zone) => written.push(zone),
    (reason) => failures.push(reason),
  );
  for (let i = 0; i < 1000; i++) tell(i % 250);
  await until(() => writes === 4);
  t.same(
    written,
    [0, ...Array.from({ length: 149 }, (_, i) => 101 + i), 0],
    'the first one at once, and again; a hundred were in the write that failed',
  );
  t.same(failures, ['the store is locked']);
  tell(7);
  await until(() => writes === 5);
  t.equal(written.at(-1), 7, 'and those that come later');
});
