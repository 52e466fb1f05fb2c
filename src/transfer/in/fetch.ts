/** Transfers one zone from one primary: differences where they may do, otherwise the whole zone. */

import { AppError, messageOf } from '../../base/errors.js';
import { createRowMaker, type RowMaker } from '../../control/imports/row.js';
import { beginStaging, giveUp, type Staging } from '../../control/imports/stage.js';
import type { Context } from '../../control/kernel/context.js';
import { quotaOf } from '../../control/rules/quotas.js';
import { NotServable, readSignedVersion } from '../../control/secondary/presigned-copy.js';
import { applyDifferences, applyVersion, DoesNotFit } from '../../control/secondary/transferred.js';
import { Type } from '../../dns/codes.js';
import type { ReadRecord } from '../../dns/message.js';
import { type ImportedRow, RowPacker } from '../../store/records/packed-rows.js';
import type { IncomingChange } from '../../store/secondary/incoming.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { TransferFailed } from './failure.js';
import { type PrimaryContext, transferQuery } from './primary.js';
import { createProofRoom, type ProofRoom } from './proof-room.js';
import { createTransferReader, type Soa, type TransferEnd } from './reading.js';
import { type Primary, transferMessages } from './stream.js';

export interface FetchOrder {
  readonly zone: ZoneRow;
  readonly primary: Primary;
  /** The SOA of the stored version; undefined: the whole zone is wanted. */
  readonly from: { readonly serial: number; readonly rdata: Uint8Array; readonly ttl: number } | undefined;
  /** The serial of the stored version; null: there is none. */
  readonly stored: number | null;
  /** What is noted with a version, in the commit that stores it. */
  readonly noted: (soa: Soa, notice: string | null) => IncomingChange;
}

export interface Fetched {
  readonly soa: Soa;
  /** Whether the zone has another version now. */
  readonly kind: TransferEnd['kind'];
  readonly records: number;
}

/** Throws {@link TransferFailed}; the stored version is then as it was. `room`: for the proofs of all transfers under way. */
export async function fetchZone(
  ctx: Context,
  context: PrimaryContext,
  order: FetchOrder,
  room: ProofRoom = ROOM,
): Promise<Fetched> {
  if (!order.from) return fetchOnce(ctx, context, order, room);
  try {
    return await fetchOnce(ctx, context, order, room);
  } catch (error) {
    if (!(error instanceof TransferFailed) || !ENDS_DIFFERENCES.has(error.fault)) throw error;
    ctx.log.info(
      { zone: order.zone.name, reason: error.message },
      'differences could not be used; the whole zone is transferred',
    );
    return fetchOnce(ctx, context, { ...order, from: undefined }, room);
  }
}

/** Whatever is doubtful about differences is settled by the whole zone. */
const ENDS_DIFFERENCES: ReadonlySet<string> = new Set(['unfit', 'lying', 'refused', 'limit']);

async function fetchOnce(ctx: Context, context: PrimaryContext, order: FetchOrder, room: ProofRoom): Promise<Fetched> {
  const { zone, from } = order;
  const reader = createTransferReader(zone.apex, from?.serial);
  const collection = createCollection(ctx, zone, room);
  try {
    const query = transferQuery(context.random, zone.apex, from);
    for await (const { message, isCovered } of transferMessages(context, order.primary, query)) {
      await collection.take(reader.read(message));
      if (!reader.end) continue;
      if (!isCovered) throw new TransferFailed('signature', 'its last message is not signed');
      return await storeOrRefuse(ctx, order, reader.end, collection, context.signal);
    }
    throw new TransferFailed('unreachable', 'it sent no answer');
  } finally {
    await collection.release();
  }
}

/** What came well but cannot be served is a fault of the transfer, too. */
async function storeOrRefuse(...parts: Parameters<typeof store>): Promise<Fetched> {
  try {
    return await store(...parts);
  } catch (error) {
    if (error instanceof NotServable || (error instanceof AppError && error.status < 500)) {
      throw new TransferFailed('unsupported', error.message);
    }
    throw error;
  }
}

async function store(
  ctx: Context,
  order: FetchOrder,
  end: TransferEnd,
  collection: Collection,
  signal: AbortSignal,
): Promise<Fetched> {
  const { zone, from, stored: over, noted } = order;
  const { soa, kind } = end;
  if (kind === 'current') return { soa, kind, records: 0 };
  const version = (notice: string | null) => ({ soa: soa.record, noted: noted(soa, notice) });
  if (kind === 'whole') {
    const { set, records, proofs } = await collection.finish(signal);
    const notice = end.outside === 0 ? null : `${end.outside} records outside the zone were left out`;
    const isSigned = proofs.length > 0;
    const signed = isSigned ? await readSignedVersion(ctx, zone, set, [soa.record, ...proofs]) : undefined;
    const isApplied = await applyVersion(ctx, zone.seq, { set, records, over, signed, ...version(notice) });
    if (!isApplied) return { soa, kind: 'current', records: 0 };
    collection.keep();
    return { soa, kind, records: records + proofs.length };
  }
  if (end.steps.some(({ removed, added }) => [...removed, ...added].some(isProof))) {
    throw new TransferFailed('unfit', 'its differences contain signatures');
  }
  const differences = end.steps.map(({ removed, added }) => {
    return { removed: collection.rowsOf(removed), added: collection.rowsOf(added) };
  });
  try {
    await applyDifferences(ctx, zone.seq, from!.serial, differences, version(null));
  } catch (error) {
    if (error instanceof DoesNotFit) throw new TransferFailed('unfit', error.message);
    throw error;
  }
  return { soa, kind, records: end.steps.reduce((sum, { removed, added }) => sum + removed.length + added.length, 0) };
}

/** The records of a whole zone on their way into a set of their own. */
interface Collection {
  take(records: readonly ReadRecord[]): Promise<void>;
  rowsOf(records: readonly ReadRecord[]): ImportedRow[];
  /** Stores what is left, and waits until the proofs can be verified. */
  finish(
    signal: AbortSignal,
  ): Promise<{ readonly set: number; readonly records: number; readonly proofs: readonly ReadRecord[] }>;
  /** The set belongs to the zone now, or is removed already. */
  keep(): void;
  release(): Promise<void>;
}

/** They are verified together, in memory. */
const MOST_PROOFS = 1_000_000;
/** The same of all transfers under way. */
const ROOM = createProofRoom(2_000_000);
/** Rows that are stored together. */
const ROWS_AT_ONCE = 2000;

function createCollection(ctx: Context, zone: ZoneRow, room: ProofRoom): Collection {
  const { apex, account, record_count: stored } = zone;
  const { limits } = ctx.settings;
  const maker = createRowMaker({ apex, limits, proxied: false, oneIsAutomatic: false });
  const { used = 0, most: ofAccount = Number.POSITIVE_INFINITY } = quotaOf(ctx.store, account, 'records');
  const most = Math.min(limits.recordsPerZone ?? Number.POSITIVE_INFINITY, ofAccount - used + stored);
  let staging: Staging | undefined;
  const waiting = new RowPacker();
  let records = 0;
  let isKept = false;
  const proofs: ReadRecord[] = [];
  const place = room.enter(account, () => void proofs.splice(0));
  const flush = async (): Promise<number> => {
    staging ??= await beginStaging(ctx);
    records += await staging.store(waiting.take()).catch((error: unknown) => {
      throw error instanceof AppError ? new TransferFailed('limit', error.message) : error;
    });
    return staging.set;
  };
  return {
    async take(more) {
      const before = proofs.length;
      for (const record of more) if (isProof(record)) proofs.push(record);
      place.add(proofs.length - before);
      const others = more.filter((record) => !isProof(record));
      for (const row of rowsOf(maker, others)) waiting.add(row);
      if (proofs.length > MOST_PROOFS) {
        throw new TransferFailed(
          'limit',
          `the zone has more than ${MOST_PROOFS} signatures and proofs, which is the limit`,
        );
      }
      if (records + waiting.count > most) {
        throw new TransferFailed('limit', `the zone has more than ${most} records, which is the limit`);
      }
      if (waiting.count >= ROWS_AT_ONCE) await flush();
    },
    rowsOf: (some) => rowsOf(maker, some),
    async finish(signal) {
      // It may have lost its room meanwhile.
      place.add(0);
      const set = await flush();
      await place.settle(signal);
      return { set, records, proofs };
    },
    keep() {
      isKept = true;
    },
    async release() {
      place.release();
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

/** Records that a signer made for others; they are not records of the zone's owners (control/dnssec/presigned). */
const PROOFS: ReadonlySet<number> = new Set([Type.rrsig, Type.nsec, Type.nsec3]);

function isProof({ type }: ReadRecord): boolean {
  return PROOFS.has(type);
}

function rowsOf(maker: RowMaker, records: readonly ReadRecord[]): ImportedRow[] {
  const nowhere = { line: 1, column: 1, file: undefined, comment: undefined };
  return records.map((record) => maker.rowOf({ ...record, ...nowhere, flattened: false }));
}
