/**
 * One check of a hostname. First it asks DNS and the customer's web server; then one write judges the answers against the rows
 * as they are at that time (edge specification §3.1).
 */

import { uuidOctets } from '../base/bytes.js';
import { suspendCertificate } from '../certs/certificates.js';
import { HOSTNAME_JOB } from '../control/certificates/drop.js';
import { holdsHostnames } from '../control/rules/hold.js';
import { commit, type Draft } from '../control/write/commit.js';
import type { Context } from '../control/write/context.js';
import { zonesAtOrAbove } from '../control/zones/write.js';
import { schedule } from '../jobs/schedule.js';
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
import { HELD, NO_OWN_ADDRESS, NOT_POINTED, notPointedTo, unresolved } from './texts.js';

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
  const row = findHostname(ctx.store, id);
  const zone = row && findZone(ctx.store, row.zone);
  if (!zone || (row.state !== 'pending' && row.state !== 'active')) return;
  const { resolver, fetchToken } = ctx.hostnames;
  const addresses = findAllowance(ctx.store, zone.account)?.apex_addresses === 1 ? ctx.settings.edgeAddresses : [];
  const unique = zone.unique_targets === 1;
  const question = { row, zone: zone.name, addresses, unique, fresh: options.fresh };
  const findings = await findOut(resolver, fetchToken, question);
  await commit(ctx, (draft) => {
    options.guard?.();
    const current = findHostname(ctx.store, id);
    const home = current && findZone(ctx.store, current.zone);
    if (!home) return;
    const judged = { row: current, zone: home, findings, byAddress: addresses.length > 0, planned: options.planned };
    if (current.state === 'pending') settlePending(ctx, draft, judged);
    else if (current.state === 'active') settleActive(ctx, draft, judged);
  });
}

interface Judged {
  readonly row: HostnameRow;
  readonly zone: ZoneRow;
  readonly findings: Findings;
  /** The account may prove hostnames by addresses alone. */
  readonly byAddress: boolean;
  readonly planned: boolean;
}

function settlePending(ctx: HostnameContext, draft: Draft, judged: Judged): void {
  const { row, zone, findings, planned } = judged;
  if (isHeld(ctx, row.hostname, zone.account, draft.now)) {
    moveTo(ctx, draft, judged, 'held', { errors: JSON.stringify([HELD]), next_check_ms: null });
    return;
  }
  const proof = proofOf(ctx, judged);
  const errors = [...(proof === undefined ? [faultOf(judged)] : []), ...originFaults(ctx.store, zone, row.origin)];
  if (proof !== undefined && errors.length === 0) {
    activate(ctx, draft, judged, proof);
    return;
  }
  const pointed = findings.pointing.kind === 'here' ? { pointed_at: draft.now } : {};
  const change = { ...pointed, errors: JSON.stringify(errors) };
  if (!planned) {
    updateHostname(ctx.store, row.seq, change);
    return;
  }
  const done = row.check_number + 1;
  const exhausted = done >= MOST_CHECKS;
  const nextMs = ctx.clock.nowMs() + (exhausted ? MOVED_KEPT_MS : delaySeconds(done) * 1000);
  const event = exhausted ? 'exhausted' : findings.pointing.kind === 'unsure' ? 'unsure' : 'unverified';
  moveTo(ctx, draft, judged, event, { ...change, check_number: done, next_check_ms: nextMs });
}

/** The proof that the hostname is meant for the zone. */
function proofOf(ctx: HostnameContext, { row, findings: { pointing, token } }: Judged): string | undefined {
  if (pointing.kind === 'here' && pointing.by === 'cname') return 'cname';
  if (token) return token;
  // All accounts share the edge addresses, so an address alone takes no name from another zone.
  const free = otherActiveHostnames(ctx.store, row).length === 0;
  return pointing.kind === 'here' && free ? 'address' : undefined;
}

function faultOf({ row, zone, findings: { pointing }, byAddress }: Judged): string {
  if (pointing.kind === 'unsure') return unresolved(row.hostname, pointing.why);
  if (zone.unique_targets === 1) return notPointedTo(uniqueTarget(row, zone.name));
  return byAddress ? NO_OWN_ADDRESS : NOT_POINTED;
}

function isHeld(ctx: HostnameContext, hostname: string, account: number, now: number): boolean {
  const above = zonesAtOrAbove(ctx.store, withoutWildcard(hostname));
  return above.some((zone) => holdsHostnames(zone, account, now));
}

/** The zone that verified a name last keeps it; in other zones it becomes `moved`. */
function activate(ctx: HostnameContext, draft: Draft, judged: Judged, proof: string): void {
  const { row, findings } = judged;
  moveTo(ctx, draft, judged, 'verified', {
    errors: '[]',
    activated_at: draft.now,
    activated_by: proof,
    elsewhere_count: 0,
    elsewhere_ms: null,
    next_check_ms: ctx.clock.nowMs() + RECHECK_MS,
    ...(findings.pointing.kind === 'here' && { pointed_at: draft.now }),
  });
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
  if (pointing.kind === 'here') {
    const change = { ...later, pointed_at: draft.now, elsewhere_count: 0, elsewhere_ms: null };
    moveTo(ctx, draft, judged, 'verified', change);
    return;
  }
  // A hostname that was verified by a token and never led here stays active. Uncertainty changes nothing.
  if (pointing.kind === 'unsure' || row.pointed_at === null) {
    moveTo(ctx, draft, judged, pointing.kind === 'unsure' ? 'unsure' : 'unverified', later);
    return;
  }
  const since = row.elsewhere_ms ?? nowMs;
  const count = row.elsewhere_count + 1;
  if (pointing.own || (count >= ELSEWHERE_CHECKS && nowMs - since >= ELSEWHERE_MS)) {
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
  if (state === row.state) return;
  const { hostname } = row;
  const object = uuidOctets(row.id);
  const told = { before: { hostname, status: row.state }, after: { hostname, status: state } };
  draft.audit({ action: `custom_hostname.${VERBS[state]}`, zone: zone.id, object, ...told });
}

const VERBS = { pending: 'edit', active: 'activate', moved: 'move', blocked: 'edit' } as const;

/** Has the server look at a hostname now, without counting it as a check of the schedule. */
export async function checkSoon({ store, clock }: Context, id: string): Promise<void> {
  const nowMs = clock.nowMs();
  await store.write(() => schedule(store, { kind: HOSTNAME_JOB, subject: id, runAtMs: nowMs }, nowMs));
}
