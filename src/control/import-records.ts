/** Use case: the records of a BIND file are added to an existing zone, all or nothing (v4: §7.3). */
import type { Context } from './context.js';

export interface RecordImportResult {
  readonly added: number;
  /** Records read, those left out counted too. */
  readonly parsed: number;
  /** Records left out because they exist already (at most 100). */
  readonly skipped: readonly string[];
}

/** Adds records to a zone. SOA and apex NS are read and left out. Throws with the line at fault. */
export async function importRecords(
  _ctx: Context,
  _zoneId: string,
  _text: string,
  _options: { readonly proxied?: boolean },
): Promise<RecordImportResult> {
  throw new Error('not yet');
}
