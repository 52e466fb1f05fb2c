/** Zones of others below a zone: very many may be there, so an edit looks at those whose delegation it may have changed. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { commit } from '../../../src/control/kernel/commit.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { applyBatch, createRecord } from '../../../src/control/records/records.js';
import { proveByOperator } from '../../../src/control/zones/activation.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { openOneCopy } from '../../support/two-copies.js';
import { runSql } from '../../support/write-now.js';
import { startControl } from '../fixture.js';

t.test('an edit looks at no zones of others but those that it may delegate', async (t) => {
  const { ctx } = await startControl(t, { activation: 'auto' }, openOneCopy);
  const { store } = ctx;
  const { id } = await createAccount(ctx, { name: 'B' });
  const actor = { ...ctx.actor, kind: 'token', superAdministrator: false, accountIds: [id] } as const;
  const b: Context = { ...ctx, actor };
  const zone = await createZone(ctx, { name: 'victim.test' });
  const names = ['one', 'two', 'three', 'four'].map((label) => `${label}.victim.test`);
  for (const name of names) await createZone(b, { name });
  t.match(findZoneByName(store, names[0]!), { served: 0 });
  // As nothing ever leaves them: what is looked at is put right.
  runSql(store, `UPDATE zones SET served = 1 WHERE name LIKE '%.victim.test'`);
  const seen = (): number[] => names.flatMap((name, i) => (findZoneByName(store, name)!.served === 0 ? [i] : []));
  await createRecord(ctx, zone.id, { type: 'A', name: 'www', content: '192.0.2.1' });
  t.strictSame(seen(), []);
  const delegation = (name: string): object => ({ type: 'NS', name, content: 'ns.elsewhere.test' });
  await createRecord(ctx, zone.id, { ...delegation('two'), ttl: 300 } as Parameters<typeof createRecord>[2]);
  t.strictSame(seen(), [1]);
  const posts = Array.from({ length: 80 }, (_, i) => ({ type: 'A', name: `n${i}`, content: '192.0.2.1' }));
  await applyBatch(ctx, zone.id, { posts: [...posts, delegation('three')] } as Parameters<typeof applyBatch>[2]);
  t.strictSame(seen(), [1, 2], 'the same for many edits, which are planned');
  await proveByOperator(ctx, zone.id);
  t.strictSame(seen(), [1, 2], 'a proof that is found again changes nothing for others');
  const { seq } = findZoneByName(store, 'victim.test')!;
  await commit(ctx, (draft) => draft.noteZone(seq, 'settings'));
  t.strictSame(seen(), [0, 1, 2, 3], 'a change of the zone itself may concern all');
});
