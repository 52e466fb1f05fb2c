/** Filters of reports: `queryType==AAAA;responseCode!=NOERROR`, where `,` or ` OR ` mean or, and `;` or ` AND ` mean and. */
import { DIMENSIONS, type Dimension, type Values } from '../../statistics/report.js';
import { failure } from '../errors.js';

export interface Filter {
  readonly dimensions: ReadonlySet<Dimension>;
  readonly isWanted: (values: Values) => boolean;
}

const LONGEST = 2000;
const MOST_TERMS = 50;
const TERM = /^\s*([A-Za-z]+)\s*(==|!=|>=|<=|>|<)\s*(.*?)\s*$/s;
/** Dimensions whose values are numbers, and have an order. */
const ORDERED: readonly Dimension[] = ['tcp', 'ipVersion', 'dayOfWeek'];

/** Throws 400 for what it does not understand. */
export function parseFilters(text: string | undefined): Filter {
  if (text === undefined) return { dimensions: new Set(), isWanted: () => true };
  if (text.length > LONGEST) throw wrong(`at most ${LONGEST} characters`);
  const alternatives = text.split(/,|\s+OR\s+/).map((part) => part.split(/;|\s+AND\s+/).map(parseTerm));
  const terms = alternatives.flat();
  if (terms.length > MOST_TERMS) throw wrong(`at most ${MOST_TERMS} conditions`);
  return {
    dimensions: new Set(terms.map(({ dimension }) => dimension)),
    isWanted: (values) => alternatives.some((all) => all.every(({ holds }) => holds(values))),
  };
}

function parseTerm(text: string): { readonly dimension: Dimension; readonly holds: (values: Values) => boolean } {
  const [, name, operator, expected = ''] = TERM.exec(text) ?? [];
  if (name === undefined) throw wrong('conditions such as queryType==AAAA, joined by ; (and) or , (or)');
  const dimension = DIMENSIONS.find((one) => one === name);
  if (dimension === undefined) throw wrong(`conditions about ${DIMENSIONS.join(', ')}, not ${name.slice(0, 50)}`);
  const value = normal(dimension, expected);
  const textOf = (values: Values): string => normal(dimension, values[dimension] ?? '');
  if (operator === '==') return { dimension, holds: (values) => textOf(values) === value };
  if (operator === '!=') return { dimension, holds: (values) => textOf(values) !== value };
  if (!ORDERED.includes(dimension)) throw wrong(`== or != for ${dimension}`);
  if (!/^\d{1,3}$/.test(value)) throw wrong(`a whole number behind ${operator}`);
  const limit = Number(value);
  return {
    dimension,
    holds: (values) => {
      const text = textOf(values);
      return text !== '' && compares(Number(text), operator!, limit);
    },
  };
}

function compares(value: number, operator: string, limit: number): boolean {
  switch (operator) {
    case '>':
      return value > limit;
    case '<':
      return value < limit;
    case '>=':
      return value >= limit;
    default:
      return value <= limit;
  }
}

/** Names, types and codes are the same in any case. */
function normal(dimension: Dimension, text: string): string {
  const lower = text.toLowerCase();
  return dimension === 'queryName' ? lower.replace(/\.$/, '') : lower;
}

function wrong(expected: string): Error {
  return failure('badParameter', { name: 'filters', expected });
}
