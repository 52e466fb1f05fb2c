/**
 * The stored records of the owners that an update touches, as its instructions change them one after the other
 * (RFC 2136 §3.4.2). At the end they are compared with what is stored: what was removed and added again in the same
 * message stays, with its identifier, comment and tags.
 */
import { equalBytes, toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import type { ReadRecord } from '../../dns/message.js';
import { lowerName, ownerKeyOf } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import { servedTtl } from '../../dns/ttl.js';
import type { Store } from '../../store/driver.js';
import { type RecordRow, recordsOfOwner } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';

interface Entry {
  readonly type: number;
  /** The same for data that are the same record. */
  readonly key: string;
  readonly rdata: Uint8Array;
  /** Seconds; undefined: as it is stored. */
  ttl: number | undefined;
}

export interface UpdatedOwner {
  readonly owner: Uint8Array;
  readonly isApex: boolean;
  readonly stored: readonly RecordRow[];
  entries: Entry[];
}

export interface UpdatedOwners {
  at(owner: Uint8Array): UpdatedOwner;
  all(): Iterable<UpdatedOwner>;
}

export function createUpdatedOwners(store: Store, zone: ZoneRow): UpdatedOwners {
  const owners = new Map<string, UpdatedOwner>();
  return {
    at(owner) {
      const name = toHex(lowerName(owner));
      let known = owners.get(name);
      if (!known) {
        const ownerKey = ownerKeyOf(owner, zone.apex);
        const stored = recordsOfOwner(store, zone.seq, ownerKey);
        known = { owner, isApex: ownerKey.length === 0, stored, entries: stored.map(entryOf) };
        owners.set(name, known);
      }
      return known;
    },
    all: () => owners.values(),
  };
}

/** Types of which an owner has one record; a second takes the place of the first (RFC 2136 §3.4.2.2, RFC 6672 §2.4). */
const SINGLE: ReadonlySet<number> = new Set([Type.cname, Type.dname]);

/**
 * Adds a record, whose TTL becomes that of its set. A CNAME beside other data, and other data beside a CNAME, are
 * ignored (RFC 2136 §3.4.2.2); at the apex there always are other data.
 */
export function addTo(at: UpdatedOwner, { type, ttl, rdata }: ReadRecord): void {
  const isOther = (entry: Entry): boolean => (entry.type === Type.cname) !== (type === Type.cname);
  if ((at.isApex && type === Type.cname) || at.entries.some(isOther)) return;
  const key = keyOf(type, rdata);
  const same = at.entries.find((entry) => entry.type === type && entry.key === key);
  if (!same) {
    if (SINGLE.has(type)) removeSet(at, type);
    at.entries.push({ type, key, rdata, ttl });
  }
  for (const entry of at.entries) if (entry.type === type) entry.ttl = ttl;
}

export function removeSet(at: UpdatedOwner, type: number): void {
  at.entries = at.entries.filter((entry) => entry.type !== type);
}

export function removeOne(at: UpdatedOwner, { type, rdata }: ReadRecord): void {
  // Not by key: texts that are cut at other places are other data (RFC 2136 §1.1.1).
  at.entries = at.entries.filter((entry) => entry.type !== type || !isSameData(type, entry.rdata, rdata));
}

function isSameData(type: number, one: Uint8Array, other: Uint8Array): boolean {
  const { canonical } = typeByCode(type);
  return equalBytes(canonical(one), canonical(other));
}

/** What an update leaves to do at an owner. */
export interface OwnerDifference {
  readonly removed: readonly RecordRow[];
  /** Records whose data or TTL (seconds) are others. */
  readonly changed: readonly { readonly row: RecordRow; readonly ttl: number; readonly rdata: Uint8Array }[];
  readonly added: readonly { readonly type: number; readonly ttl: number; readonly rdata: Uint8Array }[];
}

export function differenceAt({ stored, entries }: UpdatedOwner): OwnerDifference {
  const removed: RecordRow[] = [];
  const changed: OwnerDifference['changed'][number][] = [];
  const left = new Set(entries);
  for (const row of stored) {
    const { type, rdata } = row;
    const key = keyOf(type, rdata);
    const same = entries.find((entry) => entry.type === type && entry.key === key);
    const stands = same ?? (SINGLE.has(type) ? entries.find((entry) => entry.type === type) : undefined);
    if (!stands) removed.push(row);
    else {
      left.delete(stands);
      const ttl = stands.ttl ?? servedTtl(row.ttl);
      if (!isSameData(type, stands.rdata, rdata) || ttl !== servedTtl(row.ttl)) {
        changed.push({ row, ttl, rdata: stands.rdata });
      }
    }
  }
  const added = [...left].map(({ type, rdata, ttl }) => ({ type, rdata, ttl: ttl! }));
  return { removed, changed, added: added.sort((a, b) => a.type - b.type) };
}

function entryOf({ type, rdata }: RecordRow): Entry {
  return { type, key: keyOf(type, rdata), rdata, ttl: undefined };
}

function keyOf(type: number, rdata: Uint8Array): string {
  return toHex(typeByCode(type).duplicateKey(rdata));
}
