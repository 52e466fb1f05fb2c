/**
 * The job of a signed zone. It signs a large one a part at a time, replaces signatures before they end, and takes off what is
 * left of an unsigned one. Each part is a commit that stores how far the work has come.
 */

import { concatBytes } from '../../base/bytes.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { JobContext, JobKind, JobOutcome } from '../../jobs/kind.js';
import { findSigning, type SigningHere } from '../../serving/signing.js';
import { servingZone, unsignedZone } from '../../serving/zone.js';
import { dueHashed, hasHashed, removeSomeHashed, someHashedAfter } from '../../store/dnssec/hashed.js';
import { keysOfZone, updateDnssecKey } from '../../store/dnssec/keys.js';
import { dueSignatures, removeSomeSignatures, signedOwnersAfter } from '../../store/dnssec/signatures.js';
import {
  type DnssecZoneChange,
  type DnssecZoneRow,
  dnssecZonesSignedAfter,
  findDnssecZone,
  updateDnssecZone,
} from '../../store/dnssec/zones.js';
import { findZone, findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { parseId } from '../guard/access.js';
import { OPERATOR } from '../guard/actor.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import type { SigningScope } from '../kernel/touched-zone.js';
import { runSigningSoon } from '../schedule/signing.js';
import { removeSigning } from './enable.js';
import { signAgain } from './plan-signatures.js';
import { type AheadSigner, type PreparedPart, signAhead } from './sign-ahead.js';
import { APEX } from './signing/chain.js';
import { noteSigned } from './signing/sign-zone.js';
import { openSigningZone } from './signing/signing-zone.js';
import { inceptionAt, wasPutBack } from './signing/times.js';
import { refreshSpanOfZone, stateOfSigning } from './state.js';
import { removeUnusedHashed, serveDenial } from './switch-denial.js';

/** Rows removed in one part. */
const ROWS_AT_ONCE = 2000;
/** Owners whose signatures are replaced in one change, and how long until the next one, milliseconds. */
const REFRESHED_AT_ONCE = 500;
const REFRESH_REST_MS = 60_000;
/** The same when many are late, as after downtime. */
const HURRY_REST_MS = 1000;
/** A zone is looked at this often even when nothing is due, milliseconds. */
const LONGEST_REST_MS = 86_400_000;
/** A run ends after this time, so that other accounts get their turns, milliseconds. */
const LONGEST_RUN_MS = 2000;

const DONE: JobOutcome = { done: true };

export function signingJob(base: ContextBase): JobKind {
  return {
    atOnce: 2,
    backoff: { firstMs: 5_000, mostMs: 600_000 },
    handler: (job, subject) =>
      runSigning({ ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' }, job, subject),
    followJobs(store) {
      for (const row of dnssecZonesSignedAfter(store, secondsOf(base.clock))) {
        const zone = findZone(store, row.zone);
        if (zone) runSigningSoon(base, zone);
      }
    },
  };
}

const secondsOf = (clock: Clock): number => Math.floor(clock.nowMs() / 1000);

async function runSigning(ctx: Context, job: JobContext, zoneId: string): Promise<JobOutcome> {
  const endMs = steadyMs(ctx.clock) + LONGEST_RUN_MS;
  const ahead = signAhead(ctx, job.signal);
  for (;;) {
    const zone = findZoneById(ctx.store, parseId(zoneId)!);
    const signing = zone && findSigning(ctx.store, zone.seq);
    if (signing?.kind !== 'here') return DONE;
    const rest = await runPart(ctx, job, zone!, signing, ahead);
    if (rest > 0 || steadyMs(ctx.clock) >= endMs || job.signal.aborted) return { againAtMs: ctx.clock.nowMs() + rest };
  }
}

/** Resolves to the time until the next part, milliseconds. */
async function runPart(
  ctx: Context,
  job: JobContext,
  zone: ZoneRow,
  { work, row, denial }: SigningHere,
  ahead: AheadSigner,
): Promise<number> {
  if (wasPutBack(row, secondsOf(ctx.clock))) {
    await write(ctx, job, zone, (_, now) => signAnew(ctx, now));
    return 0;
  }
  switch (work) {
    case 'begin':
      await writePart(await ahead.prepared(zone, row), job, zone, signPart);
      return 0;
    case 'end':
      await write(ctx, job, zone, (draft, now) => unsignPart(ctx, draft, now));
      return 0;
    case 'link':
      await writeSigned(ctx, job, zone, ownersToLink(ctx, row), (draft, now) => linkPart(ctx, draft, now));
      return HURRY_REST_MS;
    case 'deny':
      await writePart(await ahead.prepared(zone, row), job, zone, denyPart);
      return 0;
    case 'walk':
      return walkOn(ctx, job, zone, row);
    case undefined:
      if (denial === 'nsec3' || !hasHashed(ctx.store, zone.seq)) return refresh(ctx, job, zone, row);
      await write(ctx, job, zone, (_, now) => removeUnusedHashed(ctx, now, ROWS_AT_ONCE));
      return 0;
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

/** The same with signatures that were made before, for what is to be signed now. */
async function writeSigned(
  ctx: Context,
  job: JobContext,
  zone: ZoneRow,
  scope: SigningScope | undefined,
  work: (draft: Draft, zone: ZoneRow) => void,
): Promise<void> {
  const signatures = scope && (await signAgain(ctx, zone, scope));
  await write({ ...ctx, signatures }, job, zone, work);
}

function writePart(
  part: PreparedPart,
  job: JobContext,
  zone: ZoneRow,
  work: (part: PreparedPart, draft: Draft, zone: ZoneRow) => void,
): Promise<void> {
  return write(part.ctx, job, zone, (draft, now) => work(part, draft, now));
}

/** Signs the next owners of a zone that is not served signed yet; after the last ones it is. */
function signPart(part: PreparedPart, draft: Draft, zone: ZoneRow): void {
  const { ctx } = part;
  const { store } = ctx;
  const signing = openSigningZone(ctx, zone, unsignedZone(zone, ctx.settings), false);
  if (!signing || (signing.row.phase !== 'data' && signing.row.phase !== 'chain')) return;
  const { phase } = signing.row;
  const next = part.store(signing, zone);
  if (next) updateDnssecZone(store, zone.seq, { cursor: next });
  else if (phase === 'data') updateDnssecZone(store, zone.seq, { phase: 'chain', cursor: null });
  else serveSigned(ctx, draft, zone);
  noteSigned(signing);
}

/** Makes the next part of the chain that will be served instead of the present one. */
function denyPart(part: PreparedPart, draft: Draft, zone: ZoneRow): void {
  const { ctx } = part;
  const { store, settings } = ctx;
  const signing = openSigningZone(ctx, zone, servingZone(store, zone, settings), false);
  const kind = signing?.row.next_denial;
  if (!signing || !kind) return;
  const next = part.store(signing, zone);
  if (next) updateDnssecZone(store, zone.seq, { cursor: next });
  else serveDenial(ctx, draft, zone, kind);
  noteSigned(signing);
}

/** The same where the records of the chain replace ones that are served: resolvers see each part of it. */
function linkPart(ctx: Context, draft: Draft, zone: ZoneRow): void {
  const { store } = ctx;
  const row = findDnssecZone(store, zone.seq);
  if (row?.next_denial !== 'nsec') return;
  const scope = ownersToLink(ctx, row);
  if (scope) {
    draft.noteSigning(zone.seq, scope);
    updateDnssecZone(store, zone.seq, { cursor: scope.owners.at(-1) ?? APEX });
  } else serveDenial(ctx, draft, zone, 'nsec');
}

/** Undefined when all are linked. */
function ownersToLink(
  { store }: Context,
  { zone, cursor }: DnssecZoneRow,
): Required<Pick<SigningScope, 'owners'>> | undefined {
  const owners = signedOwnersAfter(store, zone, cursor ?? APEX, REFRESHED_AT_ONCE);
  if (cursor && owners.length === 0) return undefined;
  return { owners: cursor ? owners : [APEX, ...owners] };
}

/** Resolvers see the keys of the zone from now on. */
function serveSigned({ store }: Context, draft: Draft, zone: ZoneRow): void {
  for (const { id } of keysOfZone(store, zone.seq)) updateDnssecKey(store, id, { state_at: draft.now });
  draft.noteSigning(zone.seq, { prepared: true });
  updateDnssecZone(store, zone.seq, { phase: 'signed', cursor: null });
  draft.setZone(zone.seq, { signed: 1 });
}

function unsignPart(ctx: Context, draft: Draft, zone: ZoneRow): void {
  const { store } = ctx;
  if (findDnssecZone(store, zone.seq)?.phase !== 'unsigning') return;
  if (removeSomeSignatures(store, zone.seq, ROWS_AT_ONCE)) return;
  if (removeSomeHashed(store, zone.seq, ROWS_AT_ONCE)) return;
  removeSigning(ctx, zone.seq);
  draft.setZone(zone.seq, { signed: 0 });
}

/** Signatures that were made while the clock was ahead are not valid yet: all owners are looked at, and parts begin again. */
function signAnew({ store, clock, log }: Context, { seq, name }: ZoneRow): void {
  const row = findDnssecZone(store, seq);
  const now = secondsOf(clock);
  if (!row || !wasPutBack(row, now)) return;
  log.warn(
    { zone: name, newest: row.newest_inception },
    'the clock was put back: signatures that are not valid yet are replaced',
  );
  const again: DnssecZoneChange = row.phase === 'chain' ? { phase: 'data' } : {};
  updateDnssecZone(store, seq, { ...again, cursor: null, walk: APEX, newest_inception: inceptionAt(now) });
}

/** Replaces signatures owner by owner and then hash by hash, whenever they end. */
async function walkOn(ctx: Context, job: JobContext, zone: ZoneRow, begun: DnssecZoneRow): Promise<number> {
  const planned = begun.walk ? stepOfWalk(ctx, begun, begun.walk).scope : undefined;
  await writeSigned(ctx, job, zone, planned, (draft, { seq }) => {
    const row = findDnssecZone(ctx.store, seq);
    if (!row?.walk) return;
    const { scope, next } = stepOfWalk(ctx, row, row.walk);
    draft.noteSigning(seq, scope);
    updateDnssecZone(ctx.store, seq, next ? { walk: next } : { walk: null, walked_at: draft.now });
  });
  return HURRY_REST_MS;
}

function stepOfWalk(
  { store }: Context,
  { zone, denial }: DnssecZoneRow,
  walk: Uint8Array,
): { readonly scope: SigningScope; readonly next: Uint8Array | undefined } {
  if (walk[0] !== HASHES[0]) {
    const owners = signedOwnersAfter(store, zone, walk, REFRESHED_AT_ONCE);
    const next = owners.at(-1) ?? (denial === 'nsec3' ? HASHES : undefined);
    return { scope: { owners: walk.length === 0 ? [APEX, ...owners] : owners, exact: true }, next };
  }
  const hashes = someHashedAfter(store, zone, walk.subarray(HASHES.length), REFRESHED_AT_ONCE).map(({ hash }) => hash);
  const last = hashes.at(-1);
  return { scope: { hashes, exact: true }, next: last && concatBytes(HASHES, last) };
}

/** Before the hash in a walk that has done all owners. No owner key begins like this. */
const HASHES = Uint8Array.of(0xff, 0xff);

/** Replaces the signatures that end next, if it is time. */
async function refresh(ctx: Context, job: JobContext, zone: ZoneRow, row: DnssecZoneRow): Promise<number> {
  const { store, clock, settings } = ctx;
  const span = refreshSpanOfZone(zone, row, settings.nameServers);
  const before = secondsOf(clock) + span;
  const dueOf = (seq: number): Required<Pick<SigningScope, 'owners' | 'hashes'>> => {
    const owners = dueSignatures(store, seq, before, REFRESHED_AT_ONCE);
    return { owners, hashes: dueHashed(store, seq, before, REFRESHED_AT_ONCE - owners.length) };
  };
  const scope = dueOf(zone.seq);
  const due = scope.owners.length + scope.hashes.length;
  if (due === 0) {
    const next = stateOfSigning(store, zone, settings.nameServers)?.nextRefresh;
    const restMs = next === undefined ? LONGEST_REST_MS : next * 1000 + 1000 - clock.nowMs();
    return Math.min(LONGEST_REST_MS, Math.max(REFRESH_REST_MS, restMs));
  }
  await writeSigned(ctx, job, zone, scope, (draft, { seq }) => draft.noteSigning(seq, dueOf(seq)));
  return due < REFRESHED_AT_ONCE ? REFRESH_REST_MS : HURRY_REST_MS;
}
