/** Compares the rows of two copies of a database. */
import Database from 'better-sqlite3';
import { guard } from '../sqlite-failure.js';

export interface TableDifference {
  readonly table: string;
  /** Number of rows that only one copy has, or that differ. */
  readonly rows: number;
  /** Row numbers of some that both copies have; empty for a table without row numbers. */
  readonly numbers: readonly number[];
}

/** The most row numbers in a difference. */
const MOST_NAMED = 5;

/** Rows that are not compared, by table. */
export type LeftOut = Readonly<Record<string, string>>;

/**
 * Returns the tables whose rows differ in any octet; indexes are not compared. Both copies must have the same schema. `leftOut`:
 * conditions on the row `r`; an empty condition leaves out the whole table.
 */
export function differencesBetween(one: string, other: string, leftOut: LeftOut): readonly TableDifference[] {
  return guard(() => {
    const database = new Database(one, { fileMustExist: true });
    try {
      database.prepare('ATTACH ? AS other').run(other);
      const tables = database
        .prepare("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name")
        .all() as { readonly name: string; readonly wr: number }[];
      return tables.flatMap(({ name, wr }) => {
        if (name === 'sqlite_schema' || leftOut[name] === '') return [];
        const found = compareTable(database, name, wr === 0, leftOut[name]);
        return found.rows === 0 ? [] : [found];
      });
    } finally {
      database.close();
    }
  });
}

function compareTable(
  database: Database.Database,
  table: string,
  hasNumbers: boolean,
  leftOut: string | undefined,
): TableDifference {
  const columns = database.prepare('SELECT name, pk FROM pragma_table_info(?)').all(table) as {
    readonly name: string;
    readonly pk: number;
  }[];
  const keys = hasNumbers ? ['rowid'] : columns.filter(({ pk }) => pk > 0).map(({ name }) => `"${name}"`);
  const kept = leftOut === undefined ? '1' : `NOT (${leftOut})`;
  const joined = `FROM main."${table}" AS r JOIN other."${table}" AS o ON ${keys.map((key) => `r.${key} = o.${key}`).join(' AND ')} WHERE ${kept}`;
  const differ = columns.map(({ name }) => `r."${name}" IS NOT o."${name}" COLLATE BINARY`).join(' OR ');
  const count = (sql: string): number => database.prepare(`SELECT count(*) ${sql}`).pluck().get() as number;
  const both = count(joined);
  const changed = count(`${joined} AND (${differ})`);
  const alone = ['main', 'other'].reduce(
    (sum, schema) => sum + count(`FROM ${schema}."${table}" AS r WHERE ${kept}`) - both,
    0,
  );
  const numbers =
    hasNumbers && changed > 0
      ? database.prepare(`SELECT r.rowid ${joined} AND (${differ}) ORDER BY 1 LIMIT ${MOST_NAMED}`).pluck().all()
      : [];
  return { table, rows: changed + alone, numbers: numbers as number[] };
}
