/** Edits of single records in a signed zone that are requested at once: one change for resolvers, and otherwise each for itself. */
import t, { type Test } from 'tap';
import { editDnssec } from '../../../../src/control/dnssec/delegation.js';
import type { Context } from '../../../../src/control/kernel/context.js';
import { applyBatch } from '../../../../src/control/records/batch.js';
import {
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
} from '../../../../src/control/records/records.js';
import { getEdit, listHistory } from '../../../../src/control/zones/history.js';
import { createZone, getZone } from '../../../../src/control/zones/zones.js';
import { changesAfter } from '../../../../src/store/log/changes.js';
import { checkLog, type FollowedZone, followZone } from '../../../support/followed-zone.js';
import { latestEvents } from '../../../support/rows.js';
import { requireVerified } from '../../../support/signed-copy.js';
import { openOneCopy } from '../../../support/two-copies.js';
import { testZoneKeys } from '../../../support/zone-keys.js';
import { refusal, startControl } from '../../fixture.js';

interface Signed {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly world: FollowedZone;
  readonly create: (name: string, as?: Partial<Context>) => Promise<{ readonly id: string }>;
}

async function startSigned(t: Test, denial: 'nsec' | 'nsec3' = 'nsec'): Promise<Signed> {
  const { ctx: base } = await startControl(t, {}, openOneCopy);
  const ctx = { ...base, zoneKeys: await testZoneKeys(base.store, base.random) };
  const { id: zoneId } = await createZone(ctx, { name: 'signed.test' });
  await editDnssec(ctx, zoneId, { status: 'active', denial });
  const create: Signed['create'] = (name, as = {}) =>
    createRecord({ ...ctx, ...as }, zoneId, { type: 'A', name, content: '192.0.2.1' });
  return { ctx, zoneId, world: followZone(ctx, 'signed.test'), create };
}

const NUMBERS = Array.from({ length: 60 }, (_, i) => i);
const changesOf = ({ ctx, world }: Signed) => changesAfter(ctx.store, world.seen, 1000);

for (const denial of ['nsec', 'nsec3'] as const) {
  t.test(`one serial for many of them, with ${denial}`, async (t) => {
    const signed = await startSigned(t, denial);
    const { ctx, zoneId, world, create } = signed;
    const before = await getZone(ctx, zoneId);
    const outcomes = NUMBERS.map(() => ({ zones: [] }) as NonNullable<Context['outcome']>);
    await Promise.all(NUMBERS.map((i) => create(`n${i}`, { requestId: `request ${i}`, outcome: outcomes[i]! })));
    const changes = changesOf(signed);
    t.equal(changes.length, 3, '25 of them share one');
    const after = await getZone(ctx, zoneId);
    t.equal(after.soa.serial, before.soa.serial + changes.length);
    t.equal(after.recordCount, NUMBERS.length);
    checkLog(world);
    requireVerified(world, 'created at once');

    const told = outcomes.map(({ zones: [zone] }) => zone!);
    const versions = told.map(({ version }) => version!);
    t.same(
      versions,
      NUMBERS.map((i) => versions[0]! + i),
      'each has a version of its own',
    );
    const numbers = new Set(changes.map(({ seq }) => seq));
    t.ok(
      told.every(({ change }) => numbers.has(change!)),
      'and the change to wait for',
    );
    const events = latestEvents(ctx.store, 1000).filter(({ kind }) => kind === 'record.create');
    t.equal(new Set(events.map(({ request_id: id }) => id)).size, NUMBERS.length);
    t.ok(events.every(({ change }) => numbers.has(change!)));

    const { items } = await listHistory(ctx, zoneId, { perPage: 100 });
    const edits = items.filter(({ requestId }) => requestId.startsWith('request'));
    t.equal(new Set(edits.map(({ id }) => id)).size, NUMBERS.length, 'each has an edit of its own');
    for (const { id, version } of [edits[0]!, edits[7]!]) t.equal((await getEdit(ctx, zoneId, id)).version, version);
    const past = { perPage: 100, asOf: `version:${versions[9]}` };
    t.equal((await listRecords(ctx, zoneId, past)).totalCount, 10, 'and each can be undone');
    const [first] = changes;
    const then = await listRecords(ctx, zoneId, { perPage: 100, asOf: `change:${first!.seq}` });
    t.equal(
      then.totalCount,
      edits.filter(({ change }) => change === first!.seq).length,
      'a change is all of its edits',
    );
  });
}

t.test('edits of the same records, one after the other', async (t) => {
  const signed = await startSigned(t);
  const { ctx, zoneId, world, create } = signed;
  const { id } = await create('kept');
  checkLog(world);
  const gone = await create('gone');
  checkLog(world);
  await Promise.all([
    editRecord(ctx, zoneId, id, { content: '192.0.2.2' }),
    editRecord(ctx, zoneId, id, { content: '192.0.2.3' }),
    deleteRecord(ctx, zoneId, gone.id),
    createRecord(ctx, zoneId, { type: 'TXT', name: 'gone', content: '"again"' }),
  ]);
  t.equal((await getRecord(ctx, zoneId, id)).content, '192.0.2.3');
  t.equal(changesOf(signed).length, 1);
  checkLog(world);
  requireVerified(world, 'edited at once');

  const { serial } = (await getZone(ctx, zoneId)).soa;
  await Promise.all([
    editRecord(ctx, zoneId, id, { content: '192.0.2.4' }),
    editRecord(ctx, zoneId, id, { content: '192.0.2.3' }),
  ]);
  t.equal((await getZone(ctx, zoneId)).soa.serial, serial, 'nothing changed for resolvers in the end');
  t.equal(changesOf(signed).length, 0);
});

t.test('others and their writes end it', async (t) => {
  const signed = await startSigned(t);
  const { ctx, zoneId, world, create } = signed;
  const other = { actor: { ...ctx.actor, email: 'other@example.org' } };
  await Promise.all([create('a'), create('b'), create('c', other), create('d', other)]);
  t.same(
    changesOf(signed).map(({ actor }) => actor),
    [ctx.actor.email, 'other@example.org'],
  );
  checkLog(world);
  const posts = [{ type: 'A', name: 'g', content: '192.0.2.1' }];
  await Promise.all([create('e'), create('f'), applyBatch(ctx, zoneId, { posts }), create('h'), create('i')]);
  t.equal(changesOf(signed).length, 3);
  checkLog(world);
  requireVerified(world, 'ended by a batch');
});

t.test('one is refused at the end, and no other one', async (t) => {
  const signed = await startSigned(t);
  const { ctx, zoneId, world, create } = signed;
  const cut = { type: 'NS', name: '*.w', content: 'ns.else.test' };
  const refused = refusal(createRecord(ctx, zoneId, cut));
  await Promise.all([create('a'), create('b'), refused, create('c')]);
  t.match(await refused, { key: 'dnssec.wildcardCut' });
  t.equal((await getZone(ctx, zoneId)).recordCount, 3);
  checkLog(world);
  requireVerified(world, 'one refused');
});
