/**
 * Which CNAMEs have their targets asked for: those whose owners answer the target's addresses, and proxied ones, so that one
 * that leads nowhere is seen.
 */
import { Type } from '../dns/codes.js';
import { lowerName } from '../dns/name.js';
import type { Store } from '../store/driver.js';
import type { FlattenedAlias } from '../store/flatten/owners.js';
import { storedRowsOfAliases } from '../store/records/stored-rows.js';
import { flattenedAlias } from '../zone/derive/owner.js';
import { ownersOf, recordsAtOwner, type StandingOwner } from './owner.js';
import type { ServingZone } from './zone.js';

/** The CNAME of one owner, when its target is asked for. */
export function flattenedAtOwner(store: Store, zone: ServingZone, ownerKey: Uint8Array): FlattenedAlias | undefined {
  return aliasOf(zone, { ownerKey, records: recordsAtOwner(store, zone, ownerKey) });
}

/** All of a zone, in canonical order of their owners. */
export function flattenedInZone(store: Store, zone: ServingZone): FlattenedAlias[] {
  const aliases: FlattenedAlias[] = [];
  for (const owner of ownersOf(storedRowsOfAliases(store, zone.seq))) {
    const alias = aliasOf(zone, owner);
    if (alias) aliases.push(alias);
  }
  return aliases;
}

function aliasOf({ facts }: ServingZone, { ownerKey, records }: StandingOwner): FlattenedAlias | undefined {
  const alias = records.find(({ type }) => type === Type.cname);
  if (!alias) return undefined;
  const answered = flattenedAlias(facts, ownerKey.length === 0, records) === alias;
  return answered || alias.proxied ? { ownerKey, target: lowerName(alias.rdata), answered } : undefined;
}
