/**
 * One check of a hostname. First it asks DNS and the customer's web server; then one write judges the answers against the rows
 * as they are at that time (edge specification §3.1).
 */

import { uuidOctets } from '../base/bytes.js';
import { refreshCertificate, suspendCertificate } from '../certs/certificates.js';
import { HOSTNAME_JOB } from '../control/certificates/drop.js';
import { orderTimeMs } from '../control/certificates/issuance-limit.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { holdsHostnames } from '../control/rules/hold.js';
import { settleClaims } from '../control/zones/claims.js';
import { zonesAtOrAbove } from '../control/zones/write.js';
import { schedule } from '../jobs/schedule.js';
import { type HostnameProof, isProofStanding } from '../serving/hostname-proof.js';
import { isProven } from '../serving/name-owner.js';
import {
  findHostname,
  type HostnameChange,
  type HostnameRow,
  otherActiveHostnames,
  updateHostname,
} from '../store/hostnames/hostnames.js';
import { findAllowance } from '../store/hostnames/issuance.js';
import { findZone, type ZoneRow } from '../store/zones/zones.js';
import { type ActivationEvent, nextState } from './activation.js';
import { bestProof, type Rival, rivalsOf, winsAgainst } from './contest.js';
import type { HostnameContext } from './context.js';
import { originFaults } from './fallback-origin.js';
import { certificateOwner } from './item.js';
import { withoutWildcard } from './name.js';
import { type Findings, findOut, uniqueTarget } from './ownership.js';
import {
  delaySeconds,
  ELSEWHERE_CHECKS,
  ELSEWHERE_MS,
  ELSEWHERE_RECHECK_MS,
  MOST_CHECKS,
  MOVED_KEPT_MS,
  RECHECK_MS,
} from './schedule.js';
import { HELD, NO_OWN_ADDRESS, NOT_POINTED, NOT_PROVEN, notPointedTo, TAKEN, unresolved } from './texts.js';

export interface CheckOptions {
  /** A check of the schedule, which counts; others are made because something changed. */
  readonly planned: boolean;
  /** Cached answers are not used. */
  readonly fresh: boolean;
  /** Called inside the write; throws when the write must not happen any more. */
  readonly guard?: () => void;
}

/** Does nothing for a hostname that is gone or whose state needs no checks. */
export async function checkHostname(ctx: HostnameContext, id: string, options: CheckOptions): Promise<void> {
  const seen = await look(ctx, id, options.fresh);
  if (seen) await settle(ctx, id, seen, options);
}

/** A check after which the hostname still waits: its job is to run at `nextMs`, and `write` belongs to that write. */
export interface StillPending {
  readonly nextMs: number;
  readonly write: () => void;
}

/**
 * A check of the schedule. Of very many hostnames, most are still not verified: then nothing is written but when to look again, so
 * that is left to the write that ends the job. Otherwise the result is written.
 */
export async function checkBySchedule(
  ctx: HostnameContext,
  id: string,
  guard: () => void,
): Promise<StillPending | undefined> {
  const seen = await look(ctx, id, false);
  if (!seen) return undefined;
  const row = staysPending(ctx, id, seen)?.row;
  if (!row) {
    await settle(ctx, id, seen, { planned: true, fresh: false, guard });
    return undefined;
  }
  const nextMs = nextCheckMs(ctx, row);
  const number = row.check_number;
  return {
    nextMs,
    write() {
      const now = staysPending(ctx, id, seen);
      // Otherwise something else was written about it meanwhile, and the next check says what is true.
      if (now?.row.check_number !== number) return;
      updateHostname(ctx.store, now.row.seq, { ...now.change, check_number: number + 1, next_check_ms: nextMs });
    },
  };
}

/** The hostname and what is to be noted, if all that was seen leaves it waiting, and this check is not the last one. */
function staysPending(
  ctx: HostnameContext,
  id: string,
  seen: Seen,
): { row: HostnameRow; change: HostnameChange } | undefined {
  const judged = judgedNow(ctx, id, seen);
  if (judged?.row.state !== 'pending' || isLast(judged.row)) return undefined;
  const result = pendingResult(ctx, judged, ctx.clock.nowUs());
  return result.kind === 'unproven' ? { row: judged.row, change: result.change } : undefined;
}

interface Seen {
  readonly findings: Findings;
  /** What was found of other accounts' hostnames of the same name. */
  readonly rivals: readonly Rival[];
  /** The account may prove hostnames by addresses alone. */
  readonly byAddress: boolean;
}

async function look(ctx: HostnameContext, id: string, fresh: boolean): Promise<Seen | undefined> {
  const row = findHostname(ctx.store, id);
  const zone = row && findZone(ctx.store, row.zone);
  if (!zone || (row.state !== 'pending' && row.state !== 'active')) return undefined;
  const { resolver, fetchToken } = ctx.hostnames;
  const addresses = addressesFor(ctx, zone);
  const anew = !isProofStanding(ctx.store, row, zone.account);
  const findings = await findOut(resolver, fetchToken, { row, zone, addresses, fresh, anew });
  const rivals = bestProof(ctx.store, row, zone, findings) ? await lookAtRivals(ctx, row, zone) : [];
  return { findings, rivals, byAddress: addresses.length > 0 };
}

function judgedNow({ store }: HostnameContext, id: string, seen: Seen): Judged | undefined {
  const row = findHostname(store, id);
  const zone = row && findZone(store, row.zone);
  return zone && { ...seen, row, zone };
}

async function settle(ctx: HostnameContext, id: string, seen: Seen, { planned, guard }: CheckOptions): Promise<void> {
  await commit(ctx, (draft) => {
    guard?.();
    const judged = judgedNow(ctx, id, seen);
    if (judged?.row.state === 'pending') settlePending(ctx, draft, judged, planned);
    else if (judged?.row.state === 'active') settleActive(ctx, draft, judged);
  });
}

/** Addresses that prove hostnames of a zone; none unless its account may have that. */
function addressesFor({ store, settings }: HostnameContext, { account }: ZoneRow): readonly Uint8Array[] {
  return findAllowance(store, account)?.apex_addresses === 1 ? settings.edgeAddresses : [];
}

/** Nobody has a name for good: whether others still prove it is looked at when somebody else does. */
async function lookAtRivals(ctx: HostnameContext, row: HostnameRow, home: ZoneRow): Promise<readonly Rival[]> {
  const { resolver, fetchToken } = ctx.hostnames;
  const looks = rivalsOf(ctx.store, row, home.account).map(async ({ row: rival, zone }) => {
    const addresses = addressesFor(ctx, zone);
    const findings = await findOut(resolver, fetchToken, { row: rival, zone, addresses, fresh: true, anew: true });
    return { id: rival.id, findings };
  });
  return Promise.all(looks);
}

interface Judged extends Seen {
  readonly row: HostnameRow;
  readonly zone: ZoneRow;
}

type PendingResult =
  | { readonly kind: 'held' }
  | { readonly kind: 'proven'; readonly proof: HostnameProof }
  | { readonly kind: 'unproven'; readonly change: HostnameChange };

/** What a check says about a hostname that waits. `now`: microseconds. */
function pendingResult(ctx: HostnameContext, judged: Judged, now: number): PendingResult {
  const { row, zone, findings } = judged;
  if (isHeld(ctx, row.hostname, zone.account, now)) return { kind: 'held' };
  const shown = bestProof(ctx.store, row, zone, findings);
  const isTaken = shown && !winsAgainst(ctx.store, shown, rivalsOf(ctx.store, row, zone.account), judged.rivals);
  const proof = isTaken ? undefined : shown;
  const fault = proof ? [] : [isTaken ? TAKEN : faultOf(judged)];
  const errors = [...fault, ...originFaults(ctx.store, zone, row.origin)];
  if (proof !== undefined && errors.length === 0) return { kind: 'proven', proof };
  const pointed = findings.pointing.kind === 'here' ? { pointed_at: now } : {};
  return { kind: 'unproven', change: { ...pointed, errors: JSON.stringify(errors) } };
}

function settlePending(ctx: HostnameContext, draft: Draft, judged: Judged, planned: boolean): void {
  const { row, findings } = judged;
  const result = pendingResult(ctx, judged, draft.now);
  if (result.kind === 'held') {
    moveTo(ctx, draft, judged, 'held', { errors: JSON.stringify([HELD]), next_check_ms: null });
    return;
  }
  if (result.kind === 'proven') {
    activate(ctx, draft, judged, result.proof);
    return;
  }
  const { change } = result;
  if (!planned) {
    updateHostname(ctx.store, row.seq, change);
    return;
  }
  const event = isLast(row) ? 'exhausted' : findings.pointing.kind === 'unsure' ? 'unsure' : 'unverified';
  const counted = { check_number: row.check_number + 1, next_check_ms: nextCheckMs(ctx, row) };
  moveTo(ctx, draft, judged, event, { ...change, ...counted });
}

/** Whether this check is the last one of the schedule. */
const isLast = ({ check_number }: HostnameRow): boolean => check_number + 1 >= MOST_CHECKS;

/** When the next check after this one is due, or a hostname that was given up goes. */
function nextCheckMs({ clock }: HostnameContext, row: HostnameRow): number {
  return clock.nowMs() + (isLast(row) ? MOVED_KEPT_MS : delaySeconds(row.check_number + 1) * 1000);
}

function faultOf({ row, zone, findings: { pointing }, byAddress }: Judged): string {
  if (pointing.kind === 'unsure') return unresolved(row.hostname, pointing.why);
  if (pointing.kind === 'here' && !isProven(zone)) return NOT_PROVEN;
  if (zone.unique_targets === 1) return notPointedTo(uniqueTarget(row, zone.name));
  return byAddress ? NO_OWN_ADDRESS : NOT_POINTED;
}

function isHeld(ctx: HostnameContext, hostname: string, account: number, now: number): boolean {
  const above = zonesAtOrAbove(ctx.store, withoutWildcard(hostname));
  return above.some((zone) => holdsHostnames(zone, account, now));
}

/** It has won against other accounts. Of its own account's, the zone that verified a name last keeps it. Others become `moved`. */
function activate(ctx: HostnameContext, draft: Draft, judged: Judged, proof: HostnameProof): void {
  const { row, findings } = judged;
  moveTo(ctx, draft, judged, 'verified', {
    errors: '[]',
    activated_at: draft.now,
    activated_by: proof.by,
    proof_zone: proof.zone,
    elsewhere_count: 0,
    elsewhere_ms: null,
    next_check_ms: ctx.clock.nowMs() + RECHECK_MS,
    ...(findings.pointing.kind === 'here' && { pointed_at: draft.now }),
  });
  // While it was pending, its certificate may have waited.
  const { account } = judged.zone;
  refreshCertificate(ctx, certificateOwner(row.id), orderTimeMs(ctx.store, account, ctx.clock.nowMs()));
  for (const other of otherActiveHostnames(ctx.store, row)) {
    const zone = findZone(ctx.store, other.zone)!;
    moveAway(ctx, draft, { ...judged, row: other, zone }, 'displaced');
  }
}

function settleActive(ctx: HostnameContext, draft: Draft, judged: Judged): void {
  const { row, findings } = judged;
  const { pointing } = findings;
  const nowMs = ctx.clock.nowMs();
  const later = { next_check_ms: nowMs + RECHECK_MS };
  const proof = bestProof(ctx.store, row, judged.zone, findings);
  if (proof) {
    const seen = pointing.kind === 'here' ? { pointed_at: draft.now, elsewhere_count: 0, elsewhere_ms: null } : {};
    moveTo(ctx, draft, judged, 'verified', { ...later, ...seen, proof_zone: proof.zone });
    return;
  }
  // What it was proven by was a zone here, which says so no more: its account deleted it, or never proved that it was its own.
  if (pointing.kind !== 'unsure' && !isProofStanding(ctx.store, row, judged.zone.account)) {
    moveAway(ctx, draft, judged, 'elsewhere');
    return;
  }
  // A hostname that was verified by a token and never led here stays active. Uncertainty changes nothing.
  if (pointing.kind === 'unsure' || row.pointed_at === null) {
    moveTo(ctx, draft, judged, pointing.kind === 'unsure' ? 'unsure' : 'unverified', later);
    return;
  }
  const since = row.elsewhere_ms ?? nowMs;
  const count = row.elsewhere_count + 1;
  if ((pointing.kind === 'elsewhere' && pointing.own) || (count >= ELSEWHERE_CHECKS && nowMs - since >= ELSEWHERE_MS)) {
    moveAway(ctx, draft, judged, 'elsewhere');
    return;
  }
  const change = { elsewhere_count: count, elsewhere_ms: since, next_check_ms: nowMs + ELSEWHERE_RECHECK_MS };
  moveTo(ctx, draft, judged, 'unverified', change);
}

function moveAway(ctx: HostnameContext, draft: Draft, judged: Judged, event: 'elsewhere' | 'displaced'): void {
  const next_check_ms = ctx.clock.nowMs() + MOVED_KEPT_MS;
  moveTo(ctx, draft, judged, event, { errors: JSON.stringify([NOT_POINTED]), next_check_ms });
}

/** Writes the next state, plans the next check, and tells the audit log when the state is another. */
function moveTo(
  ctx: HostnameContext,
  draft: Draft,
  { row, zone }: Judged,
  event: ActivationEvent,
  change: HostnameChange,
): void {
  const state = nextState(row.state, event);
  if (state === 'gone') throw new Error(`a check made a hostname go: ${event}`);
  const moved = state === 'moved' && row.state !== 'moved' ? { moved_at: draft.now } : {};
  updateHostname(ctx.store, row.seq, { ...change, ...moved, state });
  if (state === 'moved') suspendCertificate(ctx.store, draft, certificateOwner(row.id));
  const nextMs = change.next_check_ms ?? null;
  if (nextMs !== null) {
    schedule(ctx.store, { kind: HOSTNAME_JOB, subject: row.id, runAtMs: nextMs }, ctx.clock.nowMs());
  }
  if (state === 'active' || row.state === 'active')
    settleClaims(ctx, draft, { name: withoutWildcard(row.hostname), account: zone.account });
  if (state === row.state) return;
  const { hostname } = row;
  const told = { before: { hostname, status: row.state }, after: { hostname, status: state } };
  draft.event({ kind: `custom_hostname.${VERBS[state]}`, zone, id: uuidOctets(row.id), name: hostname, ...told });
}

const VERBS = { pending: 'edit', active: 'activate', moved: 'move', blocked: 'edit' } as const;

/** Has the server look at a hostname now, without counting it as a check of the schedule. */
export async function checkSoon({ store, clock }: Context, id: string): Promise<void> {
  const nowMs = clock.nowMs();
  await store.write(() => schedule(store, { kind: HOSTNAME_JOB, subject: id, runAtMs: nowMs }, nowMs));
}
