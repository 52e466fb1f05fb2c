/**
 * The columns of a table, declared once: the type of a row, and the lists of names, parameters and values in statements, come from
 * the declaration. And statements as functions of the store and their values, prepared for each handle on first use:
 * `export const findPool = oneRow<[seq: number], PoolRow>('SELECT …');`.
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
const settings = perStore(() => new Map<string, Statement<SqlValue[], unknown>>());

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
  let update = settings(store).get(text);
  if (!update) {
    update = store.prepare<SqlValue[]>(text);
    settings(store).set(text, update);
  }
  update.run(...(Object.values(change) as SqlValue[]), value);
}

type Values = readonly SqlValue[];
type Query<Params extends Values, Result> = (store: Store, ...values: Params) => Result;

/** A row; undefined: there is none. */
export function oneRow<Params extends Values, Row>(sql: string): Query<Params, Row | undefined> {
  const statement = perStore((store) => store.prepare<Params, Row>(sql));
  return (store, ...values) => statement(store).get(...values);
}

export function allRows<Params extends Values, Row>(sql: string): Query<Params, Row[]> {
  const statement = perStore((store) => store.prepare<Params, Row>(sql));
  return (store, ...values) => statement(store).all(...values);
}

/** Rows as arrays of their columns. */
export function allTuples<Params extends Values, Row>(sql: string): Query<Params, Row[]> {
  const statement = perStore((store) => store.prepareTuples<Params, Row>(sql));
  return (store, ...values) => statement(store).all(...values);
}

/** The first column of the row that there always is, such as that of a count. */
export function theValue<Params extends Values, Value>(sql: string): Query<Params, Value> {
  const statement = perStore((store) => store.prepareTuples<Params, readonly [Value]>(sql));
  return (store, ...values) => statement(store).get(...values)![0];
}

/** The first column of a row; undefined: there is none. */
export function valueIfAny<Params extends Values, Value>(sql: string): Query<Params, Value | undefined> {
  const statement = perStore((store) => store.prepareTuples<Params, readonly [Value]>(sql));
  return (store, ...values) => statement(store).get(...values)?.[0];
}

/** The first column of a row; 0 where there is no row, or nothing in it. */
export function valueOrZero<Params extends Values>(sql: string): Query<Params, number> {
  const statement = perStore((store) => store.prepareTuples<Params, readonly [number | null]>(sql));
  return (store, ...values) => statement(store).get(...values)?.[0] ?? 0;
}

/** Whether there is a row. */
export function hasRow<Params extends Values>(sql: string): Query<Params, boolean> {
  const statement = perStore((store) => store.prepareTuples<Params>(sql));
  return (store, ...values) => statement(store).get(...values) !== undefined;
}

/** Writes. */
export function runs<Params extends Values>(sql: string): Query<Params, void> {
  const statement = perStore((store) => store.prepare<Params>(sql));
  return (store, ...values) => void statement(store).run(...values);
}

/** Writes, and says how many rows that changed. */
export function changes<Params extends Values>(sql: string): Query<Params, number> {
  const statement = perStore((store) => store.prepare<Params>(sql));
  return (store, ...values) => statement(store).run(...values).changes;
}

/** Writes, and says whether that changed anything. */
export function changesAny<Params extends Values>(sql: string): Query<Params, boolean> {
  const statement = changes<Params>(sql);
  return (store, ...values) => statement(store, ...values) > 0;
}

export function inserts<Row>(table: string, columns: Columns<Row>): (store: Store, row: Row) => void {
  const statement = perStore((store) => store.prepare<SqlValue[]>(insertion(table, columns)));
  return (store, row) => void statement(store).run(...columns.values(row));
}

/** Inserts what an account has: `values` are its owner's. `now`: microseconds since 1970. */
export function insertsOwned<Owned extends object>(
  table: string,
  columns: Columns<Owned & { readonly id: Uint8Array; account: number; created_at: number; modified_at: number }>,
): (store: Store, id: Uint8Array, account: number, values: Owned, now: number) => void {
  const insert = inserts(table, columns);
  return (store, id, account, values, now) =>
    insert(store, { id, account, ...values, created_at: now, modified_at: now });
}

/** Changes a row, and when it was changed. `now`: microseconds since 1970. */
export function updates<Changed>(
  table: string,
  columns: Columns<Changed>,
): (store: Store, seq: number, values: Changed, now: number) => void {
  const sql = `UPDATE ${table} SET ${columns.assignments}, modified_at = ? WHERE seq = ?`;
  const statement = perStore((store) => store.prepare<SqlValue[]>(sql));
  return (store, seq, values, now) => void statement(store).run(...columns.values(values), now, seq);
}
