/** While a new generation of the image is made, edits and small zones are published, and large zones wait for it. */
import t, { type Test } from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { applyBatch, createRecord } from '../../src/control/records/records.js';
import { createZone } from '../../src/control/zones/zones.js';
import { parseName } from '../../src/dns/name.js';
import { hashName, viewOf, ZoneWord } from '../../src/image/layout.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower, type Follower } from '../../src/publish/follow.js';
import { createZoneSource, type ZoneSource } from '../../src/publish/source.js';
import { startZone } from '../control/fixture.js';
import { HastyClock } from '../support/hasty-clock.js';

/** Names for which there is room in the first generation. */
const ROOM = 512;
const LOOKS_OF_A_SLICE = 8;

interface Published {
  readonly source: ZoneSource;
  readonly writer: ImageWriter;
  readonly follower: Follower;
  has(apex: string, name: string): boolean;
}

/** An image whose renewal takes several steps. `records`: of a zone, for which there should be room. */
function publish(t: Test, source: ZoneSource, records: ZoneSource['recordCount'] = source.recordCount): Published {
  const writer = new ImageWriter({ seed: 7, slots: 2 * ROOM });
  const follower = createFollower({
    source: { ...source, recordCount: records },
    writer,
    clock: new HastyClock(LOOKS_OF_A_SLICE),
    log: silentLogger(),
  });
  t.teardown(() => follower.close());
  return {
    ...{ source, writer, follower },
    has(apex, name) {
      const { reader } = writer;
      const wire = parseName(apex);
      const zone = reader.findZone(hashName(reader.seed, wire), viewOf(wire), 0, wire.length);
      return zone !== 0 && writer.findNode(reader.words[zone + ZoneWord.number]!, parseName(name)) !== 0;
    },
  };
}

const addresses = (count: number, prefix: string): { type: 'A'; name: string; content: string }[] =>
  Array.from({ length: count }, (_, i) => ({ type: 'A', name: `${prefix}${i}`, content: '192.0.2.1' }));

t.test('edits and small zones are published while a new generation is made, large zones after that', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const source = createZoneSource(ctx.store, ctx.settings);
  let largeZone = 0;
  const recordCount: ZoneSource['recordCount'] = (zone) => (zone.seq === largeZone ? 5000 : source.recordCount(zone));
  const { writer, follower, has } = publish(t, source, recordCount);
  await applyBatch(ctx, zoneId, { posts: addresses(ROOM - 24, 'n') });
  follower.loadAll();
  t.notOk(writer.isRenewing());
  for (let i = 0; !writer.isRenewing() && i < 24; i++) {
    await createRecord(ctx, zoneId, { type: 'A', name: `more${i}`, content: '192.0.2.1' });
    follower.catchUp();
  }
  t.ok(writer.isRenewing(), 'before the room is used up');
  t.ok(follower.hasWork());
  const { generation } = writer.usage();

  await createRecord(ctx, zoneId, { type: 'A', name: 'meanwhile', content: '192.0.2.1' });
  const { id } = await createZone(ctx, { name: 'large.test' });
  largeZone = Math.max(...source.servedZones());
  await createZone(ctx, { name: 'small.test' });
  for (let i = 0; !has('small.test.', 'small.test.') && i < 50; i++) {
    t.notOk(has('large.test.', 'large.test.'));
    follower.catchUp();
  }
  t.ok(has('example.com.', 'meanwhile.example.com.'));
  t.ok(has('small.test.', 'small.test.'));
  t.ok(writer.isRenewing());
  t.equal(writer.usage().generation, generation);
  t.match(follower.loadingZones(), [{ zone: largeZone }], id);

  while (writer.isRenewing()) follower.catchUp();
  t.ok(writer.usage().generation > generation);
  t.ok(has('small.test.', 'small.test.'));
  t.ok(has('example.com.', 'n0.example.com.'));
  while (follower.hasWork()) follower.catchUp();
  t.ok(has('large.test.', 'large.test.'));
  t.strictSame(follower.heldZones(), []);
});

t.test('a large change without room waits for the new generation, while others are published', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const { source, writer, follower, has } = publish(t, createZoneSource(ctx.store, ctx.settings));
  await applyBatch(ctx, zoneId, { posts: addresses(ROOM / 2, 'n') });
  follower.loadAll();
  const { generation } = writer.usage();
  t.notOk(writer.isRenewing());

  await applyBatch(ctx, zoneId, { posts: addresses(ROOM, 'late') });
  follower.catchUp();
  t.ok(writer.isRenewing(), 'the room is made in steps');
  await createZone(ctx, { name: 'small.test' });
  follower.catchUp();
  t.ok(has('small.test.', 'small.test.'));
  t.equal(writer.usage().generation, generation);
  while (writer.isRenewing()) {
    t.notOk(has('example.com.', 'late0.example.com.'));
    follower.catchUp();
  }
  while (follower.hasWork()) follower.catchUp();
  t.ok(has('example.com.', `late${ROOM - 1}.example.com.`));
  t.equal(writer.usage().generation, generation + 1, 'one had room for everything');
  t.equal(follower.appliedChange(), source.lastChange());
  t.strictSame(follower.heldZones(), []);
});
