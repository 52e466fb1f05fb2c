/** A version of a zone from its primary, and what becomes of the zone with it. */
import { makeId } from '../../base/random.js';
import { nextSerial, serialIsAfter } from '../../dns/serial.js';
import type { PlacedRR } from '../../dnssec/signed-zone.js';
import { hasExpired, signatureState } from '../../serving/zone-state.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { findSameRecord, type RecordRow } from '../../store/records/records.js';
import { findIncoming, type IncomingChange, noteIncoming } from '../../store/secondary/incoming.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { StagedPresigned } from '../dnssec/presigned/take.js';
import { type ImportedSoa, soaOf } from '../imports/reader.js';
import { MOST_SENT_OCTETS, MOST_TYPES, tooLarge, tooManyTypes } from '../imports/rrset-size.js';
import { RR_OVERHEAD } from '../imports/stage.js';
import { type Draft, FEW_EDITS } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { planConsumption } from '../schedule/consumption.js';
import { applySigned } from './presigned-copy.js';

/** A version of a zone at its primary. */
export interface Version {
  /** The SOA: its rdata, and its TTL in seconds. */
  readonly soa: { readonly rdata: Uint8Array; readonly ttl: number };
  /** What is noted about the transfer in the same commit. */
  readonly noted: IncomingChange;
  /** When it was last said where the zone comes from, as the transfer began: a primary that is none any more changes nothing. */
  readonly since?: number | undefined;
}

/** What was read does not belong to what is stored: a difference removes what is not there, or adds what is. */
export class DoesNotFit extends Error {}

/** The zone has no primaries any more, or others, or has got another version. */
export class Overtaken extends Error {}

/** Undefined when the zone was {@link Overtaken}. */
export async function unlessOvertaken<Value>(written: Promise<Value>): Promise<Value | undefined> {
  try {
    return await written;
  } catch (error) {
    if (error instanceof Overtaken) return undefined;
    throw error;
  }
}

/**
 * Whether records may be edited with the version's SOA: signatures that are made before the write do not fit another TTL of denials
 * (RFC 9077 §3).
 */
export function mayEdit(zone: ZoneRow, size: number, { soa }: Version): boolean {
  const { soa_ttl: ttl, soa_minimum: minimum } = soaOf(soa).columns;
  const isSame = ttl === zone.soa_ttl && minimum === zone.soa_minimum;
  return isSame || size <= FEW_EDITS || signatureState(zone) === 'none';
}

/** A record with what it was and what it becomes. */
export interface Edit {
  readonly before: RecordRow | undefined;
  readonly after: ImportedRow | undefined;
}

export function* editEach<Item>(items: Iterable<Item>, apply: (item: Item) => void): Generator<undefined, void> {
  for (const item of items) {
    apply(item);
    yield;
  }
}

/** Throws a {@link DoesNotFit} when an RRset, or the number of them at a name, becomes too large. */
export function edit(ctx: Context, edits: RecordEdits, zone: ZoneRow, { before, after }: Edit): void {
  if (before && !after) edits.removeRecord(before);
  if (!after || after === before) return;
  const { owner_key, name, type, content, rdata, rdata_key, ttl } = after;
  const data = { owner_key, name, type, content, rdata, rdata_key, ttl, zone: zone.seq, modified_at: edits.now };
  const own = { proxied: 0, settings: null, comment: null, tags: null, private_routing: null };
  const row = { ...data, ...own, created_at: edits.now, comment_modified_at: null, tags_modified_at: null };
  if (before) edits.updateRecord(before, { ...before, ...data });
  // A record that was made here hides the same one of the primary.
  else if (!findSameRecord(ctx.store, row)) {
    edits.insertRecord({ ...row, id: makeId(ctx.clock.nowUs(), ctx.random) });
    const tally = edits.tallyAt(zone, owner_key);
    if (tally.size > MOST_TYPES) throw new DoesNotFit(tooManyTypes(name));
    const { records, octets } = tally.get(type)!;
    const size = octets + records * RR_OVERHEAD;
    if (size > MOST_SENT_OCTETS) throw new DoesNotFit(tooLarge({ name, type }, size));
  }
}

/** SOA, serial, signatures, and what is noted. */
export function finish(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  { soa, noted, signed }: Version & { readonly signed?: readonly PlacedRR[] | undefined },
  presigned?: StagedPresigned,
): void {
  const { columns, serial }: ImportedSoa = soaOf(soa);
  // What is changed here (signatures, proxied names) has serials of its own, which only go up.
  const isNewer = signed !== undefined || hasExpired(zone) || serialIsAfter(serial, zone.serial);
  const next = isNewer ? serial : nextSerial(zone.serial);
  draft.setZone(zone.seq, { ...columns, serial: next, expired: 0 });
  draft.noteZone(zone.seq, hasExpired(zone) || signed ? 'zone-replaced' : 'settings');
  applySigned(ctx, draft, zone.seq, signed, presigned);
  noteIncoming(ctx.store, zone.seq, noted);
  planConsumption(ctx, zone.seq);
  draft.event({ kind: 'zone.transfer', zone, after: { serial } });
}

/** The zone, if it still has primaries; with a version, if they are the same as when it was asked for. */
export function zoneToWrite({ store }: Context, seq: number, { since }: Partial<Version> = {}): ZoneRow | undefined {
  const zone = findZone(store, seq);
  const incoming = zone?.type === 'secondary' ? findIncoming(store, seq) : undefined;
  if (!incoming || (since !== undefined && incoming.modified_at !== since)) return undefined;
  return zone;
}
