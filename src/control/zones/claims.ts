/**
 * What follows from claims of names: which zones are answered, whose zone takes the place of another's (docs/tenants.md). The
 * rule itself is in serving/name-owner.ts. Everything here is done inside a commit.
 */

import {
  type ClaimedName,
  encloses,
  isProofLost,
  isProven,
  mayAnswer,
  nearestProvenAbove,
  rivalZones,
  strengthOf,
  type ZoneClaim,
  zonesOfOthersAt,
} from '../../serving/name-owner.js';
import { hasAll, isSameSet, provingNameServers } from '../../serving/name-servers.js';
import { isAnswered } from '../../serving/zone-state.js';
import { isOnlyAccount } from '../../store/access/accounts.js';
import type { Store } from '../../store/driver.js';
import { findRemovedZone } from '../../store/secondary/removed-zones.js';
import { findZone, type NameProof, type ZoneRow, zonesOfName, zonesOfOthersBelow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Participant, ZoneEdits } from '../kernel/participant.js';

/** Whether names are only ever claimed by one account, so that nobody can take another's. */
export function isSingleAccount(store: Store): boolean {
  return isOnlyAccount(store);
}

/**
 * How new zones become active. 'believed': at once, their names being the account's. 'first come': at once, unless another account
 * was there before. 'proven': when something shows whose the name is.
 */
export type ActivationRule = 'believed' | 'first come' | 'proven';

export function activationRule({ store, settings: { activation } }: Context): ActivationRule {
  if (activation === 'delegation') return 'proven';
  if (isSingleAccount(store)) return 'believed';
  return activation === 'trust' ? 'first come' : 'proven';
}

/** The proof that a zone has without anybody looking: the operator's word, or the account's own proven zone above it. */
export function proofAtHand(ctx: Context, zone: ZoneClaim): NameProof | undefined {
  if (ctx.actor.superAdministrator || activationRule(ctx) === 'believed') return 'operator';
  return isWithinOwn(ctx, zone) ? 'delegation' : undefined;
}

/** Whether a name lies in a proven zone of the same account that has not delegated it to others. */
function isWithinOwn({ store, settings: { nameServers } }: Context, zone: ZoneClaim): boolean {
  const above = nearestProvenAbove(store, zone);
  return above?.account === zone.account && encloses(store, above, zone, nameServers);
}

/** Gives a zone a proof, if no other account's is as strong; says whether it has it now. Others that it beats are moved away. */
export function prove(ctx: Context, draft: ZoneEdits, zone: ZoneRow, proof: NameProof): boolean {
  // What it has is found again, whoever else claims the name since.
  const isKnown = isProven(zone) && strengthOf(zone) >= strengthOf({ proven_by: proof });
  if (!isKnown && !isFree(ctx, zone, proof, draft.now)) return false;
  moveOthersAway(ctx, draft, zone);
  if (strengthOf(zone) < strengthOf({ proven_by: proof })) {
    draft.setZone(zone.seq, { proven_by: proof, proven_at: draft.now, proof_lost_at: null });
    // Its certificate may have waited for this.
    if (!isProven(zone)) draft.noteZone(zone.seq, 'zone-replaced');
    const after = { proven_by: proof };
    draft.event({ kind: 'zone.prove', zone, before: { proven_by: zone.proven_by }, after });
  } else if (zone.proof_lost_at !== null) {
    draft.setZone(zone.seq, { proof_lost_at: null });
  }
  return true;
}

/** Whether no other account has a proof of the name that is as strong. `now`: microseconds since 1970. */
function isFree(ctx: Context, zone: ZoneClaim, proof: NameProof, now: number): boolean {
  const strength = strengthOf({ proven_by: proof });
  const holds = (other: ZoneRow): boolean => {
    // Who comes first is believed, but not against what was proven once.
    const isOver = isProven({ proven_by: proof }) && other.proven_by !== 'operator' && isProofLost(other, now);
    return !isOver && strengthOf(other) >= strength;
  };
  if (othersOf(ctx.store, zone).some(holds)) return false;
  return proof !== 'delegation' || tellsApart(ctx, zone);
}

function othersOf(store: Store, zone: ZoneClaim): ZoneRow[] {
  return zonesOfOthersAt(store, zone).filter(({ status }) => status !== 'moved');
}

/** Zones of the same name that were active in other accounts become `moved`. */
export function moveOthersAway({ store }: Context, draft: ZoneEdits, zone: ZoneClaim): void {
  for (const other of othersOf(store, zone)) if (other.status === 'active') moveAway(draft, other);
}

/** What a zone that is to be made has without anybody looking for a proof; null: nothing. */
export function firstProof(ctx: Context, zone: ZoneClaim, now: number): NameProof | null {
  const proof = proofAtHand(ctx, zone) ?? (activationRule(ctx) === 'first come' ? 'trust' : undefined);
  if (proof === undefined || !isFree(ctx, zone, proof, now)) return null;
  if (proof !== 'trust' || (zone.type !== 'full' && zone.type !== 'secondary')) return proof;
  return mayAnswer(ctx.store, { ...zone, proven_by: proof }, ctx.settings.nameServers) ? proof : null;
}

/** Whether a delegation tells whose zone it means: it cannot mean another claim of the name. */
export function tellsApart(
  { store, settings: { nameServers: pool } }: Pick<Context, 'store' | 'settings'>,
  zone: ZoneClaim,
): boolean {
  const own = provingNameServers(zone, pool);
  return zonesOfOthersAt(store, zone).every(
    (other) => !hasAll(other, pool) && !isSameSet(own, provingNameServers(other, pool)),
  );
}

function moveAway(draft: ZoneEdits, zone: ZoneRow): void {
  draft.setZone(zone.seq, { status: 'moved', served: 0, proven_by: null, proven_at: null, proof_lost_at: null });
  draft.noteZone(zone.seq, 'zone-replaced');
  draft.event({ kind: 'zone.move', zone });
}

/** Makes a zone active. */
export function activate(draft: ZoneEdits, zone: ZoneRow): void {
  if (zone.status === 'active') return;
  draft.setZone(zone.seq, { status: 'active', activated_at: draft.now });
  draft.noteZone(zone.seq, 'zone-replaced');
  const [before, after] = [{ status: zone.status }, { status: 'active' }];
  draft.event({ kind: 'zone.activate', zone, before, after });
}

/**
 * Decides again which zones are answered, after something changed about who claims or has proven a name: the zones of that name,
 * and those of other accounts above and below it.
 */
export function settleClaims(ctx: Context, draft: ZoneEdits, claimed: ClaimedName): void {
  const { store } = ctx;
  const rivals = isSingleAccount(store) ? [] : rivalZones(store, claimed);
  for (const { seq } of downwards(rivals)) {
    if (!settleZone(ctx, draft, seq)) continue;
    const zone = findZone(store, seq)!;
    const { served } = zone;
    const kind = served === 1 ? 'zone.serve' : 'zone.withhold';
    draft.event({ kind, zone, before: { served: 1 - served }, after: { served } });
  }
}

/** A zone above decides about those below it, so it comes first. */
function downwards(zones: readonly ZoneRow[]): ZoneRow[] {
  return [...zones].sort((a, b) => a.name.length - b.name.length);
}

/**
 * The same for the zones of other accounts below one that may have changed whether it delegates them: they are answered only as long
 * as it does. Others may have made very many of them, which other edits do not look at.
 */
function settleBelow(ctx: Context, draft: ZoneEdits, seq: number, delegated: ReadonlySet<string> | undefined): void {
  const { store } = ctx;
  if (delegated?.size === 0 || isSingleAccount(store)) return;
  const zone = findZone(store, seq);
  if (!zone || !isProven(zone)) return;
  const { account } = zone;
  const names = delegated ? [...delegated].filter((name) => name !== zone.name) : [];
  const claims = names.flatMap((name) => [
    ...zonesOfOthersAt(store, { name, account }),
    ...zonesOfOthersBelow(store, name, account),
  ]);
  for (const below of downwards(delegated ? claims : zonesOfOthersBelow(store, zone.name, account))) {
    if (below.proven_by !== 'operator') settleZone(ctx, draft, below.seq);
  }
}

/** The same for one zone; says whether something changed. */
export function settleZone(ctx: Context, draft: ZoneEdits, seq: number): boolean {
  const zone = findZone(ctx.store, seq);
  if (!zone) return false;
  const served = mayAnswer(ctx.store, zone, ctx.settings.nameServers) ? 1 : 0;
  if (served === zone.served) return unbelieve(ctx, draft, zone);
  if (served === 1) withholdOthers(ctx, draft, zone);
  draft.setZone(seq, { served });
  draft.noteZone(seq, 'zone-replaced');
  unbelieve(ctx, draft, { ...zone, served });
  return true;
}

/** Zones of the same name are answered no more, before one begins to be. */
export function withholdOthers(ctx: Context, draft: ZoneEdits, { seq, name }: Pick<ZoneRow, 'seq' | 'name'>): void {
  const others = zonesOfName(ctx.store, name).filter((other) => other.seq !== seq && isAnswered(other));
  for (const other of others) settleZone(ctx, draft, other.seq);
}

/** Who came first is believed only while nobody shows more. */
function unbelieve({ store }: Context, draft: ZoneEdits, { seq, type, served, proven_by: by }: ZoneRow): boolean {
  const isAnswered = served === 1 || (type !== 'full' && type !== 'secondary');
  if (by !== 'trust' || isAnswered || findRemovedZone(store, seq)) return false;
  draft.setZone(seq, { status: 'pending', proven_by: null, proven_at: null });
  return true;
}

export const claims: Participant<Context> = {
  settle: (ctx, draft, seq, { delegated }) => settleBelow(ctx, draft, seq, delegated),
};
