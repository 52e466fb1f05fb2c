/** The range a request asks for (RFC 9110 §14.2). Several ranges at once are answered with the whole body, which is allowed. */
import { modifiedAt } from './conditions.js';
import { parseHttpDate } from './http-date.js';
import type { ObjectItem } from './object-store.js';

/** Octets from `first` to `last`, both included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const ONE_RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** Undefined: the whole body is to be sent. */
export function chooseRange(
  range: string | undefined,
  ifRange: string | undefined,
  item: ObjectItem,
): Range | 'unsatisfiable' | undefined {
  if (range === undefined || (ifRange !== undefined && !isStill(ifRange, item))) return undefined;
  const [, first, last] = ONE_RANGE.exec(range) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const { size } = item;
  if (first === '') {
    // The last octets. Digits beyond what a number holds exactly only mean more than there are.
    const count = Math.min(Number(last), size);
    return count === 0 ? 'unsatisfiable' : { first: size - count, last: size - 1 };
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return 'unsatisfiable';
  return { first: Number(first), last: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** `If-Range`: a strong tag, or the exact date (RFC 9110 §13.1.5). */
function isStill(ifRange: string, item: ObjectItem): boolean {
  const text = ifRange.trim();
  return text.endsWith('"') ? text === `"${item.etag}"` : parseHttpDate(text) === modifiedAt(item);
}
