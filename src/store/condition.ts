/**
 * Conditions of lists as SQL. Texts are compared without regard to case: plain ASCII by SQLite, other text by
 * JavaScript.
 */
import { perStore, type SqlValue } from './driver.js';

export type TextOperator = 'exact' | 'contains' | 'startswith' | 'endswith';

/** One condition of a list with the values for its placeholders. */
export interface Condition {
  readonly sql: string;
  readonly params: readonly SqlValue[];
  /** An index of the zone's records can find the matches. */
  readonly indexed?: boolean;
}

/** Registers the functions that {@link matchText} uses, once for each handle. */
export const defineTextFunctions = perStore((store) => {
  store.defineFunction('fold', (text) => (text === null ? null : String(text).toLowerCase()));
  return true;
});

/** Joins conditions of which all, or any, must hold. */
export function joinConditions(match: 'all' | 'any', conditions: readonly Condition[]): Condition {
  const word = match === 'all' ? ' AND ' : ' OR ';
  const isIndexed = ({ indexed = false }: Condition): boolean => indexed;
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(word),
    params: conditions.flatMap(({ params }) => params),
    indexed: match === 'all' ? conditions.some(isIndexed) : conditions.every(isIndexed),
  };
}

const NEVER: Condition = { sql: '0', params: [], indexed: true };

/** Matches nothing. */
export function matchNothing(): Condition {
  return NEVER;
}

/** Matches a column that equals one of the values; no values match nothing. */
export function matchAnyOf(column: string, values: readonly SqlValue[]): Condition {
  return { sql: `${column} IN (${values.map(() => '?').join(', ')})`, params: values };
}

/**
 * The largest number of identifiers that become one statement parameter each, so that an index may be used; SQLite
 * accepts 32,766 parameters.
 */
const FEW_IDS = 500;

/** Matches any of these identifiers; the number is not limited. */
export function matchIds(column: string, ids: readonly Uint8Array[]): Condition {
  if (ids.length <= FEW_IDS) return { sql: `${column} IN (${ids.map(() => '?').join(', ')})`, params: ids };
  const list = JSON.stringify(ids.map((id) => Buffer.from(id).toString('hex').toUpperCase()));
  return { sql: `hex(${column}) IN (SELECT value FROM json_each(?))`, params: [list] };
}

/** The names of records, and custom hostnames: compared as they are, a whole one is found by an index. */
const STORED_IN_LOWER_CASE: ReadonlySet<string> = new Set(['name', 'hostname']);

/** Matches a text column or expression. */
export function matchText(expression: string, operator: TextOperator, value: string): Condition {
  const needle = value.toLowerCase();
  const isFolded = STORED_IN_LOWER_CASE.has(expression);
  const folded = isFolded ? expression : /^[\0-\x7f]*$/.test(needle) ? `lower(${expression})` : `fold(${expression})`;
  switch (operator) {
    case 'exact':
      return { sql: `${folded} = ?`, params: [needle] };
    case 'contains':
      return { sql: `instr(${folded}, ?) > 0`, params: [needle] };
    case 'startswith':
      return { sql: `substr(${folded}, 1, length(?)) = ?`, params: [needle, needle] };
    case 'endswith':
      if (needle === '') return { sql: `${expression} IS NOT NULL`, params: [] };
      return { sql: `substr(${folded}, -length(?)) = ?`, params: [needle, needle] };
  }
}
