/**
 * Statements as functions of the store and their values: `export const findPool = oneRow<[seq: number], PoolRow>('SELECT …');`. Each
 * is prepared for each handle on first use.
 */
import { perStore, type Store } from './driver.js';
import type { SqlValue } from './sql-value.js';

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
