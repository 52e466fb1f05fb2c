/** What a write did, read from its statements to be printed: the rows that it added, and what happened to stored events. */
import { statementsOf } from '../recording.js';
import type { SqlValue } from '../sql-value.js';

export type Done =
  | { readonly kind: 'added'; readonly table: string; readonly row: Readonly<Record<string, SqlValue>> }
  /** A large edit has happened, and with it the events that were stored for it. */
  | { readonly kind: 'happened'; readonly edit: number }
  /** Stored events of one part were removed: the event rows before are these events. */
  | { readonly kind: 'appended'; readonly edit: number; readonly part: number };

/** Only rows of statements that name their columns and give one value for each. */
export function* doneBy(body: Uint8Array): Generator<Done> {
  for (const [sql, values] of statementsOf(body)) {
    const [, table, list = ''] = /^INSERT INTO (\w+)\s*\(([^)]*)\)\s*VALUES/.exec(sql) ?? [];
    const columns = list.split(',').map((column) => column.trim());
    for (let at = 0; table !== undefined && at + columns.length <= values.length; at += columns.length) {
      const row = Object.fromEntries(columns.map((column, index) => [column, values[at + index]!]));
      yield { kind: 'added', table, row };
    }
    if (/^UPDATE zone_edits SET zone = /.test(sql)) yield { kind: 'happened', edit: Number(values.at(-1)) };
    const isAppended = /^DELETE FROM staged_events WHERE edit = \+?\? AND ord = /.test(sql);
    if (isAppended) yield { kind: 'appended', edit: Number(values[0]), part: Number(values[1]) };
  }
}
