/** Many edits of a signed zone: their write gives others their turn, who see all of it or nothing. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord, listRecords } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { countSignedOwners } from '../../../src/store/dnssec/signatures.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { HastyClock } from '../../support/hasty-clock.js';
import { requireVerified } from '../../support/signed-copy.js';
import { enableSigning } from '../../support/signing.js';
import { openOneCopy } from '../../support/two-copies.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const MANY = 520;
/** Others have some tens of turns. */
const STEPS_OF_A_SLICE = 40;

t.test('between the steps of a large edit, others see the zone as it was, and edit others', async (t) => {
  const { ctx: base } = await startControl(t, {}, openOneCopy);
  const quiet = { ...base, zoneKeys: await testZoneKeys(base.store, base.random) };
  const { id: zoneId } = await createZone(quiet, { name: 'large.test' });
  await enableSigning(quiet, zoneId);
  const { id: other } = await createZone(quiet, { name: 'other.test' });
  const { seq } = findZoneByName(quiet.store, 'large.test')!;

  const ctx = { ...quiet, clock: new HastyClock(STEPS_OF_A_SLICE) };
  const look = (): string => {
    const { serial, version, record_count: records } = findZoneByName(ctx.store, 'large.test')!;
    return JSON.stringify({ serial, version, records, signed: countSignedOwners(ctx.store, seq) });
  };
  const before = look();
  const states = new Set([before]);
  let isDone = false;
  const watching = (async () => {
    for (; !isDone; await nextTurn()) states.add(look());
  })();
  const posts = Array.from({ length: MANY }, (_, i) => ({ type: 'A', name: `n${i}`, content: `192.0.2.${i & 255}` }));
  const [done] = await Promise.all([
    applyBatch(ctx, zoneId, { posts }),
    createRecord(quiet, other, { type: 'A', name: 'a', content: '192.0.2.1' }),
  ]);
  isDone = true;
  await watching;
  t.equal(done.posts.length, MANY);
  for (const state of [before, look()]) states.delete(state);
  t.same([...states], [], 'as before, or as afterwards');
  t.equal((await listRecords(ctx, zoneId, { perPage: 1000 })).items.length, MANY);
  t.equal((await listRecords(ctx, other, { perPage: 10 })).items.length, 1);
  requireVerified({ ctx, seq, apex: 'large.test' }, 'after the edit');
});
