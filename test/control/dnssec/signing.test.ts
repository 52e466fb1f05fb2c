/** Signing in the commit: after every change the zone as it is served is one that validating resolvers accept. */
import t, { type Test } from 'tap';
import { disableSigning, enableSigning } from '../../../src/control/dnssec/enable.js';
import { createRecord } from '../../../src/control/records/records.js';
import type { Context } from '../../../src/control/write/context.js';
import { parseName } from '../../../src/dns/name.js';
import { servedRecords, verifyRecords } from '../../support/signed-copy.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone, type ZoneFixture } from '../fixture.js';

const APEX = parseName('example.com.');

interface SignedFixture extends ZoneFixture {
  /** Fails the test when the zone as it is served has a fault. */
  readonly requireValid: (when: string) => number;
}

async function startSigned(t: Test): Promise<SignedFixture> {
  const fixture = await startZone(t);
  const { store, random } = fixture.ctx;
  const ctx: Context = { ...fixture.ctx, zoneKeys: await testZoneKeys(store, random) };
  const requireValid = (when: string): number => {
    const records = servedRecords(store, ctx.settings, fixture.zoneId);
    const { findings, signatures } = verifyRecords(APEX, records, Math.floor(fixture.clock.nowMs() / 1000));
    if (findings.length > 0) t.fail(`${when}: ${findings.map(({ message }) => message).join('; ')}`);
    return signatures;
  };
  return { ...fixture, ctx, requireValid };
}

t.test('a small zone is signed at once, and unsigned at once', async (t) => {
  const { ctx, zoneId, requireValid } = await startSigned(t);
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1' });
  await createRecord(ctx, zoneId, { type: 'NS', name: 'sub', content: 'ns.sub.example.com' });
  await createRecord(ctx, zoneId, { type: 'A', name: 'ns.sub', content: '192.0.2.2' });
  await enableSigning(ctx, zoneId);
  t.ok(requireValid('enabled') > 6);
  await createRecord(ctx, zoneId, { type: 'A', name: 'a.b.c', content: '192.0.2.1' });
  requireValid('a name');
  await disableSigning(ctx, zoneId);
  t.notOk(servedRecords(ctx.store, ctx.settings, zoneId).some(({ type }) => type === 46 || type === 48));
});
