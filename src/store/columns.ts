/**
 * The columns of a table, declared once: the type of a row, and the lists of names, parameters and values in statements, come from
 * the declaration.
 */
import { invariant } from '../base/errors.js';
import { perStore, type Store } from './driver.js';
import type { SqlValue } from './sql-value.js';
import type { Statement } from './statement.js';

/** A column with values of this type. */
export interface Column<Value> {
  /** Never there; it keeps the type. */
  readonly value?: Value;
}

export function column<Value extends SqlValue>(): Column<Value> {
  return {};
}

type Shape = Readonly<Record<string, Column<SqlValue>>>;
type RowOfShape<S extends Shape> = { readonly [Name in keyof S]: S[Name] extends Column<infer Value> ? Value : never };

export interface Columns<Row> {
  /** `a, b` */
  readonly list: string;
  /** `?, ?` */
  readonly marks: string;
  /** `a = ?, b = ?` */
  readonly assignments: string;
  /** The values of a row in this order. */
  values(row: Row): SqlValue[];
  /** These columns alone, in this order. */
  only<Name extends keyof Row & string>(...names: Name[]): Columns<Pick<Row, Name>>;
  without<Name extends keyof Row & string>(...names: Name[]): Columns<Omit<Row, Name>>;
}

/** A row with these columns. */
export type RowOf<C> = C extends Columns<infer Row> ? Row : never;

export function columns<S extends Shape>(shape: S): Columns<RowOfShape<S>> {
  return named(Object.keys(shape));
}

function named<Row>(names: readonly string[]): Columns<Row> {
  for (const name of names) invariant(/^[a-z0-9_]+$/.test(name), 'columns have plain names');
  const ofRow = names.map((name) => `row.${name}`).join(', ');
  return {
    list: names.join(', '),
    marks: names.map(() => '?').join(', '),
    assignments: names.map((name) => `${name} = ?`).join(', '),
    values: compiled(['row'], `[${ofRow}]`),
    only: (...some) => named(some),
    without: (...some) => named(names.filter((name) => !(some as readonly string[]).includes(name))),
  };
}

/** Compiled, because a loop over names takes ten times as long as reading members. */
function compiled<Compiled>(parameters: readonly string[], value: string): Compiled {
  return new Function(...parameters, `return ${value};`) as Compiled;
}

/** A statement that inserts so many rows with these columns. */
export function insertion<Row>(table: string, { list, marks }: Columns<Row>, rows = 1): string {
  return `INSERT INTO ${table} (${list}) VALUES ${Array(rows).fill(`(${marks})`).join(', ')}`;
}

/** Statements by what they set; use cases set few combinations. */
const updates = perStore(() => new Map<string, Statement<SqlValue[], unknown>>());

/**
 * Sets columns of the row with this key. Their names come from the type of the change, never from input. `also`: a further
 * assignment.
 */
export function setColumns(
  store: Store,
  [table, key]: readonly [table: string, key: string],
  value: SqlValue,
  change: object,
  also?: string,
): void {
  const assignments = [...Object.keys(change).map((name) => `${name} = ?`), ...(also ? [also] : [])].join(', ');
  if (assignments === (also ?? '')) return;
  const text = `UPDATE ${table} SET ${assignments} WHERE ${key} = ?`;
  let update = updates(store).get(text);
  if (!update) {
    update = store.prepare<SqlValue[]>(text);
    updates(store).set(text, update);
  }
  update.run(...(Object.values(change) as SqlValue[]), value);
}
