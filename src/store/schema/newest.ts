/**
 * The schema after all migrations as one text, which the build writes: a new database begins with it, and need not take every
 * step. Where it is missing, or of other migrations, a new database takes the steps.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Store } from '../driver.js';
import type { Migration } from '../migrations/migration.js';
import type { SqlValue } from '../sql-value.js';

export const NEWEST_SCHEMA_FILE = new URL('newest.sql', import.meta.url);

let read: string | undefined;

function readText(): string {
  read ??= existsSync(NEWEST_SCHEMA_FILE) ? readFileSync(NEWEST_SCHEMA_FILE, 'utf8') : '';
  return read;
}

/**
 * The text of the build, if it is that of these migrations, and whole: of half of it, a database would be made that lacks tables and
 * says that it has them.
 */
export function newestSchema(migrations: readonly Migration[], text = readText()): string | undefined {
  const begin = text.indexOf('\n') + 1;
  return text.slice(0, begin) === markOf(migrations, text.slice(begin)) ? text : undefined;
}

/** The text for a database that has taken the steps, and in which nothing else was written. */
export function printSchema(store: Store, migrations: readonly Migration[]): string {
  const made = store
    .prepareTuples<[], [type: string, name: string, sql: string]>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
    )
    .all();
  const tables = made.filter(([type]) => type === 'table');
  // Rows come before the triggers that would answer to them.
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

/** A comment that says which migrations and which text follow. */
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
