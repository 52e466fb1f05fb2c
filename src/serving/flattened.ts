/**
 * The CNAMEs whose targets are resolved: those that are flattened, because their owners answer the target's addresses,
 * and proxied ones, so that a dead target is noticed.
 */
import { Type } from '../dns/codes.js';
import { lowerName } from '../dns/name.js';
import type { Store } from '../store/driver.js';
import type { FlattenedAlias } from '../store/flatten/owners.js';
import { storedRowsOfAliases } from '../store/records/stored-rows.js';
import { flattenedAlias } from '../zone/derive/owner.js';
import { ownersOf, type StandingOwner } from './owner.js';
import type { ServingZone } from './zone.js';

/** All such CNAMEs of a zone, in canonical order of their owners. */
export function flattenedInZone(store: Store, zone: ServingZone): FlattenedAlias[] {
  const aliases: FlattenedAlias[] = [];
  for (const owner of ownersOf(storedRowsOfAliases(store, zone.staged?.records ?? zone.seq))) {
    const alias = aliasOf(zone, owner);
    if (alias) aliases.push(alias);
  }
  return aliases;
}

/** The CNAME of one owner; undefined when its target is not resolved. */
export function aliasOf({ facts }: ServingZone, { ownerKey, records }: StandingOwner): FlattenedAlias | undefined {
  const alias = records.find(({ type }) => type === Type.cname);
  if (!alias) return undefined;
  const answered = flattenedAlias(facts, ownerKey.length === 0, records) === alias;
  return answered || alias.proxied ? { ownerKey, target: lowerName(alias.rdata), answered } : undefined;
}
