/** Transfers one zone from one primary: differences where they may do, otherwise the whole zone. */

import { AppError } from '../../base/errors.js';
import { inSlices } from '../../base/slices.js';
import type { Context } from '../../control/kernel/context.js';
import { applyDifferences, type Difference } from '../../control/secondary/differences.js';
import { NotServable, readSignedVersion } from '../../control/secondary/presigned-copy.js';
import { applyVersion } from '../../control/secondary/transferred.js';
import { DoesNotFit } from '../../control/secondary/version.js';
import type { ReadRecord } from '../../dns/message.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import type { IncomingChange } from '../../store/secondary/incoming.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { type Collection, createCollection, isProof, MOST_OF_ALL } from './collection.js';
import { TransferFailed } from './failure.js';
import { type PrimaryContext, transferQuery } from './primary.js';
import { createProofRoom, type ProofRoom } from './proof-room.js';
import { createTransferReader, type Soa, type Step, type TransferEnd } from './reading.js';
import { type Primary, transferMessages } from './stream.js';

export interface FetchOrder {
  readonly zone: ZoneRow;
  readonly primary: Primary;
  /** The SOA of the stored version; undefined: the whole zone is wanted. */
  readonly from: { readonly serial: number; readonly rdata: Uint8Array; readonly ttl: number } | undefined;
  /** The serial of the stored version; null: there is none. */
  readonly stored: number | null;
  /** When it was last said where the zone comes from (microseconds since 1970). */
  readonly since: number;
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

/** For the proofs of all transfers under way. */
const ROOM = createProofRoom(MOST_OF_ALL);

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
  const { zone, from, stored: over, since, noted } = order;
  const { soa, kind } = end;
  if (kind === 'current') return { soa, kind, records: 0 };
  const version = (notice: string | null) => ({ soa: soa.record, since, noted: noted(soa, notice) });
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
  const differences = await inSlices(ctx.clock, differencesOf(end.steps, collection.rowOf));
  try {
    const isApplied = await applyDifferences(ctx, zone.seq, from!.serial, differences, version(null));
    if (!isApplied) return { soa, kind: 'current', records: 0 };
  } catch (error) {
    if (error instanceof DoesNotFit) throw new TransferFailed('unfit', error.message);
    throw error;
  }
  return { soa, kind, records: end.steps.reduce((sum, { removed, added }) => sum + removed.length + added.length, 0) };
}

function* differencesOf(
  steps: readonly Step[],
  rowOf: (record: ReadRecord) => ImportedRow,
): Generator<undefined, readonly Difference[]> {
  const rowsOf = function* (records: readonly ReadRecord[]): Generator<undefined, readonly ImportedRow[]> {
    const rows: ImportedRow[] = [];
    for (const record of records) {
      if (isProof(record)) throw new TransferFailed('unfit', 'its differences contain signatures');
      rows.push(rowOf(record));
      yield;
    }
    return rows;
  };
  const differences: Difference[] = [];
  for (const { removed, added } of steps) {
    differences.push({ removed: yield* rowsOf(removed), added: yield* rowsOf(added) });
    yield;
  }
  return differences;
}
