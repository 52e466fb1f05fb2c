/** NS records at wildcards, which nothing can prove: no way into a signed zone, whatever writes (RFC 4592 §4.2.1). */
import t, { type Test } from 'tap';
import { editDnssec, getDnssec } from '../../../src/control/dnssec/delegation.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord, deleteRecord, editRecord } from '../../../src/control/records/records.js';
import { MOST_AT_ONCE } from '../../../src/control/schedule/signing.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { followZone } from '../../support/followed-zone.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const REFUSAL = { key: 'dnssec.wildcardCut', status: 400, message: /signed\.test is signed .* the wildcard \*\.w\./ };
const CUT = { type: 'NS', name: '*.w.signed.test', content: 'ns.else.test' };

async function start(t: Test): Promise<{ ctx: Context; zoneId: string }> {
  const { ctx } = await startControl(t);
  const { id: zoneId } = await createZone(ctx, { name: 'signed.test' });
  return { ctx: { ...ctx, zoneKeys: await testZoneKeys(ctx.store, ctx.random) }, zoneId };
}

t.test('no write brings one into a signed zone, and nothing else of it is done', async (t) => {
  const { ctx, zoneId } = await start(t);
  await editDnssec(ctx, zoneId, { status: 'active' });
  const item = await createRecord(ctx, zoneId, { ...CUT, name: 'plain.w.signed.test' });
  const world = followZone(ctx, 'signed.test');
  const before = servedRecords(world);
  await t.rejects(createRecord(ctx, zoneId, CUT), REFUSAL);
  await t.rejects(editRecord(ctx, zoneId, item.id, { name: CUT.name }), REFUSAL, 'renamed');
  const others = Array.from({ length: 300 }, (_, i) => ({ type: 'A', name: `n${i}`, content: '192.0.2.1' }));
  await t.rejects(applyBatch(ctx, zoneId, { posts: [others[0]!, CUT] }), REFUSAL);
  await t.rejects(applyBatch(ctx, zoneId, { posts: [...others, CUT] }), REFUSAL, 'prepared outside of the write');
  const text =
    'signed.test. 300 IN SOA ns h 1 2 3 4 5\nsigned.test. 300 IN NS ns.else.test.\n*.w 300 IN NS ns.else.test.\n';
  const signatures = { kind: 'refuse' } as const;
  const replaced = importZone(ctx, {
    source: { text: Buffer.from(text) },
    origin: 'signed.test',
    replace: true,
    signatures,
  });
  await t.rejects(replaced, REFUSAL, 'another content');
  t.same(servedRecords(world), before);
  requireVerified(world, 'refusals');
});

t.test('a zone that has one is not signed, and a zone that is being signed gets none', async (t) => {
  const { ctx, zoneId } = await start(t);
  const item = await createRecord(ctx, zoneId, CUT);
  await t.rejects(editDnssec(ctx, zoneId, { status: 'active' }), REFUSAL);
  t.match(await getDnssec(ctx, zoneId), { status: 'disabled', key: undefined });
  await deleteRecord(ctx, zoneId, item.id);
  const posts = Array.from({ length: MOST_AT_ONCE + 1 }, (_, i) => ({
    type: 'A',
    name: `n${i}`,
    content: '192.0.2.1',
  }));
  await applyBatch(ctx, zoneId, { posts });
  await editDnssec(ctx, zoneId, { status: 'active' });
  t.notOk(
    servedRecords(followZone(ctx, 'signed.test')).some(({ type }) => type === Type.dnskey),
    'not signed yet',
  );
  await t.rejects(createRecord(ctx, zoneId, CUT), REFUSAL);
});
