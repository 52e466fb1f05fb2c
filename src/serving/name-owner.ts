/**
 * Whose name is it: the one rule for everything that answers for a name, connects to it, or lets somebody act for it.
 *
 * A *claim* is a row that names a name: a zone, a custom hostname. It is *proven* when the operator, the delegation or a TXT
 * record shows that the name is the account's. An unproven claim has no effect on another account. Two claims are *rivals*
 * when they belong to different accounts and one name is at, above or below the other. Stronger proofs win; of equal ones,
 * the earlier. See docs/tenants.md.
 */

import { Type } from '../dns/codes.js';
import { ownerKeyOf, ownerKeysDownTo, toFqdn } from '../dns/name.js';
import type { Store } from '../store/driver.js';
import { type HostnameRow, rivalHostnames } from '../store/hostnames/hostnames.js';
import { recordsOfOwner } from '../store/records/records.js';
import { findRemovedZone } from '../store/secondary/removed-zones.js';
import { findZone, type NameProof, type ZoneRow, zonesOfName, zonesOfOthersBelow } from '../store/zones/zones.js';
import { findZoneAbove } from './look-up.js';
import { assignedNameServers, hasAll, provingNameServers } from './name-servers.js';
import { isAnswered, zoneState } from './zone-state.js';

/** How strong each proof is; 0 is none. Only what is above {@link TRUSTED} is a proof. */
const STRENGTHS: Readonly<Record<NameProof, number>> = { trust: 1, txt: 2, delegation: 3, operator: 4 };
const TRUSTED = STRENGTHS.trust;

/** A proof counts for this long after it was seen for the last time, microseconds. */
const LOST_PROOF_KEPT_US = 7 * 86_400_000_000;

type Proven = Pick<ZoneRow, 'proven_by'>;

/** Whether the zone's name is known to be its account's. */
export function isProven(zone: Proven): boolean {
  return strengthOf(zone) > TRUSTED;
}

export function strengthOf({ proven_by: by }: Proven): number {
  return by === null ? 0 : STRENGTHS[by];
}

/** Whether a proof was not found for so long that it protects no more from another account's. `now`: microseconds. */
export function isProofLost({ proof_lost_at: lostAt }: Pick<ZoneRow, 'proof_lost_at'>, now: number): boolean {
  return lostAt !== null && now - lostAt >= LOST_PROOF_KEPT_US;
}

/** What of a zone decides about its claim, also before it is stored. */
export type ZoneClaim = Pick<
  ZoneRow,
  | 'seq'
  | 'account'
  | 'name'
  | 'apex'
  | 'type'
  | 'status'
  | 'proven_by'
  | 'proof_lost_at'
  | 'name_servers'
  | 'vanity_name_servers'
>;

/** A name that an account claims. */
export interface ClaimedName {
  /** Lower-case ASCII, without the final dot. */
  readonly name: string;
  /** Store number. */
  readonly account: number;
}

/**
 * The zone of ours that says what is at a name, for an account that asks, or for nobody in particular: the one with the longest
 * apex at or above it that is served, active, and proven or the account's own. `name`: lower-case wire form.
 */
export function findZoneFor(store: Store, name: Uint8Array, asker: number | undefined): ZoneRow | undefined {
  return findZoneAbove(store, name, (zone) => isRouted(zone) && (zone.account === asker || isProven(zone)));
}

/** The active zone that routes a name at the edge, proven or not: the rule for DNS has made sure that nobody proved otherwise. */
export function findRoutingZone(store: Store, name: Uint8Array): ZoneRow | undefined {
  return findZoneAbove(store, name, isRouted);
}

function isRouted(zone: ZoneRow): boolean {
  return zoneState(zone) === 'served' && zone.status === 'active';
}

/** Zones of other accounts that claim the name itself, those that were moved away too. */
export function zonesOfOthersAt(store: Store, { name, account }: ClaimedName): ZoneRow[] {
  return zonesOfName(store, name).filter((zone) => zone.account !== account && zone.type !== 'internal');
}

/** Zones of other accounts whose claims the name contests: at, above and below it. */
export function rivalZones(store: Store, claimed: ClaimedName): ZoneRow[] {
  const { name, account } = claimed;
  return [
    ...zonesOfOthersAt(store, claimed),
    ...namesAbove(name).flatMap((above) => zonesOfOthersAt(store, { name: above, account })),
    ...zonesOfOthersBelow(store, name, account).filter(({ type }) => type !== 'internal'),
  ].filter(({ status }) => status !== 'moved');
}

/** Whether another account has proven a zone at or above a name, served or not. */
export function isProvenByOthers(store: Store, { name, account }: ClaimedName): boolean {
  return [name, ...namesAbove(name)].some((at) => zonesOfOthersAt(store, { name: at, account }).some(isProven));
}

/** Whether a name is known to be another account's: of the proven zones at or above it, the nearest is not the account's own. */
export function isNameOfOthers(store: Store, { name, account }: ClaimedName): boolean {
  for (const at of [name, ...namesAbove(name)]) {
    if (zonesOfOthersAt(store, { name: at, account }).some(isProven)) return true;
    if (isProvenHere(store, { name: at, account })) return false;
  }
  return false;
}

function isProvenHere(store: Store, { name, account }: ClaimedName): boolean {
  return zonesOfName(store, name).some((zone) => zone.account === account && zone.status !== 'moved' && isProven(zone));
}

/** The names above a name, the nearest first. */
function namesAbove(name: string): string[] {
  const labels = name.split('.');
  return labels.slice(1).map((_, i) => labels.slice(i + 1).join('.'));
}

/** Whether another account claims the zone's name, or one above or below it. */
export function isContested(store: Store, zone: ZoneClaim): boolean {
  return rivalZones(store, zone).length > 0 || provenHostnamesAgainst(store, zone).length > 0;
}

/** Active custom hostnames of other accounts at, above or below a name, of which something outside the account is the proof. */
export function provenHostnamesAgainst(store: Store, claimed: ClaimedName): HostnameRow[] {
  return rivalHostnames(store, claimed.name, claimed.account).filter((row) => isProvenHostname(store, row));
}

/**
 * Whether an active custom hostname is proven by more than an unproven zone of its own account: outside, or by a zone here that is
 * proven and answered.
 */
export function isProvenHostname(store: Store, { state, proof_zone: seq }: HostnameRow): boolean {
  if (state !== 'active') return false;
  const zone = seq === null ? undefined : findZone(store, seq);
  return seq === null || (zone !== undefined && isAnswered(zone) && isProven(zone));
}

/**
 * Whether a zone is answered in DNS. A proven zone is; below a proven zone of another account, it is only if that one delegates
 * it. A zone that is not proven is answered only while no claim of another account speaks against it. A delegation in a proven
 * zone of another account changes that only once it was found as a proof. `pool`: the name servers of the installation.
 */
export function mayAnswer(store: Store, zone: ZoneClaim, pool: readonly string[]): boolean {
  if (zone.type !== 'full' && zone.type !== 'secondary') return false;
  if (zone.status === 'moved' || findRemovedZone(store, zone.seq)) return false;
  if (!isProven(zone)) {
    const rivals = rivalZones(store, zone);
    const speaksAgainst = (rival: ZoneRow): boolean =>
      outranks(rival, zone) && !isDelegatedBy(store, rival, zone, pool);
    return !rivals.some(speaksAgainst) && provenHostnamesAgainst(store, zone).length === 0;
  }
  const others = zonesOfOthersAt(store, zone).filter(({ status }) => status !== 'moved');
  if (others.some((rival) => isProven(rival) && outranks(rival, zone))) return false;
  if (zone.proven_by === 'operator') return true;
  const above = nearestProvenAbove(store, zone);
  return above === undefined || above.account === zone.account || givesAway(store, above, zone, pool);
}

/** Two claims that nothing speaks for are equal: neither is answered, since either name could be the other's. */
function outranks(rival: ZoneClaim, zone: ZoneClaim): boolean {
  const [theirs, ours] = [strengthOf(rival), strengthOf(zone)];
  return theirs === ours ? theirs === 0 || rival.seq < zone.seq : theirs > ours;
}

function isDelegatedBy(store: Store, rival: ZoneRow, zone: ZoneClaim, pool: readonly string[]): boolean {
  if (isProven(rival) || !isAnswered(rival)) return false;
  return zone.name.endsWith(`.${rival.name}`) && givesAway(store, rival, zone, pool);
}

/** The proven zone with the longest name above a zone, whose servers answer for the zone's name without it. */
export function nearestProvenAbove(store: Store, { name }: Pick<ZoneRow, 'name'>): ZoneRow | undefined {
  for (const above of namesAbove(name)) {
    const zone = zonesOfName(store, above).find((row) => isAnswered(row) && isProven(row));
    if (zone) return zone;
  }
  return undefined;
}

/** Whether a proven zone above delegates a zone to the name servers that the zone was given, or delegates a name between them. */
function givesAway(store: Store, above: ZoneRow, zone: ZoneClaim, pool: readonly string[]): boolean {
  const cut = cutBetween(store, above, zone);
  return cut !== undefined && (!cut.isAtName || leadsTo(zone, cut.names, pool));
}

/** Whether a zone above answers for the names of a zone, or delegates just these to it. */
export function encloses(store: Store, above: ZoneRow, zone: ZoneClaim, pool: readonly string[]): boolean {
  const cut = cutBetween(store, above, zone);
  return cut === undefined || (cut.isAtName && leadsTo(zone, cut.names, pool));
}

/** The topmost delegation in a zone at or above the name of another; `names`: where it leads, in presentation form. */
export function cutBetween(
  store: Store,
  above: ZoneRow,
  { apex }: Pick<ZoneRow, 'apex'>,
): { readonly isAtName: boolean; readonly names: readonly string[] } | undefined {
  const key = ownerKeyOf(apex, above.apex);
  for (const owner of ownerKeysDownTo(key)) {
    const found = recordsOfOwner(store, above.seq, owner).filter(({ type }) => type === Type.ns);
    if (found.length > 0) {
      return { isAtName: owner.length === key.length, names: found.map(({ rdata }) => toFqdn(rdata)) };
    }
  }
  return undefined;
}

/**
 * Whether a delegation leads to a zone: of the installation's name servers it has those that the zone was given, no others. The
 * parent of an active zone that has all of them need not know those that came later.
 */
export function leadsTo(zone: ZoneClaim, delegation: readonly string[], pool: readonly string[]): boolean {
  const found = new Set(delegation.map((name) => name.toLowerCase().replace(/\.$/, '')));
  const isExactly = (set: readonly string[]): boolean =>
    set.every((name) => found.has(name)) && pool.every((name) => set.includes(name) || !found.has(name));
  const given = provingNameServers(zone, pool);
  if (isExactly(given)) return true;
  if (!isProven(zone)) return false;
  if (isExactly(assignedNameServers(zone, pool))) return true;
  return zone.status === 'active' && hasAll(zone, pool) && pool.some((name) => found.has(name));
}
