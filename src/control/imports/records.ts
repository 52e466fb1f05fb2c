/** Use case: the records of a BIND file are added to an existing zone, all or nothing (v4: §7.3). */
import { AppError } from '../../base/errors.js';
import { makeId } from '../../base/random.js';
import type { Issue } from '../../base/result.js';
import { isAtOrBelow, printName } from '../../dns/name.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import { type ParsedRecord, readZone } from '../../dns/zonefile/parser.js';
import type { NewRecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../access/access.js';
import { recordFailure } from '../records/errors.js';
import { checkNewRow, isDuplicate } from '../records/write.js';
import { commit, type Draft } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { createRowMaker, isApexAuthority, type RowMaker } from './row.js';

export interface RecordImportResult {
  readonly added: number;
  /** Records read, those left out counted too. */
  readonly parsed: number;
  /** Records left out because they exist already (at most 100). */
  readonly skipped: readonly string[];
}

const MOST_SKIPPED_SHOWN = 100;

/** Adds records to a zone. SOA and apex NS are read and left out. Throws 400 with the line at fault. */
export async function importRecords(
  ctx: Context,
  zoneId: string,
  text: string,
  options: { readonly proxied?: boolean },
): Promise<RecordImportResult> {
  const records = readRecords(requireZone(ctx, zoneId), text);
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const { apex } = zone;
    const rows = createRowMaker({ apex, limits: ctx.settings.limits, proxied: options.proxied ?? false });
    const skipped: string[] = [];
    let added = 0;
    for (const record of records) {
      if (isApexAuthority(record, apex)) continue;
      if (addRecord(ctx, draft, zone, rows, record)) added++;
      else if (skipped.length < MOST_SKIPPED_SHOWN) skipped.push(describe(record));
    }
    if (added > 0) draft.audit({ action: 'record.import', zone: zone.id, object: zone.id, after: { added } });
    return { added, parsed: records.length, skipped };
  });
  return value;
}

function readRecords(zone: ZoneRow, text: string): ParsedRecord[] {
  const reading = readZone({ text }, { origin: zone.apex, keepComments: true });
  const records = [...reading.records()].flat();
  const [issue] = reading.issues;
  if (issue) throw faultAt(issue);
  const outside = records.find((record) => !isAtOrBelow(record.owner, zone.apex));
  if (outside) throw faultOf(outside, `${printName(outside.owner)} is outside the zone.`);
  return records;
}

/** Returns false when the zone has the record already. */
function addRecord(ctx: Context, draft: Draft, zone: ZoneRow, rows: RowMaker, record: ParsedRecord): boolean {
  const imported = rows.rowOf(record);
  const row: NewRecordRow = {
    ...imported,
    id: makeId(ctx.clock.nowUs(), ctx.random),
    zone: zone.seq,
    private_routing: null,
    created_at: draft.now,
    modified_at: draft.now,
    comment_modified_at: imported.comment === null ? null : draft.now,
    tags_modified_at: imported.tags === null ? null : draft.now,
  };
  if (isDuplicate(ctx, row)) return false;
  try {
    checkNewRow(ctx, draft, zone, row);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { key, status, code, message, chain, also } = error;
    const { line } = record;
    throw new AppError(key, status, code, `Line ${line}: ${message}`, `/file/line/${line}`, chain, also);
  }
  draft.insertRecord(row);
  return true;
}

function describe(record: ParsedRecord): string {
  return `line ${record.line}: ${printName(record.owner)} ${typeMnemonic(record.type)}`;
}

function faultAt({ message, line = 1, text }: Issue): AppError {
  // The v4 service says this one without a line.
  const reason = text === undefined || message.startsWith('$INCLUDE') ? message : `${message} (at '${text}')`;
  return recordFailure('importFault', { line, reason }, { pointer: `/file/line/${line}` });
}

function faultOf({ line }: ParsedRecord, reason: string): AppError {
  return recordFailure('importFault', { line, reason }, { pointer: `/file/line/${line}` });
}
