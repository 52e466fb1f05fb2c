/** A clock that was ahead and is put back: what was signed meanwhile is signed anew, and changes are not refused. */
import t, { type Test } from 'tap';
import { sleep } from '../../../src/base/clock.js';
import { resignZone } from '../../../src/control/dnssec/delegation.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { inceptionOf } from '../../../src/control/dnssec/signing/signed-rows.js';
import { changeDenial } from '../../../src/control/dnssec/switch-denial.js';
import { commit } from '../../../src/control/kernel/commit.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { serialIsAfter } from '../../../src/dns/serial.js';
import { startRunner } from '../../../src/jobs/runner.js';
import { leases } from '../../../src/store/jobs.js';
import { findZone } from '../../../src/store/zones/zones.js';
import { examinedFor } from '../../../src/warnings/asked.js';
import { examineSignedZones } from '../../../src/warnings/dnssec.js';
import { type FollowedZone, followZone } from '../../support/followed-zone.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import { enableSigning } from '../../support/signing.js';
import type { TestClock } from '../../support/test-clock.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

interface World {
  readonly zone: FollowedZone;
  readonly clock: TestClock;
  /** Inceptions of what is served, seconds since 1970. */
  readonly inceptions: () => readonly number[];
  readonly serial: () => number;
  readonly add: (name: string) => Promise<unknown>;
  /** The job runner works until the condition holds. */
  readonly passUntil: (isSo: () => boolean) => Promise<void>;
}

async function start(t: Test, records = 0): Promise<World> {
  const { ctx: plain, clock } = await startControl(t);
  const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  await createZone(ctx, { name: 'clock.test' });
  const zone = followZone(ctx, 'clock.test');
  const { zoneId, seq } = zone;
  const posts = Array.from({ length: records }, (_, at) => ({ type: 'A', name: `n${at}`, content: '192.0.2.1' }));
  if (records > 0) await applyBatch(ctx, zoneId, { posts });
  const { store, log } = ctx;
  const runner = startRunner({ store, clock, log, owner: 'test', kinds: { dnssec: signingJob(ctx) } });
  t.teardown(() => runner.stop());
  return {
    zone,
    clock,
    inceptions: () =>
      servedRecords(zone).flatMap(({ type, rdata }) =>
        type === Type.rrsig ? [inceptionOf(new Uint8Array(rdata))] : [],
      ),
    serial: () => findZone(store, seq)!.serial,
    add: (name) => createRecord(ctx, zoneId, { type: 'A', name, content: '192.0.2.2' }),
    async passUntil(isSo) {
      for (let at = 0; at < 400 && (at % 10 !== 0 || !isSo()); at++) {
        clock.advance(1000);
        do await sleep(1);
        while (leases(store).length > 0);
      }
      t.ok(isSo(), 'it came to that');
    },
  };
}

for (const [far, ms] of [
  ['two days', 2 * DAY_MS],
  ['thirteen years', 13 * YEAR_MS],
] as const) {
  t.test(`the clock was ${far} ahead for a moment`, async (t) => {
    const { zone, clock, inceptions, serial, add, passUntil } = await start(t);
    const { ctx, zoneId } = zone;
    const serials: number[] = [];
    const note = (): void => void serials.push(serial());
    await enableSigning(ctx, zoneId);
    await add('before');
    note();
    clock.putBack(-ms);
    await add('meanwhile');
    note();
    clock.putBack(ms);
    const ofClock = () =>
      examineSignedZones(examinedFor(ctx, ctx.settings, clock.nowUs())).filter(({ verdict }) => verdict === 'fail');
    t.match(ofClock(), [{ text: /clock\.test: signatures are valid only from .* on, but the clock says/ }]);
    await add('after');
    note();
    const nowS = (): number => Math.floor(clock.nowMs() / 1000);
    await passUntil(() => Math.max(...inceptions()) <= nowS());
    note();
    requireVerified(zone, 'signed anew');
    t.same(ofClock(), []);
    await add('later');
    note();
    for (const [at, next] of serials.slice(1).entries()) t.ok(serialIsAfter(next, serials[at]!), 'serials go on');
  });
}

t.test('a large zone with NSEC3, and one that is just being signed', async (t) => {
  for (const isServed of [true, false]) {
    const { zone, clock, inceptions, passUntil } = await start(t, 600);
    const { ctx, zoneId, seq } = zone;
    const isSigned = (): boolean => findZone(ctx.store, seq)!.signed === 1;
    if (!isServed) clock.putBack(-2 * DAY_MS);
    await enableSigning(ctx, zoneId);
    await commit(ctx, (draft) => changeDenial(ctx, draft, findZone(ctx.store, seq)!, 'nsec3'));
    if (isServed) {
      await passUntil(isSigned);
      clock.putBack(-30 * DAY_MS);
      await passUntil(() => Math.min(...inceptions()) > clock.nowMs() / 1000 - DAY_MS / 1000);
    } else {
      clock.advance(1000);
      await sleep(50);
    }
    clock.putBack(isServed ? 30 * DAY_MS : 2 * DAY_MS);
    await passUntil(() => isSigned() && Math.max(...inceptions()) <= clock.nowMs() / 1000);
    requireVerified(zone, 'signed anew');
  }
});

t.test('all signatures are replaced when the operator says so', async (t) => {
  const { zone, clock, inceptions, passUntil, add } = await start(t);
  const { ctx, zoneId } = zone;
  await enableSigning(ctx, zoneId);
  await add('www');
  clock.advance(5 * DAY_MS);
  const oldest = Math.min(...inceptions());
  await resignZone(ctx, zoneId);
  await passUntil(() => Math.min(...inceptions()) >= oldest + (5 * DAY_MS) / 1000);
  requireVerified(zone, 'signed anew');
});
