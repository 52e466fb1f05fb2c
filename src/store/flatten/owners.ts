/**
 * The index of owners whose CNAME target is resolved. Every commit that affects a CNAME, or whether it is flattened,
 * updates it.
 */

import { allRows, hasRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { addTarget, refreshWatchedTarget } from './targets.js';

export interface FlattenedOwner {
  readonly zone: number;
  readonly owner_key: Uint8Array;
  /** 0: the owner is proxied, and only whether the target resolves matters. */
  readonly answered: number;
}

/** A CNAME whose target is resolved. */
export interface FlattenedAlias {
  readonly ownerKey: Uint8Array;
  /** Lower-case wire name. */
  readonly target: Uint8Array;
  /** Whether the owner answers the target's addresses; otherwise only whether the target resolves matters. */
  readonly answered: boolean;
}

const statements = perStore((store) => ({
  zonesWithAliases: store.prepareTuples<[], [number]>('SELECT DISTINCT zone FROM records WHERE type = 5'),
  ofZone: store.prepareTuples<[zone: number, limit: number], [1]>(
    'SELECT 1 FROM flatten_owners WHERE zone = ? LIMIT ?',
  ),
  clearBetween: store.prepare<[zone: number, from: Uint8Array, before: Uint8Array]>(
    'DELETE FROM flatten_owners WHERE zone = ? AND owner_key >= ? AND owner_key < ?',
  ),
  clearOwner: store.prepare<[zone: number, ownerKey: Uint8Array]>(
    'DELETE FROM flatten_owners WHERE zone = ? AND owner_key = ?',
  ),
  putOwner: store.prepare<[zone: number, ownerKey: Uint8Array, target: Uint8Array, answered: number]>(
    'INSERT INTO flatten_owners (zone, owner_key, target, answered) VALUES (?, ?, ?, ?)',
  ),
}));

export const ownersOfTarget = allRows<[target: Uint8Array], FlattenedOwner>(
  'SELECT zone, owner_key, answered FROM flatten_owners WHERE target = ?',
);

/** Whether the index has an entry for an owner. */
export const isFlattenedOwner = hasRow<[zone: number, ownerKey: Uint8Array]>(
  'SELECT 1 FROM flatten_owners WHERE zone = ? AND owner_key = ?',
);

/** Updates the index for one owner whose CNAME is now flattened, or no longer. */
export function putFlattenedOwner(
  store: Store,
  zone: number,
  ownerKey: Uint8Array,
  alias: FlattenedAlias | undefined,
): void {
  statements(store).clearOwner.run(zone, ownerKey);
  if (alias) putAlias(store, zone, alias);
}

/** Whether the index has more entries of a zone than that. */
export function hasMoreFlattened(store: Store, zone: number, than: number): boolean {
  return statements(store).ofZone.all(zone, than + 1).length > than;
}

/** Behind all owner keys. */
const END_OF_KEYS = Buffer.alloc(256, 0xff);

/** Replaces the entries of a zone from an owner up to another one, which is not included; undefined: to the end. */
export function putFlattenedPart(
  store: Store,
  zone: number,
  aliases: readonly FlattenedAlias[],
  from: Uint8Array,
  before: Uint8Array | undefined,
): void {
  statements(store).clearBetween.run(zone, from, before ?? END_OF_KEYS);
  for (const alias of aliases) putAlias(store, zone, alias);
}

function putAlias(store: Store, zone: number, { ownerKey, target, answered }: FlattenedAlias): void {
  statements(store).putOwner.run(zone, ownerKey, target, answered ? 1 : 0);
  addTarget(store, target, zone);
  if (answered) refreshWatchedTarget(store, target);
}

/** Store numbers of the zones that contain a CNAME. */
export function zonesWithAliases(store: Store): number[] {
  return statements(store)
    .zonesWithAliases.all()
    .map(([zone]) => zone);
}
