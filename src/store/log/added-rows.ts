/** What a write has added, as rows: read from its statements, for people. */
import { statementsOf } from '../recording.js';
import type { SqlValue } from '../sql-value.js';

export interface AddedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, SqlValue>>;
}

/** Only of statements that say their columns and give one value for each. */
export function* addedRows(body: Uint8Array): Generator<AddedRow> {
  for (const [sql, values] of statementsOf(body)) {
    const [, table, list = ''] = /^INSERT INTO (\w+)\s*\(([^)]*)\)\s*VALUES/.exec(sql) ?? [];
    if (table === undefined) continue;
    const columns = list.split(',').map((column) => column.trim());
    for (let at = 0; at + columns.length <= values.length; at += columns.length) {
      yield { table, row: Object.fromEntries(columns.map((column, index) => [column, values[at + index]!])) };
    }
  }
}
