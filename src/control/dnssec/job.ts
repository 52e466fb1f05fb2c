/**
 * The job of a signed zone. It signs a large one a part at a time, replaces signatures before they end, and takes off what is
 * left of an unsigned one. Each part is a commit that stores how far the work has come.
 */
import type { JobContext, JobKind, JobOutcome } from '../../jobs/kind.js';
import { unsignedZone } from '../../serving/zone.js';
import { keysOfZone, updateDnssecKey } from '../../store/dnssec/keys.js';
import { dueSignatures, removeSomeSignatures, signedOwnersAfter } from '../../store/dnssec/signatures.js';
import { type DnssecZoneRow, findDnssecZone, removeDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import { findZone, findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { parseId } from '../access/access.js';
import { commit, type Draft } from '../write/commit.js';
import { type Context, type ContextBase, OPERATOR } from '../write/context.js';
import { APEX } from './chain.js';
import { maintainsNsec, signChain, signData } from './sign-whole.js';
import { noteSigned } from './sign-zone.js';
import { openSigningZone } from './signing-zone.js';
import { refreshSpanOfZone, stateOfSigning } from './state.js';

/** Signatures made in one part, so that other writes do not wait for long. */
const SIGNATURES_AT_ONCE = 1000;
/** Owners in one part, many of which may need no signature. */
const OWNERS_AT_ONCE = 2000;
/** Owners whose signatures are replaced in one change, and how long until the next one, milliseconds. */
const REFRESHED_AT_ONCE = 500;
const REFRESH_REST_MS = 60_000;
/** The same when many are late, as after downtime. */
const HURRY_REST_MS = 1000;
/** A zone is looked at this often even when nothing is due, milliseconds. */
const LONGEST_REST_MS = 86_400_000;
/** A run ends after this time, so that the job's lease is seen to move, milliseconds. */
const LONGEST_RUN_MS = 20_000;

const DONE: JobOutcome = { done: true };

export function signingJob(base: ContextBase): JobKind {
  return {
    atOnce: 2,
    backoff: { firstMs: 5_000, mostMs: 600_000 },
    handler: (job, subject) =>
      runSigning({ ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' }, job, subject),
  };
}

async function runSigning(ctx: Context, job: JobContext, zoneId: string): Promise<JobOutcome> {
  const endMs = ctx.clock.nowMs() + LONGEST_RUN_MS;
  for (;;) {
    const zone = findZoneById(ctx.store, parseId(zoneId)!);
    const row = zone && findDnssecZone(ctx.store, zone.seq);
    if (!zone || !row) return DONE;
    const rest = await runPart(ctx, job, zone, row);
    const nowMs = ctx.clock.nowMs();
    if (rest > 0 || nowMs >= endMs || job.signal.aborted) return { againAtMs: nowMs + rest };
  }
}

/** Resolves to the time until the next part, milliseconds. */
async function runPart(ctx: Context, job: JobContext, zone: ZoneRow, row: DnssecZoneRow): Promise<number> {
  switch (row.phase) {
    case 'data':
    case 'chain':
      await write(ctx, job, zone, (draft, now) => signPart(ctx, draft, now));
      return 0;
    case 'unsigning':
      await write(ctx, job, zone, (draft, now) => unsignPart(ctx, draft, now));
      return 0;
    default:
      return row.walk ? walkOn(ctx, job, zone) : refresh(ctx, job, zone, row);
  }
}

/** A commit for the zone as it is then; nothing happens when it is gone. */
async function write<T>(
  ctx: Context,
  job: JobContext,
  { seq }: ZoneRow,
  work: (draft: Draft, zone: ZoneRow) => T,
): Promise<T | undefined> {
  const { value } = await commit(ctx, (draft) => {
    job.requireLease();
    const zone = findZone(ctx.store, seq);
    return zone && work(draft, zone);
  });
  return value;
}

/** Signs the next owners of a zone that is not served signed yet; after the last ones it is. */
function signPart(ctx: Context, draft: Draft, zone: ZoneRow): void {
  const { store } = ctx;
  const signing = openSigningZone(ctx, zone, unsignedZone(zone, ctx.settings), false);
  if (!signing || (signing.row.phase !== 'data' && signing.row.phase !== 'chain')) return;
  let owners = 0;
  const isEnough = (): boolean => ++owners >= OWNERS_AT_ONCE || signing.done.signatures >= SIGNATURES_AT_ONCE;
  const { phase } = signing.row;
  const cursor = signing.row.cursor ?? undefined;
  const next =
    phase === 'data'
      ? signData(signing, cursor, isEnough)
      : maintainsNsec(signing)
        ? signChain(signing, cursor ?? APEX, isEnough)
        : undefined;
  if (next) updateDnssecZone(store, zone.seq, { cursor: next });
  else if (phase === 'data') updateDnssecZone(store, zone.seq, { phase: 'chain', cursor: null });
  else serveSigned(ctx, draft, zone);
  noteSigned(signing);
}

/** Resolvers see the keys of the zone from now on. */
function serveSigned({ store }: Context, draft: Draft, zone: ZoneRow): void {
  for (const { id } of keysOfZone(store, zone.seq)) updateDnssecKey(store, id, { state_at: draft.now });
  draft.noteSigning(zone.seq, { prepared: true });
  updateDnssecZone(store, zone.seq, { phase: 'signed', cursor: null });
  draft.setZone(zone.seq, { signed: 1 });
}

function unsignPart({ store }: Context, draft: Draft, zone: ZoneRow): void {
  if (findDnssecZone(store, zone.seq)?.phase !== 'unsigning') return;
  if (removeSomeSignatures(store, zone.seq, OWNERS_AT_ONCE)) return;
  removeDnssecZone(store, zone.seq);
  draft.setZone(zone.seq, { signed: 0 });
}

/** Replaces signatures owner by owner, whenever they end. */
async function walkOn(ctx: Context, job: JobContext, zone: ZoneRow): Promise<number> {
  await write(ctx, job, zone, (draft, { seq }) => {
    const walk = findDnssecZone(ctx.store, seq)?.walk;
    if (!walk) return;
    const owners = signedOwnersAfter(ctx.store, seq, walk, REFRESHED_AT_ONCE);
    draft.noteSigning(seq, { owners: walk.length === 0 ? [APEX, ...owners] : owners, exact: true });
    const last = owners.at(-1);
    updateDnssecZone(ctx.store, seq, last ? { walk: last } : { walk: null, walked_at: draft.now });
  });
  return HURRY_REST_MS;
}

/** Replaces the signatures that end next, if it is time. */
async function refresh(ctx: Context, job: JobContext, zone: ZoneRow, row: DnssecZoneRow): Promise<number> {
  const { store, clock, settings } = ctx;
  const span = refreshSpanOfZone(zone, row, settings.nameServers);
  const before = Math.floor(clock.nowMs() / 1000) + span;
  const due = dueSignatures(store, zone.seq, before, REFRESHED_AT_ONCE);
  if (due.length === 0) {
    const next = stateOfSigning(store, zone, settings.nameServers)?.nextRefresh;
    const restMs = next === undefined ? LONGEST_REST_MS : next * 1000 + 1000 - clock.nowMs();
    return Math.min(LONGEST_REST_MS, Math.max(REFRESH_REST_MS, restMs));
  }
  await write(ctx, job, zone, (draft, { seq }) => {
    draft.noteSigning(seq, { owners: dueSignatures(store, seq, before, REFRESHED_AT_ONCE) });
  });
  return due.length < REFRESHED_AT_ONCE ? REFRESH_REST_MS : HURRY_REST_MS;
}
