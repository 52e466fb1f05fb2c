/** The ranges a request asks for (RFC 9110 §14.2). */

import { modifiedAt, type Representation } from './conditions.js';
import { parseHttpDate } from './date.js';

/** Octets from `first` to `last`, both included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const UNIT = /^bytes=/i;
const ONE = /^(\d*)-(\d*)$/;
/** A request for more of them is taken for an attack (RFC 9110 §17.15). */
const MOST_RANGES = 16;

/**
 * The ranges that can be satisfied, in the order asked for. Undefined: the whole body is to be sent, because nothing else was
 * asked for, it was not asked for in a way that can be read, or the ranges together would be more than the whole.
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

/** Undefined for what is no range. Digits beyond what a number holds exactly only mean more than there are. */
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
  return text.endsWith('"') ? text === `"${item.etag}"` : parseHttpDate(text) === modifiedAt(item);
}
