/**
 * The schema after all migrations as one text. The build writes it, so that a new database need not run every migration. If the
 * text is missing or belongs to other migrations, a new database runs them all.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Store } from '../driver.js';
import type { SqlValue } from '../sql-value.js';
import type { Migration } from './migration.js';

export const NEWEST_SCHEMA_FILE = new URL('newest.sql', import.meta.url);

let read: string | undefined;

function readText(): string {
  read ??= existsSync(NEWEST_SCHEMA_FILE) ? readFileSync(NEWEST_SCHEMA_FILE, 'utf8') : '';
  return read;
}

/**
 * The text of the build, if it belongs to these migrations and is complete. An incomplete text would make a database that lacks
 * tables and yet claims the newest version.
 */
export function newestSchema(migrations: readonly Migration[], text = readText()): string | undefined {
  const begin = text.indexOf('\n') + 1;
  return text.slice(0, begin) === markOf(migrations, text.slice(begin)) ? text : undefined;
}

/** Makes the text from a database that has run all migrations and contains nothing else. */
export function printSchema(store: Store, migrations: readonly Migration[]): string {
  const made = store
    .prepareTuples<[], [type: string, name: string, sql: string]>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
    )
    .all();
  const tables = made.filter(([type]) => type === 'table');
  // Rows come before the triggers, so that they run none.
  const rows = tables.flatMap(([, name]) =>
    store
      .prepareTuples<[], SqlValue[]>(`SELECT * FROM "${name}"`)
      .all()
      .map((row) => `INSERT INTO "${name}" VALUES (${row.map(printValue).join(', ')})`),
  );
  const others = made.filter(([type]) => type !== 'table');
  const statements = [...tables.map(([, , sql]) => sql), ...rows, ...others.map(([, , sql]) => sql)];
  const text = `${statements.join(';\n')};\n`;
  return markOf(migrations, text) + text;
}

/** A comment with a digest of the migrations and of the text. */
function markOf(migrations: readonly Migration[], text: string): string {
  const digest = createHash('sha256').update(text);
  for (const { version, sql } of migrations) digest.update(`${version}\n${sql}\n`);
  return `-- ${digest.digest('hex')}\n`;
}

function printValue(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : `x'${Buffer.from(value).toString('hex')}'`;
}
