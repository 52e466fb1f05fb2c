/** PTR records kept for A and AAAA records with the setting `ptr`: where each belongs, and for which record it is kept. */
import { Type } from '../../dns/codes.js';
import { ownerKeyOf, ownerKeysDownTo, parseName } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import type { Store } from '../../store/driver.js';
import { isLinked } from '../../store/records/indexed-settings.js';
import {
  findSameRecord,
  type NewRecordRow,
  nameServersAt,
  type RecordRow,
  rdataKeyOf,
  recordsOfOwner,
} from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { zoneAround } from './account-zone.js';
import { addressOfReverse, reverseOfAddress } from './reverse-zone.js';

/** Where a PTR record belongs. */
export interface Reverse {
  readonly zone: ZoneRow;
  readonly name: string;
  readonly ownerKey: Uint8Array;
}

export function isAddress(type: number): boolean {
  return type === Type.a || type === Type.aaaa;
}

/** Undefined if the account has no zone for the reverse name, or the zone is not `full`, or the name is delegated. */
export function reverseOf(store: Store, account: number, address: Uint8Array): Reverse | undefined {
  const name = reverseOfAddress(address);
  const zone = zoneAround(store, account, name);
  if (zone?.type !== 'full') return undefined;
  const ownerKey = ownerKeyOf(parseName(`${name}.`), zone.apex);
  const isDelegated = ownerKeysDownTo(ownerKey).some(
    (key) => key.length > 0 && nameServersAt(store, zone.seq, key).length > 0,
  );
  return isDelegated ? undefined : { zone, name, ownerKey };
}

/** The data of the PTR record for an address record. */
export function pointerData(
  { name }: Pick<NewRecordRow, 'name'>,
  { zone }: Reverse,
): { rdata: Uint8Array; content: string } {
  return typeByCode(Type.ptr).fromApi({ content: `${name}.` }, zone.apex);
}

/** What exists at a reverse name: the wanted PTR record, and whether a user's own record takes its place. */
export function standingAt(
  store: Store,
  reverse: Reverse,
  rdata: Uint8Array,
): { same: RecordRow | undefined; isTaken: boolean } {
  const { zone, ownerKey } = reverse;
  const key = { zone: zone.seq, owner_key: ownerKey, type: Type.ptr, rdata_key: keyOf(Type.ptr, rdata) };
  const isOwn = (row: RecordRow): boolean => row.type === Type.cname || (row.type === Type.ptr && !isLinked(row));
  return { same: findSameRecord(store, key), isTaken: recordsOfOwner(store, zone.seq, ownerKey).some(isOwn) };
}

function keyOf(type: number, rdata: Uint8Array): Uint8Array {
  return rdataKeyOf(typeByCode(type).duplicateKey(rdata));
}

/** The address record for which a PTR record of the account is kept. */
export function sourceOf(
  store: Store,
  account: number,
  { name, content }: Pick<RecordRow, 'name' | 'content'>,
): RecordRow | undefined {
  const address = addressOfReverse(name);
  const target = content.replace(/\.$/, '').toLowerCase();
  const zone = address && zoneAround(store, account, target);
  if (!zone) return undefined;
  const type = address.length === 4 ? Type.a : Type.aaaa;
  const owner_key = ownerKeyOf(parseName(`${target}.`), zone.apex);
  const row = findSameRecord(store, { zone: zone.seq, owner_key, type, rdata_key: keyOf(type, address) });
  return row && isLinked(row) ? row : undefined;
}

/** Whether the wanted PTR record exists, or why not. */
export interface PointerState {
  /** `kept`: it exists. `no-zone`: the account has no zone for it. `other-record`: a user's own record is in its place. */
  readonly status: 'kept' | 'no-zone' | 'other-record';
  readonly reverse?: Reverse;
  readonly row?: RecordRow;
}

export function pointerState(store: Store, account: number, row: NewRecordRow): PointerState {
  const reverse = reverseOf(store, account, row.rdata);
  if (!reverse) return { status: 'no-zone' };
  const { same } = standingAt(store, reverse, pointerData(row, reverse).rdata);
  return same ? { status: 'kept', reverse, row: same } : { status: 'other-record', reverse };
}
