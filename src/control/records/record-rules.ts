/**
 * Rules for a record that do not depend on what a client sent: the other records of its owner, its size, the quota, and where
 * it leads.
 */
import { equalBytes } from '../../base/bytes.js';
import { printIP } from '../../base/ip.js';
import { Type } from '../../dns/codes.js';
import { nameEquals, nameOfOwnerKey } from '../../dns/name.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import type { NewRecordRow, RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import { type TypeTally, tallyWithout } from '../kernel/owner-tally.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { findConflict, findDnssecFault } from '../rules/coexist.js';
import { requireForeignKey } from '../rules/foreign-keys.js';
import { isOwnAddress } from '../rules/proxiable.js';
import { identicalRecord, recordFailure } from '../rules/record-failures.js';

/** The largest size in octets of an RRset in a message, and of all TXT data of one name (RFC 1035 §4.2.2; v4: §6.1). */
const MOST_RRSET_OCTETS = 60_000;
const MOST_TXT_OCTETS = 8192;
/** Octets of owner pointer, type, class, TTL and length of one record. */
const RR_OVERHEAD = 12;

export type Columns = Omit<
  NewRecordRow,
  'id' | 'created_at' | 'modified_at' | 'comment_modified_at' | 'tags_modified_at'
>;

/** Checks duplicates, coexistence (v4: §5.9) and the message size against the owner's other rows. */
export function checkOthersAtOwner(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  columns: Columns,
  stored: RecordRow | undefined,
): void {
  const others = othersAtOwner(edits, zone, columns, stored);
  const conflict = isMoved(columns, stored)
    ? findConflict(columns.type, columns.owner_key.length === 0, new Set(others.keys()))
    : undefined;
  if (conflict) throw recordFailure(conflict, {}, { pointer: '/name' });
  requirePlace(ctx, zone, columns, others, stored);
}

/** The owner's other rows, by type. Throws when one of them is the same record. */
export function othersAtOwner(
  edits: RecordEdits,
  zone: ZoneRow,
  columns: Columns,
  stored: RecordRow | undefined,
): ReadonlyMap<number, TypeTally> {
  const all = edits.tallyAt(zone, columns.owner_key);
  const same = all.has(columns.type) ? edits.findSame(columns) : undefined;
  if (same && !(stored && equalBytes(same.id, stored.id))) throw identicalRecord();
  return stored && equalBytes(stored.owner_key, columns.owner_key) ? tallyWithout(all, stored) : all;
}

/** Records that an import placed together stay editable. */
function isMoved(columns: Columns, stored: RecordRow | undefined): boolean {
  return !stored || stored.type !== columns.type || !equalBytes(stored.owner_key, columns.owner_key);
}

/** Checks where DNSSEC allows the type, and the message size. */
export function requirePlace(
  ctx: Context,
  zone: ZoneRow,
  columns: Columns,
  others: ReadonlyMap<number, TypeTally>,
  stored: RecordRow | undefined,
): void {
  const moved = isMoved(columns, stored);
  const reason = moved
    ? findDnssecFault(columns.type, columns.owner_key.length === 0, new Set(others.keys()))
    : undefined;
  if (reason) throw recordFailure('validation', { reason }, { pointer: '/type' });
  if (!moved && stored && equalBytes(stored.rdata, columns.rdata)) return;
  if (columns.type === Type.dnskey) requireForeignKey(ctx.store, zone, columns.rdata);
  checkSize(others.get(columns.type), columns);
}

function checkSize(same: TypeTally | undefined, columns: Columns): void {
  const most = columns.type === Type.txt ? MOST_TXT_OCTETS : MOST_RRSET_OCTETS;
  const overhead = (columns.type === Type.txt ? 0 : RR_OVERHEAD) * ((same?.records ?? 0) + 1);
  const octets = (same?.octets ?? 0) + columns.rdata.length + overhead;
  if (octets > most) {
    const reason = `the ${typeMnemonic(columns.type)} records of one name may have ${most} octets together, not ${octets}`;
    throw recordFailure('validation', { reason }, { pointer: '/content' });
  }
}

/** Throws when the zone may have no further record. */
export function requireQuota({ settings }: Context, edits: RecordEdits, zone: ZoneRow): void {
  const quota = settings.limits.recordsPerZone;
  if (quota !== undefined && edits.recordCount(zone) >= quota) throw recordFailure('quota');
}

/** Throws for data of a new record that lead back to it, whatever protocol adds it. */
export function requireTarget(ctx: Context, zone: ZoneRow, { type, rdata, owner_key: ownerKey }: Columns): void {
  requireOtherName(zone, type, rdata, ownerKey);
  requireForeignAddress(ctx, type, rdata);
}

/** A CNAME that names itself is an error (RFC 1034 §3.6.2). */
export function requireOtherName({ apex }: ZoneRow, type: number, rdata: Uint8Array, ownerKey: Uint8Array): void {
  if (type !== Type.cname || !nameEquals(rdata, nameOfOwnerKey(ownerKey, apex))) return;
  throw recordFailure('selfReference', {}, { pointer: '/content' });
}

/** The edge would ask itself. */
export function requireForeignAddress({ settings }: Context, type: number, rdata: Uint8Array): void {
  if (!isOwnAddress(type, rdata, settings.ownAddresses)) return;
  throw recordFailure('ownAddress', { target: printIP(rdata) }, { pointer: '/content' });
}
