/** Publishing takes turns: owners that take long, such as those of load balancers with many origins, are compiled in several steps. */
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { applyBatch, createRecord } from '../../src/control/records/records.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import { startZone } from '../control/fixture.js';

const RECORDS = 100;

t.test('no step compiles more owners than it has time for', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  const source = createZoneSource(ctx.store, ctx.settings);
  let read = 0;
  const slow: typeof source = {
    ...source,
    owner(...of) {
      read++;
      clock.advance(1);
      return source.owner(...of);
    },
  };
  const writer = new ImageWriter({ seed: 7 });
  const follower = createFollower({ source: slow, writer, clock, log: silentLogger() });
  t.teardown(() => follower.close());
  follower.loadAll();
  const follow = (): number[] => {
    const steps: number[] = [];
    do {
      read = 0;
      follower.catchUp();
      steps.push(read);
    } while (follower.hasWork());
    return steps;
  };
  const address = (i: number): string => `192.0.2.${i}`;
  await applyBatch(ctx, zoneId, {
    posts: Array.from({ length: RECORDS }, (_, i) => ({ type: 'A', name: `one${i}`, content: address(i) })),
  });
  const ofOne = follow();
  t.ok(ofOne.length > RECORDS / 20, 'one change of many owners');
  t.ok(Math.max(...ofOne) <= 20, ofOne.join());
  for (let i = 0; i < RECORDS; i++) await createRecord(ctx, zoneId, { type: 'A', name: `n${i}`, content: address(i) });
  const ofMany = follow();
  t.ok(ofMany.length > 1, 'many changes of one owner');
  t.ok(Math.max(...ofMany) <= 60, ofMany.join());
  const before = writer.usage().nodes;
  const fresh = new ImageWriter({ seed: 7 });
  const anew = createFollower({ source, writer: fresh, clock, log: silentLogger() });
  anew.loadAll();
  anew.close();
  t.equal(fresh.usage().nodes, before);
});
