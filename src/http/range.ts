/** The ranges of a request (RFC 9110 §14.2). */

import { modifiedAt, type Representation } from './conditions.js';
import { parseHttpDate } from './date.js';

/** Octets from `first` to `last`, both included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const UNIT = /^bytes=/i;
const ONE = /^(\d*)-(\d*)$/;
/** A request for more ranges is treated as an attack (RFC 9110 §17.15). */
const MOST_RANGES = 16;

/**
 * The satisfiable ranges in the requested order. Undefined when the whole body must be sent: there is no range, it is
 * malformed, or the ranges together exceed the body.
 */
export function chooseRanges(
  range: string | undefined,
  ifRange: string | undefined,
  item: Representation,
): readonly Range[] | 'unsatisfiable' | undefined {
  if (range === undefined || (ifRange !== undefined && !isStill(ifRange, item)) || !UNIT.test(range)) return undefined;
  const specifications = range
    .replace(UNIT, '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  if (specifications.length === 0 || specifications.length > MOST_RANGES) return undefined;
  const ranges: Range[] = [];
  for (const text of specifications) {
    const one = readRange(text, item.size);
    if (one === undefined) return undefined;
    if (one !== 'unsatisfiable') ranges.push(one);
  }
  if (ranges.length === 0) return 'unsatisfiable';
  const octets = ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return ranges.length > 1 && octets > item.size ? undefined : ranges;
}

/** Undefined for a malformed range. Imprecise large numbers do no harm, because they only exceed the size. */
function readRange(text: string, size: number): Range | 'unsatisfiable' | undefined {
  const [, first, last] = ONE.exec(text) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const count = Math.min(Number(last), size);
    return count === 0 ? 'unsatisfiable' : { first: size - count, last: size - 1 };
  }
  if (last !== '' && BigInt(last) < BigInt(first)) return undefined;
  if (Number(first) >= size) return 'unsatisfiable';
  return { first: Number(first), last: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** `If-Range`: a strong tag, or the exact date (RFC 9110 §13.1.5). */
function isStill(ifRange: string, item: Representation): boolean {
  const text = ifRange.trim();
  if (text.endsWith('"')) return item.etag !== undefined && !item.hasWeakTag && text === `"${item.etag}"`;
  const date = parseHttpDate(text);
  return date !== undefined && date === modifiedAt(item);
}
