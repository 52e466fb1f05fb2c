/**
 * Looks up a name in the stored records: RFC 1034 §4.3.2 with RFC 4592 (wildcards) and RFC 6672 (DNAME). The engine
 * follows the same rules on the compiled image (answer/solve.ts); every look-up on rows uses this file.
 */
import { concatBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import { ownerKeyOf, ownerKeysDownTo, parentName, toFqdn } from '../dns/name.js';
import type { Store } from '../store/driver.js';
import { findZoneByName, type ZoneRow } from '../store/zones/zones.js';
import type { RecordFacts } from '../zone/derive/owner.js';
import { ownerExists, recordsAtOwner } from './owner.js';
import type { ServingZone } from './zone.js';

/** The accepted zone with the longest apex at or above a name (lower-case wire form). */
export function findZoneAbove(
  store: Store,
  name: Uint8Array,
  accepts: (zone: ZoneRow) => boolean,
): ZoneRow | undefined {
  for (let apex = name; apex.length > 1; apex = parentName(apex)) {
    const zone = findZoneByName(store, toFqdn(apex));
    if (zone && accepts(zone)) return zone;
  }
  return undefined;
}

/** The result: the name itself, a wildcard, a delegation or DNAME above it, or nothing. */
export type Located =
  | {
      readonly kind: 'name' | 'wildcard' | 'cut' | 'dname';
      /** The deciding owner, relative to the apex. */
      readonly ownerKey: Uint8Array;
      /** Its records before proxying and flattening. */
      readonly records: readonly RecordFacts[];
    }
  | { readonly kind: 'nowhere' };

/**
 * Descends from the apex; the topmost zone cut or DNAME decides (RFC 1034 §4.3.2 step 3). `name` is at or below the
 * apex. `read`: for a caller that keeps what it has read.
 */
export function locate(
  store: Store,
  zone: ServingZone,
  name: Uint8Array,
  type: number,
  read: typeof recordsAtOwner = recordsAtOwner,
): Located {
  let encloser: Uint8Array = new Uint8Array(0);
  const nameKey = ownerKeyOf(name, zone.facts.apex);
  for (const ownerKey of [encloser, ...ownerKeysDownTo(nameKey)]) {
    const isName = ownerKey.length === nameKey.length;
    const records = read(store, zone, ownerKey);
    const has = (code: number): boolean => records.some((record) => record.type === code);
    // DS belongs to the parent side of a zone cut (RFC 4035 §3.1.4.1).
    const isCut = has(Type.ns) && mayDelegate(ownerKey) && !(isName && type === Type.ds);
    if (isCut) return { kind: 'cut', ownerKey, records };
    // A DNAME redirects the names below its owner, not the owner itself (RFC 6672 §2.3).
    if (!isName && has(Type.dname)) return { kind: 'dname', ownerKey, records };
    if (!ownerExists(store, zone, { ownerKey, records })) return locateWildcard(store, zone, encloser, read);
    if (isName) return { kind: 'name', ownerKey, records };
    encloser = ownerKey;
  }
  return { kind: 'nowhere' };
}

/**
 * The wildcard of the closest encloser, if it exists; it may exist without records of its own (RFC 4592 §2.2.1,
 * §3.3.1).
 */
function locateWildcard(store: Store, zone: ServingZone, encloser: Uint8Array, read: typeof recordsAtOwner): Located {
  const ownerKey = concatBytes(encloser, WILDCARD_KEY);
  const records = read(store, zone, ownerKey);
  return ownerExists(store, zone, { ownerKey, records })
    ? { kind: 'wildcard', ownerKey, records }
    : { kind: 'nowhere' };
}

/**
 * Whether NS records at an owner delegate the names at and below it: those at the apex do not. Names that a wildcard
 * matches are not below it, so that they answer its NS records like other types (RFC 4592 §4.2).
 */
export function mayDelegate(ownerKey: Uint8Array): boolean {
  return ownerKey.length > 0;
}

const WILDCARD_KEY = Uint8Array.of(0x2a, 0);
