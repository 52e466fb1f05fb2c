/**
 * The life of a signed zone under bad luck, in moved time: rollovers, disabling and enabling again at any moment, records and TTLs
 * that change, and a parent whose DS records come late, differ, cannot be asked for, have other TTLs than before, or are changed by
 * hand. Validators remember each RRset as long as its TTL allows: whatever they combine of the parent's DS records, the keys and
 * the data, they believe it. When the parent is attentive again, all keys come to rest.
 *
 * ZONEPLANE_ROLLOVER_HOURS: hours of such a life (default 1000), ZONEPLANE_CONFORMANCE_SEED: another one.
 */
import t, { type Test } from 'tap';
import { AppError } from '../../../src/base/errors.js';
import { deleteDnssec, editDnssec, getDnssec, listKeys } from '../../../src/control/dnssec/delegation.js';
import { beginSigning } from '../../../src/control/dnssec/enable.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { startRollover } from '../../../src/control/dnssec/rollover.js';
import { parentJob } from '../../../src/control/dnssec/watch.js';
import { commit } from '../../../src/control/kernel/commit.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { Type } from '../../../src/dns/codes.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import { generateKey, KSK_FLAGS } from '../../../src/dnssec/signing-key.js';
import type { ParentServerDs } from '../../../src/resolver/parent-ds.js';
import { findDnssecZone } from '../../../src/store/dnssec/zones.js';
import { findZone, findZoneById } from '../../../src/store/zones/zones.js';
import { type Dice, throwDice } from '../../support/dice.js';
import { rememberingValidators } from '../../support/remembering-validators.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import { openOneCopy } from '../../support/two-copies.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone } from '../fixture.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 20261125);
const HOURS = Number(process.env['ZONEPLANE_ROLLOVER_HOURS'] ?? 1000);
/** The longest time until all keys are at rest, hours. */
const SETTLED_HOURS = 60 * 24;
/** Hours between two looks. */
const STEP_HOURS = 2;
const HOUR_MS = 3_600_000;
const SERVERS = ['a.gtld.test', 'b.gtld.test'] as const;
const DS_TTLS = [300, 3600, 86_400, 172_800];
const TTLS = [60, 3600, 86_400];

interface Life {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly dice: Dice;
  /** Contents of the DS records of each server of the parent. */
  readonly ds: Map<string, readonly string[]>;
  dsTtl: number;
  /** Whether the servers of the parent do not answer; the parent does not change then. */
  isAway: boolean;
  /** Runs both jobs, looks, and lets an hour pass. */
  readonly pass: () => Promise<void>;
  readonly count: (what: string) => void;
  readonly cds: () => string[];
}

type Operation = readonly [weight: number, name: string, work: (life: Life) => Promise<unknown> | unknown];

const OPERATIONS: readonly Operation[] = [
  [8, 'ZSK', ({ ctx, zoneId }) => startRollover(ctx, zoneId, { role: 'zsk' })],
  [8, 'KSK', ({ ctx, zoneId }) => startRollover(ctx, zoneId, { role: 'ksk' })],
  [8, 'algorithm', ({ ctx, zoneId, dice }) => startRollover(ctx, zoneId, { algorithm: dice.pick([13, 15]) })],
  [1, 'disabled', ({ ctx, zoneId }) => editDnssec(ctx, zoneId, { status: 'disabled' })],
  [6, 'enabled', ({ ctx, zoneId }) => editDnssec(ctx, zoneId, { status: 'active' })],
  [1, 'removed', ({ ctx, zoneId }) => deleteDnssec(ctx, zoneId)],
  [1, 'denial', ({ ctx, zoneId, dice }) => editDnssec(ctx, zoneId, { denial: dice.pick(['nsec', 'nsec3'] as const) })],
  [6, 'records', editRecords],
  [20, 'DS records by CDS', followCds],
  [2, 'DS records by CDS at one server', (life) => followCds(life, [life.dice.pick(SERVERS)])],
  [3, 'DS records by hand', changeByHand],
  [1, 'no DS records', removeDs],
  [3, 'another TTL of DS records', (life) => void (life.isAway || (life.dsTtl = life.dice.pick(DS_TTLS)))],
  [2, 'away or back', (life) => void (life.isAway = !life.isAway)],
];

async function editRecords({ ctx, zoneId, dice }: Life): Promise<void> {
  const { items } = await listRecords(ctx, zoneId, { perPage: 100 });
  const old = items.find(({ name }) => name.startsWith('www'));
  if (old) await deleteRecord(ctx, zoneId, old.id);
  await createRecord(ctx, zoneId, {
    type: 'A',
    name: `www${dice.below(3)}`,
    content: '192.0.2.1',
    ttl: dice.pick(TTLS),
  });
}

/** The parent does what CDS records say (RFC 7344). */
function followCds({ ds, cds, isAway }: Life, servers: readonly string[] = SERVERS): void {
  const wanted = cds();
  if (isAway || wanted.length === 0) return;
  for (const server of servers) ds.set(server, wanted.join() === '0 0 0 00' ? [] : wanted);
}

function removeDs({ ds, isAway }: Life): void {
  if (isAway) return;
  for (const server of SERVERS) ds.set(server, []);
}

/** Somebody publishes DS records of keys that resolvers know, whatever CDS says. */
async function changeByHand({ ctx, zoneId, dice, ds, isAway }: Life): Promise<void> {
  const { keys } = await listKeys(ctx, zoneId);
  const known = keys.filter(({ role, state }) => role !== 'zsk' && (state === 'active' || state === 'retired'));
  const isGoing = (await getDnssec(ctx, zoneId)).key === undefined;
  if (isAway || isGoing || known.length === 0) return;
  const chosen = known.filter(() => dice.below(2) === 0);
  const contents = (chosen.length === 0 ? known : chosen).map(({ ds: item }) => {
    return item!.line.replace(/^.* DS /, '').toLowerCase();
  });
  for (const server of SERVERS) ds.set(server, [...contents].sort());
}

async function startLife(t: Test, seed: number, hasOneKey: boolean): Promise<Life> {
  const fixture = await startZone(t, {}, openOneCopy);
  const { clock, zoneId } = fixture;
  const dice = throwDice(seed);
  const counts = new Map<string, number>();
  const ctx: Context = {
    ...fixture.ctx,
    zoneKeys: await testZoneKeys(fixture.ctx.store, fixture.ctx.random),
    findParentDs: async () => (life.isAway ? undefined : shown()),
  };
  const { store, log } = ctx;
  const zone = { ctx, seq: findZoneById(store, Buffer.from(zoneId, 'hex'))!.seq, apex: 'example.com' };
  const shown = (): (ParentServerDs & { readonly ds: readonly string[]; readonly ttl: number })[] =>
    SERVERS.map((server) => ({ server, ds: life.ds.get(server)!, ttl: life.dsTtl }));
  // A process that loses its lease, as one that is killed, leaves nothing of what it has begun.
  const requireLease = (): void => {
    if (dice.below(10) === 0) throw new LeaseLost();
  };
  if (hasOneKey) {
    // As it came from another server, whose keys resolvers know.
    const keys = [generateKey(13, KSK_FLAGS)];
    await commit(ctx, (draft) => beginSigning(ctx, draft, findZone(store, zone.seq)!, { keys }));
  }
  const job = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease };
  const run = async (kind: ReturnType<typeof parentJob>): Promise<void> => {
    try {
      await kind.handler(job, zoneId);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
    }
  };
  const jobs = [parentJob(ctx), signingJob(ctx)];
  const validators = rememberingValidators();
  const life: Life = {
    ctx,
    zoneId,
    dice,
    ds: new Map(SERVERS.map((server) => [server, []])),
    dsTtl: 3600,
    isAway: false,
    cds: () =>
      servedRecords(zone)
        .filter(({ type }) => type === Type.cds)
        .map(({ rdata }) => CDS.contentOf(rdata))
        .sort(),
    count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    async pass() {
      for (const kind of jobs) await run(kind);
      const when = new Date(clock.nowMs()).toISOString();
      const records = servedRecords(zone);
      if (records.some(({ type }) => type === Type.dnskey)) requireVerified(zone, when);
      const doubts = validators.see(clock.nowMs() / 1000, shown(), records);
      if (doubts.length > 0) throw new Error(`${when}: ${doubts.slice(0, 3).join('; ')}`);
      clock.advance(STEP_HOURS * HOUR_MS);
    },
  };
  t.teardown(() => t.comment([...counts].map(([what, count]) => `${what} ${count}`).join(', ')));
  return life;
}

const CDS = typeByCode(Type.cds);

class LeaseLost extends Error {}

async function operate(life: Life): Promise<void> {
  const sum = OPERATIONS.reduce((all, [weight]) => all + weight, 0);
  let at = life.dice.below(sum);
  const [, name, work] = OPERATIONS.find(([weight]) => (at -= weight) < 0)!;
  const isDone = await ignoringRefusals(Promise.resolve(work(life)));
  life.count(isDone ? name : `${name}, refused`);
}

for (const hasOneKey of [false, true]) {
  const seed = SEED + Number(hasOneKey);
  const name = `${HOURS} hours of bad luck${hasOneKey ? ' that begin with one key for everything' : ''}, seed ${seed}`;
  t.test(name, { timeout: 3_600_000 }, async (t) => {
    const life = await startLife(t, seed, hasOneKey);
    for (let hour = 0; hour < HOURS; hour += STEP_HOURS) {
      if (life.dice.below(4) === 0) await operate(life);
      await life.pass();
    }
    life.isAway = false;
    for (let hour = 0; !(await isAtRest(life)); hour += STEP_HOURS) {
      if (hour > SETTLED_HOURS) throw new Error('never at rest');
      if (hour % 24 === 0) await ignoringRefusals(editDnssec(life.ctx, life.zoneId, { status: 'active' }));
      followCds(life);
      await life.pass();
    }
    t.same((await getDnssec(life.ctx, life.zoneId)).status, 'active');
  });
}

/** Whether the zone is delegated, and no key waits for anything. */
async function isAtRest({ ctx, zoneId }: Life): Promise<boolean> {
  const { keys } = await listKeys(ctx, zoneId);
  const row = findDnssecZone(ctx.store, findZoneById(ctx.store, Buffer.from(zoneId, 'hex'))!.seq);
  const isWaiting = keys.some(({ wait, state }) => wait !== undefined || state !== 'active');
  return row?.state === 'active' && row.walk === null && !isWaiting;
}

/** Such as that of a second rollover beside another one. True when it was done. */
async function ignoringRefusals(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}
