/** Use case: add the records of a BIND file to an existing zone, all or nothing (v4: §7.3). */
import { AppError } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import type { Issue } from '../../base/result.js';
import { inSlices } from '../../base/slices.js';
import { Type } from '../../dns/codes.js';
import { isAtOrBelow, printName } from '../../dns/name.js';
import { typeByCode, typeMnemonic } from '../../dns/rr/registry.js';
import { type ParsedRecord, readZone } from '../../dns/zonefile/parser.js';
import type { NewRecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { commitEdits } from '../kernel/planned-edits.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { checkCreation, checkNewRow, isDuplicate, ttlOutOfRange } from '../records/write.js';
import { recordFailure } from '../rules/record-failures.js';
import { AUTOMATIC } from '../rules/ttl.js';
import { boundsFor } from './reader.js';
import { createRowMaker, isApexAuthority, type RowMaker } from './row.js';
import { generates } from './stage.js';

/** A record of the file that was not added, or what of it was not kept. */
export interface LeftOut {
  readonly line: number;
  readonly code: number;
  /** The record and why, such as `a.example.com. A: an identical record already exists`. */
  readonly reason: string;
}

export interface RecordImportResult {
  readonly added: number;
  /** Records read, including omitted ones. */
  readonly parsed: number;
  /** In the order of lines (at most 100). */
  readonly leftOut: readonly LeftOut[];
}

const MOST_SHOWN = 100;

/**
 * Adds records to a zone, by the rules of a record that is created alone. SOA and apex NS, types that only the service or a
 * signer makes, and what is there already are left out. Throws 400 with the line at fault.
 */
export async function importRecords(
  ctx: Context,
  zoneId: string,
  text: string,
  options: { readonly proxied?: boolean },
): Promise<RecordImportResult> {
  const records = await inSlices(ctx.clock, readRecords(ctx, requireZone(ctx, zoneId), text));
  const { value } = await commitEdits(ctx, {
    size: records.length,
    zone: () => requireZone(ctx, zoneId),
    work: (edits, zone) => addRecords(ctx, edits, zone, records, options.proxied ?? false),
    read: (result) => result,
  });
  return value;
}

function* addRecords(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  records: readonly ParsedRecord[],
  proxied: boolean,
): Generator<undefined, RecordImportResult> {
  const { apex } = zone;
  const rows = createRowMaker({ apex, limits: ctx.settings.limits, proxied, oneIsAutomatic: true });
  const leftOut: LeftOut[] = [];
  let added = 0;
  const say = (record: ParsedRecord, { code, reason }: Why): void =>
    void leftOut.push({ line: record.line, code, reason: `${describe(record)}: ${reason}` });
  for (const record of records) {
    const why = whyNotAdded(record, apex) ?? addRecord(ctx, edits, zone, rows, record);
    if (why !== undefined) say(record, why);
    else {
      added++;
      if (record.ttl === 0) say(record, NO_TTL);
    }
    yield;
  }
  if (added > 0) edits.event({ kind: 'record.import', zone, after: { added } });
  const notKept = rows.issues.map(({ line = 1, message }) => ({ line, code: VALIDATION, reason: message }));
  const all = [...leftOut, ...notKept].sort((a, b) => a.line - b.line);
  return { added, parsed: records.length, leftOut: all.slice(0, MOST_SHOWN) };
}

type Why = Pick<LeftOut, 'code' | 'reason'>;

const VALIDATION = recordFailure('validation').code;
const NO_TTL: Why = { code: VALIDATION, reason: 'the TTL of 0 became automatic' };
const IDENTICAL: Why = { code: recordFailure('identical').code, reason: 'an identical record already exists' };

/** Why a record is not for this import to add, whatever else it says; undefined when it may be. */
function whyNotAdded(record: ParsedRecord, apex: Uint8Array): Why | undefined {
  const code = VALIDATION;
  if (isApexAuthority(record, apex)) return { code, reason: 'the service makes it' };
  if (record.type === Type.soa) return { code, reason: 'an SOA belongs to the name of the zone' };
  if (!typeByCode(record.type).creatable) return { code, reason: 'records of this type cannot be created' };
  return undefined;
}

function* readRecords(ctx: Context, zone: ZoneRow, text: string): Generator<undefined, ParsedRecord[]> {
  const records: ParsedRecord[] = [];
  // The garbage collector would search long through very many records that are kept only to be refused.
  if (generates({ text })) yield* readEach(ctx, zone, text, () => {});
  yield* readEach(ctx, zone, text, (record) => void records.push(record));
  return records;
}

/** Throws an error with all faults of the text when it has been read to its end. */
function* readEach(
  ctx: Context,
  zone: ZoneRow,
  text: string,
  take: (record: ParsedRecord) => void,
): Generator<undefined, void> {
  const bounds = boundsFor(ctx, zone.account);
  const options = { origin: zone.apex, keepComments: true, ignoresSoaMinimum: true, ...(bounds && { bounds }) };
  const reading = readZone({ text }, options);
  let outside: ParsedRecord | undefined;
  for (const batch of reading.records()) {
    for (const record of batch) {
      if (!isAtOrBelow(record.owner, zone.apex)) outside ??= record;
      take(record);
    }
    yield;
  }
  // The file of a whole zone may have such a TTL; a client may not.
  const excessive = reading.issues.find(({ code }) => code === 'excessive-ttl');
  if (excessive) throw atLine(ttlOutOfRange(ctx), excessive.line ?? 1);
  const issue = reading.issues.find(({ severity }) => severity === 'error');
  if (issue) throw faultAt(issue);
  if (outside) throw faultOf(outside, `${printName(outside.owner)} is outside the zone.`);
}

/** Adds it, or says why it is left out. Throws what creating the record would, with its line. */
function addRecord(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  rows: RowMaker,
  record: ParsedRecord,
): Why | undefined {
  const imported = rows.rowOf(record);
  const row: NewRecordRow = {
    ...imported,
    // Clients that send 0 mean automatic (v4: §5.3), and this file comes from a client.
    ttl: imported.ttl === 0 ? AUTOMATIC : imported.ttl,
    id: makeId(ctx.clock.nowUs(), ctx.random),
    zone: zone.seq,
    private_routing: null,
    created_at: edits.now,
    modified_at: edits.now,
    comment_modified_at: imported.comment === null ? null : edits.now,
    tags_modified_at: imported.tags === null ? null : edits.now,
  };
  if (isDuplicate(edits, row)) return IDENTICAL;
  try {
    checkCreation(ctx, zone, row);
    checkNewRow(ctx, edits, zone, row);
  } catch (error) {
    throw error instanceof AppError ? atLine(error, record.line) : error;
  }
  edits.insertRecord(row);
  return undefined;
}

function describe(record: ParsedRecord): string {
  return `${printName(record.owner)} ${typeMnemonic(record.type)}`;
}

function atLine(error: AppError, line: number): AppError {
  return error.with(`/file/line/${line}`, `Line ${line}: ${error.message}`);
}

function faultAt({ message, line = 1, text }: Issue): AppError {
  // The v4 service reports this error without a line.
  const reason = text === undefined || message.startsWith('$INCLUDE') ? message : `${message} (at '${text}')`;
  return recordFailure('importFault', { line, reason }, { pointer: `/file/line/${line}` });
}

function faultOf({ line }: ParsedRecord, reason: string): AppError {
  return recordFailure('importFault', { line, reason }, { pointer: `/file/line/${line}` });
}
