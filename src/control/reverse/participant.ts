/**
 * PTR records follow the A and AAAA records for which they are kept, in the same write. Whoever edits or removes such a PTR record
 * takes it over: the service then no longer keeps one for the address.
 */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import { findAccount } from '../../store/access/accounts.js';
import { hasLinkedRecords, isLinked } from '../../store/records/indexed-settings.js';
import { findSameRecord, type NewRecordRow, recordsOfOwner } from '../../store/records/records.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Participant } from '../kernel/participant.js';
import type { RecordChange, RecordEdits } from '../kernel/record-edits.js';
import { isAddress, sourceOf } from '../rules/pointers.js';
import { dropPointer, keepPointer, setLinked } from './follow.js';
import { POINTERS_JOB } from './job.js';

/** More addresses than this are left to the job, because the write would block others. */
const MOST_AT_ONCE = 50;

export const pointers: Participant<Context> = {
  settle(ctx, edits, seq, { linked }) {
    const zone = linked.length === 0 ? undefined : findZone(ctx.store, seq);
    if (!zone) return;
    const [addresses, kept] = divided(linked);
    for (const change of kept) followPointer(ctx, edits, zone, change);
    if (addresses.length > MOST_AT_ONCE) planPointers(ctx, zone);
    else for (const change of addresses) followAddress(ctx, edits, zone, change);
  },
  after(ctx, { touched: { kind, replacement }, row }) {
    if (kind === 'zone-added' || kind === 'zone-replaced' || replacement !== undefined) planPointers(ctx, row);
  },
  removed: planPointers,
};

/** Separates edits of address records from edits of PTR records. */
function divided(linked: readonly RecordChange[]): [RecordChange[], RecordChange[]] {
  const ofAddress = ({ before, after }: RecordChange): boolean => isAddress((before ?? after)!.type);
  return [linked.filter(ofAddress), linked.filter((change) => !ofAddress(change))];
}

function followAddress(ctx: Context, edits: RecordEdits, zone: ZoneRow, { before, after }: RecordChange): void {
  if (before && isLinked(before)) {
    dropPointer(ctx, edits, zone, before);
    // A DNS UPDATE replaces a record by a new one and cannot carry the `ptr` setting over.
    if (!after && ctx.source === 'update') {
      for (const heir of heirsOf(ctx, edits, before)) keepPointer(ctx, edits, zone, setLinked(edits, zone, heir, true));
    }
  }
  if (after && isLinked(after)) keepPointer(ctx, edits, zone, after);
}

/** The records that this write added in place of one that it removed. */
function heirsOf({ store }: Context, { now }: RecordEdits, { zone, owner_key: owner, type }: NewRecordRow) {
  return recordsOfOwner(store, zone, owner).filter(
    (row) => row.type === type && row.created_at === now && row.proxied === 0 && !isLinked(row),
  );
}

function followPointer({ store }: Context, edits: RecordEdits, { account }: ZoneRow, { before }: RecordChange): void {
  if (!before || !isLinked(before)) return;
  const now = findSameRecord(store, before);
  const source = now && isLinked(now) ? undefined : sourceOf(store, account, before);
  const zone = source && findZone(store, source.zone);
  if (zone) setLinked(edits, zone, source, false);
}

/** Schedules the job for the account: added, replaced and removed zones are not followed record by record. */
function planPointers({ store, clock }: Pick<Context, 'store' | 'clock'>, { account }: ZoneRow): void {
  const id = findAccount(store, account)?.id;
  if (!id || !hasLinkedRecords(store)) return;
  const nowMs = clock.nowMs();
  schedule(store, { kind: POINTERS_JOB, subject: toHex(id), runAtMs: nowMs }, nowMs);
}
