/**
 * Records that are never answered because of a delegation above or at their name (v4: §5.7). Records below a delegation
 * are never answered (RFC 1034 §4.2.1), except addresses of its name servers (glue).
 */
import { equalBytes, toHex } from '../../base/bytes.js';
import type { AppError } from '../../base/errors.js';
import { Type } from '../../dns/codes.js';
import { domainToAscii } from '../../dns/idna.js';
import {
  descendantsEnd,
  lowerName,
  NameError,
  nameOfOwnerKey,
  ownerKeyOf,
  ownerKeysDownTo,
  parseName,
} from '../../dns/name.js';
import { mayDelegate } from '../../serving/look-up.js';
import { type Condition, joinConditions } from '../../store/condition.js';
import type { Store } from '../../store/driver.js';
import { matchOutsideSet, matchOwner, matchOwnerRange, matchTypes } from '../../store/records/query.js';
import { nameServersAt, type RecordRow, recordsBetween } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { accountFailure } from '../guard/account-failures.js';
import type { ShadowItem } from './item.js';

export interface ShadowQuery {
  /** Whether to include, for each record, whether a delegation prevents it from being answered. */
  readonly withShadow?: boolean;
  /** Records at and below a delegation, without its NS records; requires `withShadow`. */
  readonly shadowedByName?: string;
  /** NS records at a name and above it, except those of the apex. */
  readonly shadowingName?: string;
}

const MOST_COUNTED = 10_000;

interface Cut {
  readonly servers: readonly { readonly id: Uint8Array; readonly target: Uint8Array }[];
}

/** The conditions of a record list. Throws 400 for a name that is not below the apex. */
export function shadowConditions(
  zone: ZoneRow,
  { withShadow, shadowedByName, shadowingName }: ShadowQuery,
): Condition[] {
  const conditions: Condition[] = [];
  if (shadowedByName !== undefined) {
    if (!withShadow) throw badFilter('shadowed_by_name needs include_shadow_metadata=true');
    const key = keyOfName(zone, shadowedByName, 'shadowed_by_name');
    conditions.push(matchOwnerRange(key, descendantsEnd(key)!), matchOutsideSet(key, Type.ns));
  }
  if (shadowingName !== undefined) {
    const keys = ownerKeysDownTo(keyOfName(zone, shadowingName, 'shadowing_name'));
    conditions.push(joinConditions('any', keys.map(matchOwner)), matchTypes([Type.ns]));
  }
  return conditions;
}

/** The owner key of a name below the apex. Throws 400 for any other name. */
function keyOfName(zone: ZoneRow, text: string, parameter: string): Uint8Array {
  const name = domainToAscii(text.trim().replace(/\.$/, ''))?.toLowerCase();
  if (name === undefined || !name.endsWith(`.${zone.name}`))
    throw badFilter(`${parameter} must be a name below the apex`);
  try {
    return ownerKeyOf(parseName(`${name}.`), zone.apex);
  } catch (error) {
    if (error instanceof NameError) throw badFilter(`${parameter}: ${error.message}`);
    throw error;
  }
}

function badFilter(reason: string): AppError {
  return accountFailure('badInput', { reason: `${reason}.` });
}

/** Examines the records of one list; each delegation is looked up once, however many records it affects. */
export function createShadows(store: Store, zone: ZoneRow): (row: RecordRow) => ShadowItem {
  const cutAt = remembered((ownerKey) => readCut(store, zone, ownerKey));
  const countAt = remembered((ownerKey) => countBelow(store, zone, ownerKey, cutAt(ownerKey)));
  return (row) => {
    const isOfCut = row.type === Type.ns || row.type === Type.ds;
    const cuts = ownerKeysDownTo(row.owner_key)
      .filter((key) => mayDelegate(key) && (!isOfCut || key.length < row.owner_key.length))
      .map(cutAt)
      .filter(({ servers }) => servers.length > 0);
    const name = nameOfOwnerKey(row.owner_key, zone.apex);
    const serving = isAddress(row.type) ? cuts.filter((cut) => serves(cut, name)) : [];
    // Only the topmost delegation is answered, together with its addresses.
    const isAlive = serving.length > 0 && serving[0] === cuts[0];
    return {
      shadowedBy: isAlive ? [] : cuts.flatMap(({ servers }) => servers.map(({ id }) => toHex(id))),
      isGlue: serving.length > 0,
      deadGlue: serving.length > 0 && !isAlive,
      ...(row.type === Type.ns && mayDelegate(row.owner_key) && { shadowedRecords: countAt(row.owner_key) }),
    };
  };
}

function remembered<Value>(find: (ownerKey: Uint8Array) => Value): (ownerKey: Uint8Array) => Value {
  const known = new Map<string, Value>();
  return (ownerKey) => {
    const key = Buffer.from(ownerKey).toString('latin1');
    const value = known.get(key) ?? find(ownerKey);
    known.set(key, value);
    return value;
  };
}

const isAddress = (type: number): boolean => type === Type.a || type === Type.aaaa;

function serves({ servers }: Cut, name: Uint8Array): boolean {
  return servers.some(({ target }) => equalBytes(target, name));
}

function readCut(store: Store, { seq }: ZoneRow, ownerKey: Uint8Array): Cut {
  const rows = nameServersAt(store, seq, ownerKey);
  return { servers: rows.map(({ id, rdata }) => ({ id, target: lowerName(new Uint8Array(rdata)) })) };
}

/** Number of records at and below a zone cut that are never answered; counting stops at a limit. */
function countBelow(store: Store, zone: ZoneRow, ownerKey: Uint8Array, cut: Cut): number {
  const rows = recordsBetween(store, zone.seq, ownerKey, descendantsEnd(ownerKey)!, MOST_COUNTED);
  return rows.filter(({ owner_key: key, type }) => {
    if (type === Type.ns || type === Type.ds) return key.length > ownerKey.length;
    return !(isAddress(type) && serves(cut, nameOfOwnerKey(new Uint8Array(key), zone.apex)));
  }).length;
}
