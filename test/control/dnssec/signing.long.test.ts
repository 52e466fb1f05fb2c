/** Signing in the commit: after every change the zone as it is served is one that validating resolvers accept. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { UserError } from '../../../src/base/errors.js';
import { parseIP } from '../../../src/base/ip.js';
import { resignSoon } from '../../../src/control/dnssec/enable.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { beginKey, changeKey, removeKey } from '../../../src/control/dnssec/keys.js';
import { changeDenial } from '../../../src/control/dnssec/switch-denial.js';
import { createZoneKeys } from '../../../src/control/dnssec/zone-keys.js';
import { importZone } from '../../../src/control/imports/zone.js';
import { commit } from '../../../src/control/kernel/commit.js';
import type { Context } from '../../../src/control/kernel/context.js';
import type { Draft } from '../../../src/control/kernel/draft.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { editDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { createZone, deleteZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import type { JobContext } from '../../../src/jobs/kind.js';
import { hasHashed } from '../../../src/store/dnssec/hashed.js';
import { keysOfZone } from '../../../src/store/dnssec/keys.js';
import { type DenialKind, findDnssecZone } from '../../../src/store/dnssec/zones.js';
import { editsOfZone } from '../../../src/store/log/edits.js';
import { findZone, type ZoneRow } from '../../../src/store/zones/zones.js';
import { checkLog, type FollowedZone, followAnew, followZone } from '../../support/followed-zone.js';
import { applyStep, type ChangedZone, step } from '../../support/random-changes.js';
import {
  missingVerifiers,
  requireVerified,
  requireVerifiedByOthers,
  servedRecords,
} from '../../support/signed-copy.js';
import { disableSigning, enableSigning, insertRecord } from '../../support/signing.js';
import type { TestClock } from '../../support/test-clock.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 20261122);
const RUNS = Number(process.env['ZONEPLANE_SIGNING_RUNS'] ?? 8);
/** Delegations that come and go together. */
const CUTS = Number(process.env['ZONEPLANE_SIGNING_CUTS'] ?? 1000);
/** Operations that a batch may have. */
const BATCH = 3500;
const DAY_MS = 86_400_000;

interface Signing {
  readonly ctx: Context;
  readonly clock: TestClock;
}

async function startSigning(t: Test): Promise<Signing> {
  const { ctx, clock } = await startControl(t, {
    edgeAddresses: [parseIP('198.51.100.1')!, parseIP('2001:db8:ed::1')!],
    nameServerAddresses: [parseIP('198.51.100.53')!],
  });
  return { ctx: { ...ctx, zoneKeys: await testZoneKeys(ctx.store, ctx.random) }, clock };
}

async function openZone(signing: Signing, apex: string): Promise<FollowedZone> {
  await createZone(signing.ctx, { name: apex });
  return followZone(signing.ctx, apex);
}

/** One run of the zone's job, at the clock's time; an aborted one ends after its first part. */
async function runJob(
  { ctx, zoneId }: ChangedZone,
  signal = new AbortController().signal,
): Promise<number | undefined> {
  const { store, clock, log } = ctx;
  const job: JobContext = {
    store,
    clock,
    log,
    attempt: 0,
    signal,
    requireLease: () => {},
  };
  const outcome = await signingJob(ctx).handler(job, zoneId);
  return 'againAtMs' in outcome ? outcome.againAtMs : undefined;
}

/** Waits with the job until it has nothing to do for an hour. */
async function runJobs(world: ChangedZone, clock: TestClock): Promise<void> {
  for (;;) {
    const againAtMs = await runJob(world);
    if (againAtMs === undefined || againAtMs > clock.nowMs() + 3_600_000) return;
    clock.advance(againAtMs - clock.nowMs());
  }
}

async function setDenial({ ctx, seq }: ChangedZone, kind: DenialKind): Promise<void> {
  await commit(ctx, (draft) => changeDenial(ctx, draft, findZone(ctx.store, seq)!, kind));
}

t.test('a small zone is signed at once, and unsigned at once', async (t) => {
  const signing = await startSigning(t);
  const world = await openZone(signing, 'small.test');
  const { ctx, zoneId } = world;
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1' });
  await createRecord(ctx, zoneId, { type: 'NS', name: 'sub', content: 'ns.sub.small.test' });
  await createRecord(ctx, zoneId, { type: 'A', name: 'ns.sub', content: '192.0.2.2' });
  await enableSigning(ctx, zoneId);
  t.equal(requireVerified(world, 'enabled').signatures, 7, 'SOA, NS, DNSKEY, A, three NSEC');
  await createRecord(ctx, zoneId, { type: 'A', name: 'a.b.c', content: '192.0.2.1' });
  requireVerified(world, 'a name more');
  await disableSigning(ctx, zoneId);
  t.notOk(servedRecords(world).some(({ type }) => type === Type.rrsig || type === Type.dnskey));
  t.equal(findDnssecZone(ctx.store, world.seq), undefined);
});

t.test('random changes of signed zones: each leaves a zone that verifies, and the log leads to it', async (t) => {
  const signing = await startSigning(t);
  const { clock } = signing;
  let runs = 0;
  const toggle = fc.boolean().map((on) => ({
    value: on ? 'enable' : 'disable',
    run: async (world: ChangedZone) => {
      await (on ? enableSigning(world.ctx, world.zoneId) : disableSigning(world.ctx, world.zoneId));
      followAnew(world as FollowedZone);
    },
  }));
  const denial = fc.constantFrom('nsec' as const, 'nsec3' as const, 'compact' as const).map((kind) => ({
    value: kind,
    run: async (world: ChangedZone) => {
      await setDenial(world, kind);
      followAnew(world as FollowedZone);
    },
  }));
  const wait = fc.integer({ min: 1, max: 11 }).map((days) => ({
    value: `${days} days`,
    run: async (world: ChangedZone) => {
      clock.advance(days * DAY_MS);
      await runJobs(world, clock);
    },
  }));
  const any = fc.oneof(
    { arbitrary: step, weight: 20 },
    { arbitrary: wait, weight: 1 },
    { arbitrary: toggle, weight: 1 },
    { arbitrary: denial, weight: 2 },
  );
  const property = fc.asyncProperty(fc.array(any, { minLength: 30, maxLength: 60 }), async (steps) => {
    const world = await openZone(signing, `z${runs++}.test`);
    await enableSigning(world.ctx, world.zoneId);
    followAnew(world);
    for (const change of steps) {
      await applyStep(world, change);
      checkLog(world);
      if (findDnssecZone(world.ctx.store, world.seq)) requireVerified(world, JSON.stringify(change.value));
    }
    await deleteZone(world.ctx, world.zoneId);
  });
  await t.resolves(fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: true }), `${RUNS} zones`);
});

const missing = missingVerifiers();
const skip = missing.length === 0 || process.env['CI'] === 'true' ? false : `not installed: ${missing.join(', ')}`;

/** Names that come and go, each line a change: a record in zone file form, or `-name type`. */
const CHANGES = [
  'www A 192.0.2.1',
  'www AAAA 2001:db8::1',
  'a.b.c A 192.0.2.1',
  '*.wild A 192.0.2.1',
  '* TXT "any"',
  'host.sub A 192.0.2.2',
  'deep.host.sub A 192.0.2.2',
  'sub NS ns.sub',
  'ns.sub A 192.0.2.3',
  'sub DS 12345 13 2 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
  'c NS ns.else.test.',
  '-c NS',
  '-sub DS',
  '-sub NS',
  'below.alias A 192.0.2.4',
  'alias DNAME elsewhere.test.',
  '-alias DNAME',
  'alias CNAME www',
  '-below.alias A',
  '-a.b.c A',
  '-* TXT',
  '\\000\\001.octets TXT "escaped"',
  'www A 192.0.2.2',
  '-www A',
  '-www AAAA',
];

for (const kind of ['nsec', 'nsec3'] as const) {
  t.test(`ldns-verify-zone and dnssec-verify accept the zone after every change: ${kind}`, { skip }, async (t) => {
    const signing = await startSigning(t);
    signing.clock.advance(Date.now() - signing.clock.nowMs());
    const world = await openZone(signing, `others-${kind}.test`);
    await enableSigning(world.ctx, world.zoneId);
    await setDenial(world, kind);
    followAnew(world);
    await changeAll(world);
    t.ok(servedRecords(world).some(({ type }) => type === (kind === 'nsec' ? Type.nsec : Type.nsec3)));
  });
}

/** Every change, with a look at the zone after each. */
async function changeAll(world: FollowedZone): Promise<void> {
  const { ctx, zoneId } = world;
  for (const line of CHANGES) {
    const [, name = '', type = '', content = ''] = /^-?(\S+) (\S+) ?(.*)$/.exec(line)!;
    if (line.startsWith('-')) {
      const full = name === '@' ? world.apex : `${name}.${world.apex}`;
      const { items } = await listRecords(ctx, zoneId, { perPage: 100 });
      for (const item of items) if (item.name === full && item.type === type) await deleteRecord(ctx, zoneId, item.id);
    } else {
      await insertRecord(world, name, type, content);
    }
    checkLog(world);
    requireVerified(world, line);
    requireVerifiedByOthers(world, line);
  }
}

t.test('thousands of delegations come and go in a change each', async (t) => {
  const signing = await startSigning(t);
  const world = await openZone(signing, 'cuts.test');
  const { ctx, zoneId } = world;
  await enableSigning(ctx, zoneId);
  followAnew(world);
  await createRecord(ctx, zoneId, { type: 'A', name: 'd1000x', content: '192.0.2.1' });
  const posts = Array.from({ length: CUTS }, (_, i) => ({ type: 'NS', name: `d${i}`, content: 'ns.else.test' }));
  for (let i = 0; i < CUTS; i += BATCH) await applyBatch(ctx, zoneId, { posts: posts.slice(i, i + BATCH) });
  checkLog(world);
  requireVerified(world, 'delegations');
  const deletes: { id: string }[] = [];
  for (let page = 1; page <= CUTS / 100 + 1; page++) {
    const { items } = await listRecords(ctx, zoneId, { perPage: 100, page });
    deletes.push(...items.filter(({ type }) => type === 'NS').map(({ id }) => ({ id })));
  }
  t.equal(deletes.length, CUTS);
  for (let i = 0; i < CUTS; i += BATCH) await applyBatch(ctx, zoneId, { deletes: deletes.slice(i, i + BATCH) });
  checkLog(world);
  t.equal(requireVerified(world, 'none').signatures, 6);
});

t.test('a large zone is signed a part at a time, while it changes, and is served signed at once', async (t) => {
  const signing = await startSigning(t);
  const { ctx } = signing;
  const lines = Array.from({ length: 2000 }, (_, i) => `h${i}.n${i % 40} 300 IN A 192.0.2.1`);
  const text = `$ORIGIN big.test.\n@ 300 IN SOA ns h 1 2 3 4 60\n@ 300 IN NS ns.else.test.\n${lines.join('\n')}\n`;
  await importZone(ctx, { source: { text }, origin: 'big.test' });
  const world = followZone(signing.ctx, 'big.test');
  const { zoneId, seq } = world;
  await enableSigning(ctx, zoneId);
  const phases: string[] = [];
  for (let i = 0; ; i++) {
    const { phase } = findDnssecZone(ctx.store, seq)!;
    if (phase === 'signed') break;
    phases.push(phase);
    if (servedRecords(world).some(({ type }) => type === Type.rrsig)) throw new Error('served before all is signed');
    await runJob(world, AbortSignal.abort());
    const [type, content] = i % 3 === 0 ? ['NS', 'ns.else.test.'] : ['TXT', '"x"'];
    for (const name of [`a${i}.n3`, `x.h${i * 40}.n0`, `zz${i}`, `n${i * 9}`]) {
      await insertRecord(world, name, type!, content!);
    }
  }
  t.same([...new Set(phases)], ['data', 'chain']);
  t.ok(phases.filter((phase) => phase === 'data').length > 2, phases.join());
  followAnew(world);
  t.ok(requireVerified(world, 'the switch').signatures > 3000);
  const isUnderWay = (): boolean => {
    const { next_denial: next, walk } = findDnssecZone(ctx.store, seq)!;
    return next !== null || walk !== null;
  };
  for (const [round, kind] of (['nsec3', 'compact', 'nsec', 'compact'] as const).entries()) {
    await setDenial(world, kind);
    // Compact denial is served at once instead of a chain, whose records are then replaced.
    followAnew(world);
    for (let i = 0; isUnderWay(); i++) {
      await runJob(world, AbortSignal.abort());
      for (const name of [`${kind}${i}.n3`, `y.x.h${i * 50}.n1`, `n${i * 7}`])
        await insertRecord(world, name, 'TXT', `"${kind} ${round}"`);
      if (isUnderWay()) checkLog(world);
    }
    followAnew(world);
    requireVerified(world, kind);
    t.equal(
      servedRecords(world).some(({ type }) => type === Type.nsec),
      kind !== 'nsec3',
    );
    const online = keysOfZone(ctx.store, seq).filter((key) => key.online);
    t.strictSame(
      online.map(({ role }) => role),
      kind === 'compact' ? ['zsk'] : [],
      'only then DNS processes have a key',
    );
  }
  await runJobs(world, signing.clock);
  t.notOk(hasHashed(ctx.store, seq));
  await disableSigning(ctx, zoneId);
  t.notOk(servedRecords(world).some(({ type }) => type === Type.rrsig || type === Type.dnskey));
  await runJobs(world, signing.clock);
  t.equal(findDnssecZone(ctx.store, world.seq), undefined);
  const events = editsOfZone(ctx.store, seq, 10_000, 0).flatMap(({ event }) => event ?? []);
  t.same(events, ['unsigned', 'signed', 'signing'], 'the newest first');
});

/** The ends of all signatures that are served, seconds since 1970. */
function expirations(world: ChangedZone): number[] {
  return servedRecords(world)
    .filter(({ type }) => type === Type.rrsig)
    .map(({ rdata }) => Buffer.from(rdata).readUInt32BE(8));
}

t.test('signatures are replaced long before they end, a few at a time, and only those that are due', async (t) => {
  const signing = await startSigning(t);
  const { clock } = signing;
  const world = await openZone(signing, 'fresh.test');
  const { ctx, zoneId, seq } = world;
  const posts = Array.from({ length: 60 }, (_, i) => ({ type: 'A', name: `h${i}`, content: '192.0.2.1' }));
  await applyBatch(ctx, zoneId, { posts });
  await enableSigning(ctx, zoneId);
  followAnew(world);
  const first = expirations(world);
  const spread = (Math.max(...first) - Math.min(...first)) / 86_400;
  t.ok(spread > 2 && spread <= 3, `spread over ${spread} days`);
  const serials: number[] = [];
  for (let day = 0; day < 40; day++) {
    clock.advance(DAY_MS);
    await runJobs(world, clock);
    checkLog(world);
    const rest = Math.min(...expirations(world)) - clock.nowMs() / 1000;
    if (rest < 10 * 86_400 - 3600) throw new Error(`on day ${day} a signature has ${rest / 86_400} days left`);
    serials.push(findZone(ctx.store, seq)!.serial);
  }
  requireVerified(world, 'forty days');
  t.ok(new Set(serials).size < 30, 'on many days nothing is due');
  t.ok(new Set(serials).size > 6, 'and not all on one day');
  await editDnsSettings(ctx, zoneId, { soa: { expire: 2_419_200 } });
  await runJobs(world, clock);
  checkLog(world);
  const rest = Math.min(...expirations(world)) - clock.nowMs() / 1000;
  t.ok(rest > 2_419_200 + 2 * 86_400, 'a secondary that is cut off expires the zone before a signature ends');
});

t.test('another key signs everything soon, and the old one can go', async (t) => {
  const signing = await startSigning(t);
  const world = await openZone(signing, 'keys.test');
  const { ctx, zoneId, seq } = world;
  await createRecord(ctx, zoneId, { type: 'A', name: 'www', content: '192.0.2.1' });
  await enableSigning(ctx, zoneId, { algorithm: 15 });
  followAnew(world);
  const old = keysOfZone(ctx.store, seq).find(({ role }) => role === 'zsk')!;
  const change = async (work: (draft: Draft, zone: ZoneRow) => void): Promise<void> => {
    await commit(ctx, (draft) => work(draft, findZone(ctx.store, seq)!));
    checkLog(world);
    requireVerified(world, 'a key');
  };
  await change((draft, zone) => beginKey(ctx, draft, zone, 15, 'zsk', 'published'));
  const fresh = keysOfZone(ctx.store, seq).at(-1)!;
  await change((draft, zone) => {
    changeKey(ctx, draft, zone, fresh.id, { signs: 1, state: 'active' });
    changeKey(ctx, draft, zone, old.id, { signs: 0, state: 'retired' });
    resignSoon(ctx, zone);
  });
  const tags = (): number[] => [
    ...new Set(
      servedRecords(world)
        .filter(({ type, rdata }) => type === Type.rrsig && Buffer.from(rdata).readUInt16BE(0) !== Type.dnskey)
        .map(({ rdata }) => Buffer.from(rdata).readUInt16BE(16)),
    ),
  ];
  t.same(tags(), [old.tag], 'old signatures stay until the job comes');
  await runJobs(world, signing.clock);
  checkLog(world);
  t.same(tags(), [fresh.tag]);
  t.ok(findDnssecZone(ctx.store, seq)!.walked_at);
  await change((draft, zone) => removeKey(ctx, draft, zone, old.id));
  await change((draft, zone) => {
    const ksk = keysOfZone(ctx.store, seq).find(({ role }) => role === 'ksk')!;
    changeKey(ctx, draft, zone, ksk.id, { in_cds: 1, state: 'active' });
  });
  t.equal(servedRecords(world).filter(({ type }) => type === Type.cds || type === Type.cdnskey).length, 2);
});

t.test('without its keys, or with a clock that is behind, a signed zone is served and not changed', async (t) => {
  const signing = await startSigning(t);
  const { clock } = signing;
  const world = await openZone(signing, 'safe.test');
  const { ctx, zoneId } = world;
  await enableSigning(ctx, zoneId);
  const record = { type: 'A', name: 'www', content: '192.0.2.1' };
  const { zoneKeys: _, ...without } = ctx;
  const before = servedRecords(world);
  await t.rejects(createRecord(without, zoneId, record), { key: 'dnssec.noKeys', message: /no master key/ });
  const broken = createZoneKeys(() => {
    throw new UserError('the master key is missing', 'Restore it.');
  });
  await t.rejects(createRecord({ ...ctx, zoneKeys: broken }, zoneId, record), {
    key: 'dnssec.noKeys',
    message: /safe\.test is signed.*the master key is missing \(Restore it\.\)/,
  });
  clock.putBack(DAY_MS);
  await t.rejects(createRecord(ctx, zoneId, record), { key: 'dnssec.clock', message: /but the clock says 2025-12-31/ });
  t.same(servedRecords(world), before);
  clock.advance(DAY_MS);
  await createRecord(ctx, zoneId, record);
  requireVerified(world, 'the clock is right again');
});
