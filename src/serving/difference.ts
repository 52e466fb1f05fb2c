/**
 * What resolvers receive, record by record, and how two states of it differ: the content of the change log. The records
 * of an owner exclude the SOA, because its serial changes with every change; see {@link soaOf}.
 */
import { compareBytes, equalBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import type { RRset } from '../dns/rr.js';
import type { Store } from '../store/driver.js';
import { type ChangedRR, NO_DATA, NO_TYPE, type SoaRR } from '../store/log/changes.js';
import { soaRdata } from '../zone/derive/soa.js';
import { hashedOwnerKey, servedHashedOwners } from './hashed.js';
import { type ServedOwner, servedOwners } from './owner.js';
import type { ServingZone } from './zone.js';

/** One served record of a known owner, or a mark (store/log/changes.ts). */
export interface ServedRR {
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
  /** Extended error that is sent with it: the record is stale (RFC 8767). */
  readonly extendedError?: number;
}

export interface OwnerRRs {
  /** Relative to the apex, see dns/name.ts. */
  readonly ownerKey: Uint8Array;
  readonly rrs: readonly ServedRR[];
}

/** Everything a zone serves, by owner. */
export type ServedCopy = ReadonlyMap<string, OwnerRRs>;

/** What must be removed from one state and added to it to get the other one. */
export interface Difference {
  readonly removed: ChangedRR[];
  readonly added: ChangedRR[];
}

/**
 * The records of an owner with their signatures, with marks for addresses that are not known yet and for a name that exists
 * without data.
 */
export function rrsOf({ ownerKey, records, rrsets }: ServedOwner): ServedRR[] {
  const rrs = rrsets.filter(({ type }) => type !== Type.soa && type <= 0xffff).flatMap(rrsOfSet);
  const isEmpty = rrs.length === 0 && records.length > 0 && ownerKey.length > 0;
  return isEmpty ? [{ type: NO_TYPE, ttl: 0, rdata: NO_DATA }] : rrs;
}

function rrsOfSet({ type, ttl, rdatas, extendedError, signatures }: RRset): ServedRR[] {
  if (rdatas.length === 0) return [{ type, ttl: 0, rdata: NO_DATA }];
  const rrs = rdatas.map((rdata) =>
    extendedError === undefined ? { type, ttl, rdata } : { type, ttl, rdata, extendedError },
  );
  return signatures ? [...rrs, ...signatures.map((rdata) => ({ type: Type.rrsig, ttl, rdata }))] : rrs;
}

/** The SOA with which a zone is served, with its own serial or another one. */
export function soaOf({ facts: { soa } }: ServingZone, serial: number = soa.serial): SoaRR {
  return { ttl: soa.ttl, rdata: soaRdata({ ...soa, serial }) };
}

/** Everything that a zone serves now. All of it is held in memory. */
export function copyServed(store: Store, zone: ServingZone): ServedCopy {
  const copy = new Map<string, OwnerRRs>();
  for (const owner of servedOwners(store, zone)) {
    copy.set(ownerText(owner.ownerKey), { ownerKey: owner.ownerKey, rrs: rrsOf(owner) });
  }
  for (const { hash, rrset } of servedHashedOwners(store, zone)) {
    const ownerKey = hashedOwnerKey(hash);
    copy.set(ownerText(ownerKey), { ownerKey, rrs: rrsOfSet(rrset) });
  }
  return copy;
}

/** An owner key as the key of a map. */
export function ownerText(ownerKey: Uint8Array): string {
  return Buffer.from(ownerKey).toString('latin1');
}

export function diffCopies(before: ServedCopy, after: ServedCopy): Difference {
  const difference: Difference = { removed: [], added: [] };
  for (const [key, { ownerKey, rrs }] of before) addDifference(difference, ownerKey, rrs, after.get(key)?.rrs ?? []);
  for (const [key, { ownerKey, rrs }] of after) if (!before.has(key)) addDifference(difference, ownerKey, [], rrs);
  return difference;
}

/** Adds the difference between two states of an owner. */
export function addDifference(
  { removed, added }: Difference,
  ownerKey: Uint8Array,
  before: readonly ServedRR[],
  after: readonly ServedRR[],
): void {
  const old = [...before].sort(compareServed);
  const fresh = [...after].sort(compareServed);
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    const order = i === old.length ? 1 : j === fresh.length ? -1 : compareServed(old[i]!, fresh[j]!);
    if (order < 0) removed.push(changed(0, ownerKey, old[i]!));
    if (order > 0) added.push(changed(1, ownerKey, fresh[j]!));
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
}

function changed(op: 0 | 1, ownerKey: Uint8Array, { type, ttl, rdata }: ServedRR): ChangedRR {
  return { op, owner_key: ownerKey, type, ttl, rdata };
}

function compareServed(a: ServedRR, b: ServedRR): number {
  if (a.type !== b.type) return a.type - b.type;
  if (!equalBytes(a.rdata, b.rdata)) return compareBytes(a.rdata, b.rdata);
  if (a.ttl !== b.ttl) return a.ttl - b.ttl;
  return (a.extendedError ?? 0) - (b.extendedError ?? 0);
}
