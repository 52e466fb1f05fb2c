/** Names of very many labels in a zone that is denied by hashes: each label is a name with a record and a signature. */
import t, { type Test } from 'tap';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import { importRecords } from '../../../src/control/imports/records.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord, deleteRecord, editRecord, listRecords } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { checkLog, type FollowedZone, followZone } from '../../support/followed-zone.js';
import { requireVerified } from '../../support/signed-copy.js';
import { openOneCopy } from '../../support/two-copies.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { refusal, startControl } from '../fixture.js';

const LABELS = 110;
const deep = (below: string): string => `${'a.'.repeat(LABELS - 1)}${below}`;
const address = (below: string) => ({ type: 'A', name: deep(below), content: '192.0.2.1' });

interface World {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly world: FollowedZone;
  /** Signatures that threads made before the write, since the last call. */
  readonly ahead: () => number;
}

async function startHashed(t: Test): Promise<World> {
  const { ctx: base } = await startControl(t, {}, openOneCopy);
  const keys = await testZoneKeys(base.store, base.random);
  let signed = 0;
  const threads: typeof keys.threads = {
    sign(orders) {
      signed += orders.length;
      return keys.threads.sign(orders);
    },
  };
  const ctx = { ...base, zoneKeys: { ...keys, threads } };
  const { id: zoneId } = await createZone(ctx, { name: 'deep.test' });
  await editDnssec(ctx, zoneId, { status: 'active', denial: 'nsec3' });
  const ahead = (): number => {
    const made = signed;
    signed = 0;
    return made;
  };
  ahead();
  return { ctx, zoneId, world: followZone(ctx, 'deep.test'), ahead };
}

t.test('they are signed before the write, of single edits, too', async (t) => {
  const { ctx, zoneId, world, ahead } = await startHashed(t);
  const { id } = await createRecord(ctx, zoneId, address('one'));
  t.ok(ahead() > LABELS, 'created');
  requireVerified(world, 'created');
  await editRecord(ctx, zoneId, id, { name: deep('two') });
  t.ok(ahead() > LABELS, 'moved');
  requireVerified(world, 'moved');
  await deleteRecord(ctx, zoneId, id);
  t.ok(ahead() > 0, 'removed');
  requireVerified(world, 'removed');
  await createRecord(ctx, zoneId, { type: 'A', name: 'a.few.labels', content: '192.0.2.1' });
  t.equal(ahead(), 0, 'a usual one is signed in its write');
  checkLog(world);
});

t.test('a batch of few records that makes many names is planned', async (t) => {
  const { ctx, zoneId, world, ahead } = await startHashed(t);
  await createRecord(ctx, zoneId, { type: 'A', name: 'left', content: '192.0.2.1' });
  const { posts } = await applyBatch(ctx, zoneId, { posts: ['x', 'y', 'z', 'a.x', 'a.y', 'z.z'].map(address) });
  t.ok(ahead() > 3 * LABELS, 'created');
  requireVerified(world, 'created');
  await applyBatch(ctx, zoneId, { deletes: posts.slice(0, 4).map(({ id }) => ({ id })) });
  t.ok(ahead() > 0, 'removed');
  requireVerified(world, 'removed');
  const few = ['m', 'n', 'o'].map((name) => ({ type: 'A', name, content: '192.0.2.1' }));
  await applyBatch(ctx, zoneId, { posts: few });
  t.equal(ahead(), 0, 'usual names are signed in the write');
  checkLog(world);
});

t.test('an edit of too many names is refused, however it comes', async (t) => {
  const { ctx, zoneId, world } = await startHashed(t);
  const posts = Array.from({ length: 95 }, (_, i) => address(`x${i}`));
  const text = posts.map(({ name }) => `${name} 300 A 192.0.2.1\n`).join('');
  const edits = [
    () => applyBatch(ctx, zoneId, { posts }),
    () => applyBatch({ ...ctx, dryRun: true }, zoneId, { posts }),
    () => importRecords(ctx, zoneId, text, {}),
  ];
  for (const edit of edits) t.match(await refusal(edit()), { key: 'records.manyNames', status: 400, message: /10000/ });
  t.equal((await listRecords(ctx, zoneId, { perPage: 5 })).totalCount, 0, 'nothing was changed');
  requireVerified(world, 'refused');
});
