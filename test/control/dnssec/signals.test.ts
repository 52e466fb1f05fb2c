/** Signals for registries (RFC 9615): where the keys of a zone stand besides its apex, and how long. */
import t, { type Test } from 'tap';
import { deleteDnssec, editDnssec, getDnssec } from '../../../src/control/dnssec/delegation.js';
import { signingStatus } from '../../../src/control/dnssec/status.js';
import { confirmDs, parentJob } from '../../../src/control/dnssec/watch.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, deleteRecord } from '../../../src/control/records/records.js';
import { createZone, deleteZone, editZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { printName } from '../../../src/dns/name.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import { listJobs, removeJob } from '../../../src/store/jobs.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { checkLog, type FollowedZone, followAnew, followZone } from '../../support/followed-zone.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import type { TestClock } from '../../support/test-clock.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const DAY_MS = 86_400_000;
const NAMES = ['ns1', 'ns2'].map((host) => `_dsboot.child.test._signal.${host}.dns.test.`);

interface World {
  readonly ctx: Context;
  readonly clock: TestClock;
  /** The zone of the service's name servers, ns1.dns.test and ns2.dns.test. */
  readonly hosts: FollowedZone;
  readonly childId: string;
  /** Runs the job of a zone, which may be gone. */
  readonly look: (zoneId: string) => Promise<void>;
  /** Whether the job of a zone is about to run. */
  readonly isDue: (zoneId: string) => boolean;
  /** CDS and CDNSKEY records of a zone below its apex, as owner, type and content. */
  readonly signals: () => string[];
}

async function start(t: Test): Promise<World> {
  const fixture = await startControl(t);
  const { clock } = fixture;
  const ctx: Context = { ...fixture.ctx, zoneKeys: await testZoneKeys(fixture.ctx.store, fixture.ctx.random) };
  const { store, log } = ctx;
  const makeZone = async (name: string): Promise<string> => (await createZone(ctx, { name })).id;
  const [hostsId, childId] = [await makeZone('dns.test'), await makeZone('child.test')];
  await editDnssec(ctx, hostsId, { status: 'active' });
  const hosts = followZone(ctx, 'dns.test');
  const job = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease: () => {} };
  return {
    ctx,
    clock,
    hosts,
    childId,
    look: async (zoneId) => {
      await parentJob(ctx).handler(job, zoneId);
      await store.write(() => removeJob(store, 'dnssec-parent', zoneId));
      checkLog(hosts);
      requireVerified(hosts, `a look at ${zoneId}`);
    },
    isDue: (zoneId) =>
      listJobs(store, 100).some(
        ({ kind, subject, run_at: at }) => kind === 'dnssec-parent' && subject === zoneId && at <= clock.nowMs() + 1000,
      ),
    signals: () => {
      const records = servedRecords(hosts).filter(({ owner }) => printName(owner).startsWith('_dsboot'));
      const told = records.filter(({ type }) => type === Type.cds || type === Type.cdnskey);
      return told.map(({ owner, type, rdata }) => `${printName(owner)} ${type} ${typeByCode(type).contentOf(rdata)}`);
    },
  };
}

function keyRecords({ ctx }: World): string[] {
  const { seq } = findZoneByName(ctx.store, 'child.test')!;
  return servedRecords({ ctx, seq })
    .filter(({ type }) => type === Type.cds || type === Type.cdnskey)
    .map(({ type, rdata }) => `${type} ${typeByCode(type).contentOf(rdata)}`);
}

t.test('keys stand below the names of name servers until the parent has the DS record', async (t) => {
  const world = await start(t);
  const { ctx, clock, hosts, childId, look, signals } = world;
  await editDnssec(ctx, childId, { status: 'active' });
  await look(childId);
  clock.advance(2 * DAY_MS);
  await look(childId);
  t.equal(keyRecords(world).length, 2, 'CDS and CDNSKEY');
  t.same(signals(), [], 'nobody asked for it');
  t.same((await signingStatus(ctx, childId)).signals, []);

  const on = await editDnssec(ctx, hosts.zoneId, { dnssec_signals: true });
  t.match(on, { signals: true });
  t.equal(world.isDue(childId), true, 'waiting zones are looked at');
  await look(childId);
  const wanted = NAMES.flatMap((name) => keyRecords(world).map((record) => `${name} ${record}`));
  t.same(signals(), wanted);
  t.same(
    (await signingStatus(ctx, childId)).signals,
    NAMES.map((name) => name.slice(0, -1)),
  );
  const kinds = servedRecords(hosts).filter(({ owner }) => printName(owner) === NAMES[0]);
  t.same(
    [...new Set(kinds.map(({ type }) => type))].sort((a, b) => a - b),
    [Type.rrsig, Type.nsec, Type.cds, Type.cdnskey],
  );
  const change = hosts.seen;
  await look(childId);
  t.equal(hosts.seen, change, 'nothing is written anew');

  await confirmDs(ctx, childId, (await getDnssec(ctx, childId)).key!.tag);
  await look(childId);
  t.match(await getDnssec(ctx, childId), { status: 'active' });
  t.same(signals(), [], 'the registry has done it');
  await confirmDs(ctx, childId, null);
  await look(childId);
  t.same(signals(), wanted, 'the DS record is gone again');

  await editDnssec(ctx, childId, { status: 'disabled' });
  await look(childId);
  t.same(signals(), [], 'no DS record is wanted any more');
});

t.test('a zone that is removed, a name server inside the zone, names that are taken', async (t) => {
  const world = await start(t);
  const { ctx, clock, hosts, childId, look, signals } = world;
  await editDnssec(ctx, hosts.zoneId, { dnssec_signals: true, dnssec_use_nsec3: true });
  followAnew(hosts);
  await editDnssec(ctx, childId, { status: 'active' });
  clock.advance(2 * DAY_MS);
  await look(childId);
  t.equal(signals().length, 4);
  const written = await createRecord(ctx, hosts.zoneId, {
    type: 'NS',
    name: NAMES[0]!.slice(0, -1),
    content: 'ns.else.test',
  });
  checkLog(hosts);
  requireVerified(hosts, 'a delegation in its place');
  t.equal(signals().length, 2);
  await deleteRecord(ctx, hosts.zoneId, written.id);
  checkLog(hosts);
  requireVerified(hosts, 'it is gone again');
  t.equal(signals().length, 4);

  await editDnssec(ctx, childId, { dnssec_signals: true });
  await editZone(ctx, childId, { vanity_name_servers: ['ns1.child.test', 'ns2.dns.test'] });
  await look(childId);
  t.same((await signingStatus(ctx, childId)).signals, [NAMES[1]!.slice(0, -1)]);
  t.same(
    new Set(signals().map((line) => line.split(' ')[0])),
    new Set([NAMES[1]]),
    'nothing is secure yet below a name server inside the zone (RFC 9615 §4.4)',
  );
  await deleteZone(ctx, childId);
  t.equal(world.isDue(childId), true);
  await look(childId);
  t.same(signals(), []);
});

t.test('signals are turned off with the signatures, or alone, and never on without', async (t) => {
  const world = await start(t);
  const { ctx, clock, hosts, childId, look, signals } = world;
  const unsigned = { key: 'dnssec.signalsUnsigned', status: 400, message: /child\.test is not served with signatures/ };
  await t.rejects(editDnssec(ctx, childId, { dnssec_signals: true }), unsigned);
  await editDnssec(ctx, hosts.zoneId, { dnssec_signals: true });
  await editDnssec(ctx, childId, { status: 'active' });
  clock.advance(2 * DAY_MS);
  await look(childId);
  t.equal(signals().length, 4);
  await editDnssec(ctx, hosts.zoneId, { dnssec_signals: false });
  checkLog(hosts);
  requireVerified(hosts, 'off');
  t.same(signals(), []);
  await look(childId);
  t.same(signals(), []);
  await editDnssec(ctx, hosts.zoneId, { dnssec_signals: true });
  await look(childId);
  t.equal(signals().length, 4);

  await confirmDs(ctx, hosts.zoneId, null);
  await editDnssec(ctx, hosts.zoneId, { status: 'disabled' });
  await deleteDnssec(ctx, hosts.zoneId);
  clock.advance(2 * DAY_MS);
  const job = {
    store: ctx.store,
    clock,
    log: ctx.log,
    attempt: 0,
    signal: AbortSignal.abort(),
    requireLease: () => {},
  };
  await parentJob(ctx).handler(job, hosts.zoneId);
  t.match(await getDnssec(ctx, hosts.zoneId), { status: 'disabled', signals: false });
  t.same(signals(), []);
  t.same((await signingStatus(ctx, childId)).signals, [], 'a zone that is signed no more tells nothing');
});
