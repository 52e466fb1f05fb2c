/**
 * Whose a custom hostname is, and what about a host its owner decides: the part of the rule of names (name-owner.ts) for names that
 * customers lead here from zones of their own.
 */

import { parseName } from '../dns/name.js';
import type { Store } from '../store/driver.js';
import { type HostnameRow, hostnamesOfName } from '../store/hostnames/hostnames.js';
import { findZone, type ZoneRow } from '../store/zones/zones.js';
import {
  cutBetween,
  findRoutingZone,
  findZoneFor,
  isProven,
  isProvenHostname,
  provenHostnamesAgainst,
} from './name-owner.js';
import { isAnswered } from './zone-state.js';

/** What was found that shows for which zone a hostname is meant. */
export interface HostnameEvidence {
  /** `cname`: it leads to the zone. `address`: to the edge. `txt`, `http`: its token stands there. */
  readonly by: 'cname' | 'address' | 'txt' | 'http';
  /** Store numbers of the zones here that say so; empty: everything was seen outside. */
  readonly zones: readonly number[];
}

export interface HostnameProof {
  readonly by: HostnameEvidence['by'];
  /** The proof that takes the place of another account's is the higher one. */
  readonly rank: number;
  /** Store number of the zone here on which the proof depends; null: on none. */
  readonly zone: number | null;
}

/** A CNAME shows where a name leads now, while a token may be left from before. An address is everybody's. */
const RANKS: Readonly<Record<HostnameEvidence['by'], number>> = { cname: 3, txt: 2, http: 2, address: 1 };

/**
 * What evidence proves for a hostname of a zone; undefined: nothing. What unproven zones say is heard by their own account only, and
 * only about names that nobody else has proven (rank 0): a zone that leads a name here, and one that is led to.
 */
export function proofOf(
  store: Store,
  hostname: string,
  home: ZoneRow,
  { by, zones }: HostnameEvidence,
): HostnameProof | undefined {
  const witnesses = zones.map((seq) => findZone(store, seq));
  const isHeard = (zone: ZoneRow): boolean => isAnswered(zone) && (isProven(zone) || zone.account === home.account);
  const heard = witnesses.filter((zone) => zone !== undefined && isHeard(zone)) as ZoneRow[];
  if (heard.length < witnesses.length) return undefined;
  // A token is the hostname's own. Anything else names the zone, which may be another's.
  const isLedTo = by === 'cname' || by === 'address';
  if (isLedTo && !isProven(home) && !isAnswered(home)) return undefined;
  const [weak] = [...(isLedTo ? [home] : []), ...heard].filter((zone) => !isProven(zone));
  if (weak && isOthers(store, hostname, home.account)) return undefined;
  return { by, rank: weak ? 0 : RANKS[by], zone: (weak ?? heard[0])?.seq ?? null };
}

/** Whether another account has proven that a hostname is its own: as a zone's, or as its customer's. */
function isOthers(store: Store, hostname: string, account: number): boolean {
  const name = hostname.replace(/^\*\./, '');
  const holder = holderOf(store, parseName(`${name}.`));
  return (
    (holder !== undefined && holder.account !== account) || provenHostnamesAgainst(store, { name, account }).length > 0
  );
}

/** The proven zone that answers for a host. `host`: lower-case wire form. */
function holderOf(store: Store, host: Uint8Array): ZoneRow | undefined {
  const zone = findZoneFor(store, host, undefined);
  return zone && !cutBetween(store, zone, { apex: host }) ? zone : undefined;
}

/** Whether what proved an active hostname is still there, as far as that depends on a zone here. */
export function isProofStanding(store: Store, { proof_zone: seq }: HostnameRow, account: number): boolean {
  const zone = seq === null ? undefined : findZone(store, seq);
  return seq === null || (zone !== undefined && isAnswered(zone) && (zone.account === account || isProven(zone)));
}

/**
 * Whether an active custom hostname decides about a host, rather than the zone that the host lies in: a proven zone of another
 * account comes first, unless its own records proved the hostname. `host`: lower-case wire form.
 */
export function decidesFor(store: Store, hostname: HostnameRow, account: number, host: Uint8Array): boolean {
  if (hostname.state !== 'active' || !isProofStanding(store, hostname, account)) return false;
  const holder = holderOf(store, host);
  if (holder && holder.account !== account) return holder.seq === hostname.proof_zone;
  const name = hostname.hostname.replace(/^\*\./, '');
  return isProvenHostname(store, hostname) || provenHostnamesAgainst(store, { name, account }).length === 0;
}

/**
 * The account that answers challenges of authorities for a host over HTTP, because it decides what the edge serves there; undefined:
 * none does. `host`: lower-case A-labels without the final dot; `name`: the same in wire form.
 */
export function accountServing(store: Store, host: string, name: Uint8Array): number | undefined {
  for (const row of hostnamesOfName(store, host)) {
    const account = findZone(store, row.zone)?.account;
    if (account !== undefined && decidesFor(store, row, account, name)) return account;
  }
  return findRoutingZone(store, name)?.account;
}
