/** The records of a whole zone on their way into a set of their own, and its signatures and proofs, which stay in memory. */
import { AppError, messageOf } from '../../base/errors.js';
import { inSlices } from '../../base/slices.js';
import { createRowMaker } from '../../control/imports/row.js';
import {
  MOST_SENT_OCTETS,
  MOST_TYPES,
  type SizeWatch,
  tooLarge,
  tooManyTypes,
  watchSizes,
} from '../../control/imports/rrset-size.js';
import { beginStaging, giveUp, RR_OVERHEAD, type Staging } from '../../control/imports/stage.js';
import type { Context } from '../../control/kernel/context.js';
import { quotaOf } from '../../control/rules/quotas.js';
import { Type } from '../../dns/codes.js';
import type { ReadRecord } from '../../dns/message.js';
import { hasMoreTypes, octetsOfSet } from '../../store/records/import.js';
import { type ImportedRow, RowPacker } from '../../store/records/packed-rows.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { TransferFailed } from './failure.js';
import type { ProofRoom } from './proof-room.js';

export interface Collection {
  /** Takes records in slices, even none, so that a primary that sends very many messages lets others have their turns. */
  take(records: readonly ReadRecord[]): Promise<void>;
  rowOf(record: ReadRecord): ImportedRow;
  /** Stores what is left, and waits until the proofs can be verified. */
  finish(
    signal: AbortSignal,
  ): Promise<{ readonly set: number; readonly records: number; readonly proofs: readonly ReadRecord[] }>;
  /** The set belongs to the zone now, or is removed already. */
  keep(): void;
  release(): Promise<void>;
}

/** Signatures and proofs of a zone, which are verified together, in memory; with the zone's other records. */
const MOST_PROOFS = 1_000_000;
const MOST_TOGETHER = 1_500_000;
/** The same of all transfers under way, of which one account has half at most. */
export const MOST_OF_ALL = 2 * MOST_TOGETHER;
/** Octets of a proof that count as one. */
const OCTETS_OF_ONE = 1024;

export function createCollection(ctx: Context, zone: ZoneRow, room: ProofRoom): Collection {
  const rows = collectRows(ctx, zone);
  const proofs: ReadRecord[] = [];
  let size = 0;
  const place = room.enter(zone.account, () => void proofs.splice(0));
  const divide = function* (records: readonly ReadRecord[]): Generator<undefined, number> {
    let more = 0;
    for (const record of records) {
      if (!isProof(record)) rows.add(record);
      else {
        proofs.push(record);
        more += 1 + Math.floor((record.owner.length + record.rdata.length) / OCTETS_OF_ONE);
      }
      yield;
    }
    return more;
  };
  return {
    async take(records) {
      const more = await inSlices(ctx.clock, divide(records));
      size += more;
      place.add(more);
      if (size > MOST_PROOFS) {
        const what = `the zone has more than ${MOST_PROOFS} signatures and proofs, which is the limit`;
        throw new TransferFailed('limit', what);
      }
      await rows.storeSome();
    },
    rowOf: rows.rowOf,
    async finish(signal) {
      const { set, records } = await rows.storeAll();
      if (proofs.length > 0 && size + records > MOST_TOGETHER) {
        const what = `the zone has more than ${MOST_TOGETHER} records with its signatures, which is the limit`;
        throw new TransferFailed('limit', what);
      }
      // It may have lost its room meanwhile.
      place.add(proofs.length > 0 ? records : 0);
      await place.settle(signal);
      return { set, records, proofs };
    },
    keep: rows.keep,
    async release() {
      place.release();
      await rows.release();
    },
  };
}

/** Rows and octets that are stored together. */
const ROWS_AT_ONCE = 2000;
const OCTETS_AT_ONCE = 1 << 20;

function collectRows(ctx: Context, { apex, account, record_count: stored }: ZoneRow) {
  const { limits } = ctx.settings;
  const maker = createRowMaker({ apex, limits, proxied: false, oneIsAutomatic: false });
  const { used = 0, most: ofAccount = Number.POSITIVE_INFINITY } = quotaOf(ctx.store, account, 'records');
  const most = Math.min(limits.recordsPerZone ?? Number.POSITIVE_INFINITY, ofAccount - used + stored);
  const waiting = new RowPacker();
  const sizes = watchSizes();
  let staging: Staging | undefined;
  let [records, octets] = [0, 0];
  let isKept = false;
  const rowOf = (record: ReadRecord): ImportedRow => maker.rowOf({ ...record, ...NOWHERE });
  const storeAll = async (): Promise<{ readonly set: number; readonly records: number }> => {
    staging ??= await beginStaging(ctx);
    octets = 0;
    records += await staging.store(waiting.take()).catch((error: unknown) => {
      throw error instanceof AppError ? new TransferFailed('limit', error.message) : error;
    });
    await inSlices(ctx.clock, requireSizes(ctx, staging.set, sizes.suspects()), 1);
    return { set: staging.set, records };
  };
  return {
    rowOf,
    add(record: ReadRecord): void {
      const row = rowOf(record);
      sizes.note(row);
      waiting.add(row);
      octets += record.rdata.length;
    },
    storeAll,
    /** If there are enough. */
    async storeSome(): Promise<void> {
      if (records + waiting.count > most) {
        throw new TransferFailed('limit', `the zone has more than ${most} records, which is the limit`);
      }
      if (waiting.count >= ROWS_AT_ONCE || octets >= OCTETS_AT_ONCE) await storeAll();
    },
    keep: () => void (isKept = true),
    async release(): Promise<void> {
      if (!staging || isKept) return;
      try {
        await giveUp(ctx, staging.set);
      } catch (error) {
        // It is removed by the job, as after the end of the process.
        ctx.log.warn({ reason: messageOf(error) }, 'the records of a failed transfer were not removed at once');
      }
    },
  };
}

/** So many records are too large in any case. */
const ROWS_LOOKED_AT = Math.ceil(MOST_SENT_OCTETS / RR_OVERHEAD);

/** Throws when an RRset is too large, or a name has too many. Each may take milliseconds. */
function* requireSizes(
  { store }: Context,
  set: number,
  suspects: ReturnType<SizeWatch['suspects']>,
): Generator<undefined, void> {
  for (const rrset of suspects) {
    const octets = octetsOfSet(store, { set, ...rrset }, RR_OVERHEAD, ROWS_LOOKED_AT);
    if (octets > MOST_SENT_OCTETS) throw new TransferFailed('limit', tooLarge(rrset, octets));
    if (hasMoreTypes(store, set, rrset.ownerKey, MOST_TYPES)) {
      throw new TransferFailed('limit', tooManyTypes(rrset.name));
    }
    yield;
  }
}

/** Records that a signer made for others; they are not records of the zone's owners (control/dnssec/presigned). */
const PROOFS: ReadonlySet<number> = new Set([Type.rrsig, Type.nsec, Type.nsec3]);

export function isProof({ type }: ReadRecord): boolean {
  return PROOFS.has(type);
}

/** Where a record stands that no file has. */
const NOWHERE = { line: 1, column: 1, file: undefined, comment: undefined, flattened: false };
