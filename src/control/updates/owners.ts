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
  readonly rdata: Uint8Array;
}

/** The records of one type, by a key that is the same for data that are the same record. */
interface EntrySet {
  readonly entries: Map<string, Entry>;
  /** Seconds; undefined: as they are stored. */
  ttl: number | undefined;
}

export interface UpdatedOwner {
  readonly owner: Uint8Array;
  readonly isApex: boolean;
  readonly stored: readonly RecordRow[];
  readonly storedTypes: ReadonlySet<number>;
  readonly isProxied: boolean;
  /** By type; only types that have records. */
  readonly sets: Map<number, EntrySet>;
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
      if (!known) owners.set(name, (known = readOwner(store, zone, owner)));
      return known;
    },
    all: () => owners.values(),
  };
}

function readOwner(store: Store, zone: ZoneRow, owner: Uint8Array): UpdatedOwner {
  const ownerKey = ownerKeyOf(owner, zone.apex);
  const stored = recordsOfOwner(store, zone.seq, ownerKey);
  const sets = new Map<number, EntrySet>();
  for (const { type, rdata } of stored) entriesOf(sets, type).set(keyOf(type, rdata), { type, rdata });
  const isProxied = stored.some(({ proxied }) => proxied === 1);
  return { owner, isApex: ownerKey.length === 0, stored, storedTypes: new Set(sets.keys()), isProxied, sets };
}

function entriesOf(sets: Map<number, EntrySet>, type: number): Map<string, Entry> {
  let set = sets.get(type);
  if (!set) sets.set(type, (set = { entries: new Map(), ttl: undefined }));
  return set.entries;
}

/** Types of which an owner has one record; a second takes the place of the first (RFC 2136 §3.4.2.2, RFC 6672 §2.4). */
const SINGLE: ReadonlySet<number> = new Set([Type.cname, Type.dname]);

/**
 * Adds a record, whose TTL becomes that of its set. A CNAME beside other data, and other data beside a CNAME, are
 * ignored (RFC 2136 §3.4.2.2); at the apex there always are other data.
 */
export function addTo({ isApex, sets }: UpdatedOwner, { type, ttl, rdata }: ReadRecord): void {
  const isCname = type === Type.cname;
  const hasOther = isCname ? sets.size > (sets.has(type) ? 1 : 0) : sets.has(Type.cname);
  if ((isApex && isCname) || hasOther) return;
  const key = keyOf(type, rdata);
  if (SINGLE.has(type) && !sets.get(type)?.entries.has(key)) sets.delete(type);
  const entries = entriesOf(sets, type);
  if (!entries.has(key)) entries.set(key, { type, rdata });
  sets.get(type)!.ttl = ttl;
}

export function removeSet({ sets }: UpdatedOwner, type: number): void {
  sets.delete(type);
}

export function removeOne({ sets }: UpdatedOwner, { type, rdata }: ReadRecord): void {
  const set = sets.get(type);
  const key = keyOf(type, rdata);
  const known = set?.entries.get(key);
  // The key is not enough: texts that are cut at other places are other data (RFC 2136 §1.1.1).
  if (!set || !known || !isSameData(type, known.rdata, rdata)) return;
  set.entries.delete(key);
  if (set.entries.size === 0) sets.delete(type);
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

export function differenceAt({ stored, sets }: UpdatedOwner): OwnerDifference {
  const removed: RecordRow[] = [];
  const changed: OwnerDifference['changed'][number][] = [];
  const left = new Map([...sets].map(([type, { entries }]) => [type, new Map(entries)]));
  for (const row of stored) {
    const { type, rdata } = row;
    const set = sets.get(type);
    const key = set && (SINGLE.has(type) ? [...set.entries.keys()][0]! : keyOf(type, rdata));
    const stands = key === undefined ? undefined : set!.entries.get(key);
    if (!stands) {
      removed.push(row);
      continue;
    }
    left.get(type)!.delete(key!);
    const ttl = set!.ttl ?? servedTtl(row.ttl);
    if (!isSameData(type, stands.rdata, rdata) || ttl !== servedTtl(row.ttl)) {
      changed.push({ row, ttl, rdata: stands.rdata });
    }
  }
  const added = [...left.values()].flatMap((entries) => [...entries.values()]);
  const ttlOf = (type: number): number => sets.get(type)!.ttl!;
  return {
    removed,
    changed,
    added: added.map(({ type, rdata }) => ({ type, rdata, ttl: ttlOf(type) })).sort((a, b) => a.type - b.type),
  };
}

function keyOf(type: number, rdata: Uint8Array): string {
  return toHex(typeByCode(type).duplicateKey(rdata));
}
