/**
 * The CNAMEs whose targets are resolved: those that are flattened, because their owners answer the target's addresses,
 * and proxied ones, so that a dead target is noticed.
 */
import { Type } from '../dns/codes.js';
import { lowerName } from '../dns/name.js';
import type { Store } from '../store/driver.js';
import type { FlattenedAlias } from '../store/flatten/owners.js';
import { aliasOwners, storedRowsOfAliases } from '../store/records/stored-rows.js';
import { flattenedAlias } from '../zone/derive/owner.js';
import { ownersOf, type StandingOwner } from './owner.js';
import type { ServingZone } from './zone.js';

/** Owners that are looked at in a step. */
const AT_ONCE = 50;

/** Such CNAMEs of a part of a zone. */
export interface FlattenedPart {
  readonly aliases: readonly FlattenedAlias[];
  /** The first owner of the next part; undefined after the last one. */
  readonly next: Uint8Array | undefined;
}

/** Such CNAMEs of a zone, in canonical order of their owners, a part of the zone at a time. */
export function* flattenedInZone(store: Store, zone: ServingZone): Generator<readonly FlattenedAlias[]> {
  for (let from: Uint8Array | undefined = new Uint8Array(0); from; ) {
    const part: FlattenedPart = flattenedFrom(store, zone, from);
    yield part.aliases;
    from = part.next;
  }
}

/** Those of the part that begins with an owner. */
export function flattenedFrom(store: Store, zone: ServingZone, from: Uint8Array): FlattenedPart {
  const place = zone.staged?.records ?? zone.seq;
  const keys = aliasOwners(store, place, AT_ONCE + 1, from);
  const last = keys[AT_ONCE - 1] ?? keys.at(-1);
  if (!last) return { aliases: [], next: undefined };
  const owners = ownersOf(storedRowsOfAliases(store, place, keys[0]!, last));
  return { aliases: [...owners].flatMap((owner) => aliasOf(zone, owner) ?? []), next: keys[AT_ONCE] };
}

/** The CNAME of one owner; undefined when its target is not resolved. */
export function aliasOf({ facts }: ServingZone, { ownerKey, records }: StandingOwner): FlattenedAlias | undefined {
  const alias = records.find(({ type }) => type === Type.cname);
  if (!alias) return undefined;
  const answered = flattenedAlias(facts, ownerKey.length === 0, records) === alias;
  return answered || alias.proxied ? { ownerKey, target: lowerName(alias.rdata), answered } : undefined;
}
