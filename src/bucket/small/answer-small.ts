/** Answers plain requests with small objects at once: the whole of one, a part, or 304. */
import { notModifiedHeaders, type SelectionHeaders, selectParts } from '../../http/selection.js';
import { printFieldLines } from '../../plain/field-lines.js';
import type { WholeResponse } from '../../plain/whole-response.js';
import type { ObjectItem, SmallObject } from '../object-store.js';

/** What was answered. */
export interface Answered {
  readonly status: number;
  /** Octets of the body. */
  readonly sent: number;
}

export interface SmallRequest {
  readonly method: 'GET' | 'HEAD';
  /** The method whose rules for ranges hold; that of the request unless it is given. */
  readonly answers?: 'GET';
  readonly fields: SelectionHeaders;
}

/**
 * `more`: makes further field lines once all else allows an answer here; it returns undefined if the request is not answered here after
 * all. Returns undefined for a request that is not answered here.
 */
export type AnswerSmall = (
  object: SmallObject,
  request: SmallRequest,
  response: WholeResponse,
  more?: () => string | undefined,
) => Answered | undefined;

/** `fieldsOf`: the fields of an answer except its length, printed once for each object. `always`: fields of a 304, too. */
export function createSmallAnswers(
  fieldsOf: (item: ObjectItem) => Record<string, string>,
  always: Readonly<Record<string, string>> = {},
): AnswerSmall {
  const printed = new WeakMap<SmallObject, string>();
  const linesOf = (object: SmallObject): string => {
    let lines = printed.get(object);
    if (lines === undefined)
      printed.set(object, (lines = printFieldLines(Object.entries(fieldsOf(object.item)).flat())));
    return lines;
  };
  return (object, { method, answers = method, fields }, response, moreLines = () => '') => {
    const { item, octets } = object;
    const { status, ranges } = selectParts(answers, fields, item);
    if (status === 412 || status === 416 || ranges.length > 1) return undefined;
    const more = moreLines();
    if (more === undefined) return undefined;
    if (status === 304) {
      const kept = { ...always, ...notModifiedHeaders(fieldsOf(item)) };
      response.send(304, more + printFieldLines(Object.entries(kept).flat()), undefined);
      return { status, sent: 0 };
    }
    const { first, last } = ranges[0] ?? { first: 0, last: item.size - 1 };
    const length = last - first + 1;
    const range = ranges[0] ? `content-range: bytes ${first}-${last}/${item.size}\r\n` : '';
    const body = ranges[0] ? octets.subarray(first, last + 1) : octets;
    response.send(status, `${linesOf(object)}${more}${range}content-length: ${length}\r\n`, body);
    return { status, sent: method === 'HEAD' ? 0 : length };
  };
}
