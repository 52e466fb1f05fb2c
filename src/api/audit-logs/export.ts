/** The audit log as a file: JSON lines, or CSV (RFC 4180). */
import { nextSlice } from '../../base/slices.js';
import { type AuditFilter, type AuditItem, lazyAccountAudit } from '../../control/access/audit.js';
import type { Context } from '../../control/kernel/context.js';
import { printTime } from '../times.js';
import type { ExportFormat } from './schema.js';
import { auditEventView } from './view.js';

export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  jsonl: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
};

/** Entries that are read at once. */
const SLICE = 100;
/** Characters of a piece, after which others get their turn: single entries have up to 33 KB. */
const PIECE = 1 << 17;

const COLUMNS: readonly (readonly [name: string, value: (item: AuditItem) => unknown])[] = [
  ['time', ({ at }) => printTime(at)],
  ['action', ({ action }) => action],
  ['actor_email', ({ actor }) => actor.email],
  ['actor_id', ({ actor }) => actor.id],
  ['by', ({ actor }) => actor.kind],
  ['credential_id', ({ actor }) => actor.credential?.id],
  ['credential_name', ({ actor }) => actor.credential?.name],
  ['system_user', ({ actor }) => actor.systemUser],
  ['ip_address', ({ actor }) => actor.address],
  ['source', ({ source }) => source],
  ['zone', ({ zone }) => zone?.name ?? zone?.id],
  ['resource', ({ resource }) => resource],
  ['resource_id', ({ object }) => object],
  ['resource_name', ({ name }) => name],
  ['request_id', ({ requestId }) => requestId],
  ['before', ({ before }) => before],
  ['after', ({ after }) => after],
];

/** All entries that match, in pieces. */
export async function* exportAudit(
  context: Context,
  accountId: string,
  query: { readonly filter: AuditFilter; readonly direction: 'asc' | 'desc' },
  format: ExportFormat,
): AsyncGenerator<string> {
  let cursor: number | undefined;
  if (format === 'csv') yield `${COLUMNS.map(([name]) => name).join(',')}\r\n`;
  do {
    const asked = { ...query, limit: SLICE, ...(cursor !== undefined && { cursor }) };
    const { items, next } = await lazyAccountAudit(context, accountId, asked);
    let piece = '';
    for (const item of items) {
      piece += format === 'csv' ? csvLine(item) : jsonLine(item);
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
      await nextSlice();
    }
    if (piece !== '') yield piece;
    cursor = next === undefined ? undefined : Number(next);
    await nextSlice();
  } while (cursor !== undefined);
}

function jsonLine(item: AuditItem): string {
  return `${JSON.stringify(auditEventView(item))}\n`;
}

function csvLine(item: AuditItem): string {
  return `${COLUMNS.map(([, value]) => csvField(value(item))).join(',')}\r\n`;
}

/** What spreadsheets would take for a formula is made a text. */
function csvField(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
