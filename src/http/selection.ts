/** How to answer a GET or HEAD: preconditions first, then ranges (RFC 9110 §13.2.1, §14.2). Pure. */
import { type Conditions, judgeRead, type Representation } from './conditions.js';
import { chooseRanges, type Range } from './range.js';

/** The relevant header fields as received. */
export interface SelectionHeaders extends Conditions {
  readonly range?: string | undefined;
  readonly 'if-range'?: string | string[] | undefined;
}

/** `ranges`: the parts to send in the requested order; empty for the whole representation. */
export type Selection =
  | { readonly status: 200; readonly ranges: readonly [] }
  | { readonly status: 206; readonly ranges: readonly [Range, ...Range[]] }
  | { readonly status: 304 | 412 | 416; readonly ranges: readonly [] };

const NONE = [] as const;

/** Chooses the status and the parts. A HEAD request has no ranges (RFC 9110 §14.2). */
export function selectParts(method: string, headers: SelectionHeaders, item: Representation): Selection {
  const verdict = judgeRead(headers, item);
  if (verdict === 'failed') return { status: 412, ranges: NONE };
  if (verdict === 'not-modified') return { status: 304, ranges: NONE };
  const ifRange = headers['if-range'];
  const ranges =
    method === 'HEAD'
      ? undefined
      : chooseRanges(headers.range, ifRange === undefined ? ifRange : String(ifRange), item);
  if (ranges === 'unsatisfiable') return { status: 416, ranges: NONE };
  const [first, ...others] = ranges ?? NONE;
  return first === undefined ? { status: 200, ranges: NONE } : { status: 206, ranges: [first, ...others] };
}

/** Header fields that a 304 repeats (RFC 9110 §15.4.5). */
const KEPT_WHEN_NOT_MODIFIED = new Set([
  'date',
  'etag',
  'last-modified',
  'cache-control',
  'expires',
  'vary',
  'content-location',
]);

/** The header fields of a 304, selected from those of a 200. */
export function notModifiedHeaders<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => KEPT_WHEN_NOT_MODIFIED.has(name)));
}
