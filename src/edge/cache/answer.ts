/** Builds answers from stored responses: the whole body, a part of it, or a 304 (RFC 9111 §4, RFC 9110 §13 and §14). */
import { Readable } from 'node:stream';
import type { Coding } from '../../http/content-coding.js';
import { fieldValue, type HeaderFields, isStorableField, storableFields } from '../../http/fields.js';
import type { Range } from '../../http/range.js';
import { notModifiedHeaders, type Selection, selectParts } from '../../http/selection.js';
import { encodedHeaders, LEAST_OCTETS, weakTag } from '../compress/compressible.js';
import { type HeaderList, headerFields, headerList } from '../exchange/exchange.js';
import { withBrowserTtl } from './browser-ttl.js';
import { addCacheStatus, type CacheNotes, type CacheResult, printCacheStatus } from './cache-status.js';
import type { Form, Forms } from './forms.js';
import type { GrowingBody } from './growing-body.js';
import type { OriginBody, OriginResponse } from './origin-response.js';
import type { CachePolicy } from './policy.js';
import { currentAge, representationOf, type StoredHead, type StoredResponse } from './stored-response.js';

/** Octets of a piece of a body in memory: it is written at once. */
export const PIECE = 1 << 16;

/** The answer for the client. A stream must be read to its end or destroyed; an origin's body is passed on unchanged. */
export interface Answer {
  readonly status: number;
  readonly fields: Record<string, string | readonly string[]>;
  readonly body: Uint8Array | Readable | OriginBody | undefined;
  readonly result: CacheResult;
  /** The same fields as a frozen list, of answers that are given several times. */
  readonly headers?: HeaderList;
  /** It comes from the origin as it is: it was not stored. */
  readonly isPassed?: true;
  /** It has a body that the client wants in a form which is not there yet. */
  readonly encodable?: Encodable;
}

export interface Encodable {
  readonly forms: Forms;
  readonly coding: Coding;
  /** Octets of the body, if they are known. */
  readonly size: number | undefined;
  /** The body, if it is still arriving. */
  readonly growing?: GrowingBody;
}

/** The parts of a request that answers depend on. */
export interface AnswerRequest {
  readonly method: string;
  readonly fields: HeaderFields;
  readonly coding: Coding | undefined;
  readonly policy: CachePolicy;
}

/** Answers a request with the origin's response, which is not stored. */
export function answerPassed({ status, fields, body }: OriginResponse, notes: CacheNotes): Answer {
  const passed = storableFields(fields);
  addCacheStatus(passed, { forwardedStatus: status, ...notes });
  return { status, fields: passed, body, result: notes.result, isPassed: true };
}

/** Fields that this cache appends to, if the origin sent them. */
export const STATUS_FIELDS: ReadonlySet<string> = new Set(['cache-status', 'cf-cache-status']);

/** The fields of {@link answerPassed} as a list; undefined if appending to the list does not suffice. */
export function passedHeaders(headers: HeaderList, notes: CacheNotes): string[] | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    if (STATUS_FIELDS.has(headers[i]!) || !isStorableField(headers[i]!)) return undefined;
  }
  return [...headers, 'cache-status', printCacheStatus(notes), 'cf-cache-status', notes.result];
}

const WHOLE: Selection = { status: 200, ranges: [] };

/** An answer with a whole stored response, and the seconds for which its fields are true. */
interface Repeated {
  readonly ageS: number;
  readonly ttlS: number;
  readonly policy: Pick<CachePolicy, 'browserTtlS' | 'compresses'>;
  readonly answer: Answer;
}

/** Most requests for a stored response get the same answer as the one before, if that was in the same second. */
const repeated = new WeakMap<StoredResponse | Form, Repeated>();

/** Answers a request from a fresh stored response. */
export function answerHit(stored: StoredResponse, request: AnswerRequest, nowMs: number): Answer {
  const notes: CacheNotes = { result: 'HIT' };
  const coding = codingOf(stored, request, stored.representation.size);
  const form = coding && stored.forms.find(coding);
  const { body, size } = form ?? { body: stored.body, size: stored.representation.size };
  const isOnePiece = body.length === 1 && size <= PIECE;
  const isMade = coding === undefined || form !== undefined;
  if (request.method !== 'GET' || hasConditions(request.fields) || !isOnePiece || !isMade) {
    return answerStored(stored, request, notes, nowMs);
  }
  const age = currentAge(stored, nowMs);
  const [ageS, ttlS] = [Math.floor(age), Math.floor(stored.lifetimeS - age)];
  const { policy } = request;
  const last = repeated.get(form ?? stored);
  if (last && last.ageS === ageS && last.ttlS === ttlS && isSame(last.policy, policy)) return last.answer;
  const made = answerStored(stored, request, notes, nowMs);
  const answer = { ...made, headers: Object.freeze(headerList(made.fields)) };
  repeated.set(form ?? stored, { ageS, ttlS, policy, answer });
  return answer;
}

function isSame(a: Repeated['policy'], b: Repeated['policy']): boolean {
  return a.browserTtlS === b.browserTtlS && a.compresses === b.compresses;
}

/** Whether the body is long enough to be compressed, or may be. */
function isLong(size: number | undefined): boolean {
  return size === undefined || size > LEAST_OCTETS;
}

/** The coding of the answer with a whole response; undefined: the plain form. */
function codingOf(
  { varied, forms }: StoredHead,
  { coding }: AnswerRequest,
  size: number | undefined,
): Coding | undefined {
  if (coding === undefined || !varied || !isLong(size)) return undefined;
  return forms.isUseless(coding) ? undefined : coding;
}

/** Answers a request from a stored response. */
export function answerStored(stored: StoredResponse, request: AnswerRequest, notes: CacheNotes, nowMs: number): Answer {
  const { size } = stored.representation;
  const selection = stored.status === 200 ? select(request, stored) : WHOLE;
  const coding = codingOf(stored, request, size);
  const fields = answerFields(stored, request.policy, size, nowMs);
  const age = currentAge(stored, nowMs);
  addCacheStatus(fields, { ttlS: stored.lifetimeS - age, ...notes });
  const answer = (status: number, range: Range | undefined, extra: Record<string, string>): Answer => ({
    status,
    fields: Object.assign(fields, extra),
    body: request.method === 'HEAD' || (size === 0 && !range) ? undefined : bodyOf(stored.body, range),
    result: notes.result,
  });
  if (selection.status === 304) return notModified(fields, coding, notes);
  if (selection.status === 416) return notSatisfiable(fields, size, notes);
  const [range] = selection.ranges;
  if (range) {
    const { first, last } = range;
    return answer(206, range, {
      'content-range': `bytes ${first}-${last}/${size}`,
      'content-length': `${last - first + 1}`,
    });
  }
  const form = coding && stored.forms.find(coding);
  if (coding && (form || request.method === 'HEAD')) {
    const body = request.method === 'HEAD' ? undefined : bodyOf(form!.body, undefined);
    return { status: stored.status, fields: encodedFields(fields, coding, form?.size), body, result: notes.result };
  }
  // A 204 has no Content-Length (RFC 9110 §8.6).
  const plain = answer(stored.status, undefined, stored.status === 204 ? {} : { 'content-length': `${size}` });
  return coding ? { ...plain, encodable: { forms: stored.forms, coding, size } } : plain;
}

/** The fields of the compressed form of an answer. */
export function encodedFields(fields: Answer['fields'], coding: Coding, size?: number): Answer['fields'] {
  return { ...headerFields(encodedHeaders(headerList(fields), coding, size)) } as Answer['fields'];
}

/** Answers a request with a response that is still arriving. `length`: its octets, if known. */
export function answerGrowing(
  head: StoredHead,
  length: number | undefined,
  growing: GrowingBody,
  request: AnswerRequest,
  notes: CacheNotes,
  nowMs: number,
): Answer {
  const coding = codingOf(head, request, length);
  const fields = answerFields(head, request.policy, length, nowMs);
  // `Age` tells the client that the response was not made for this request (RFC 9111 §5.1).
  if (fields['age'] === '0') delete fields['age'];
  addCacheStatus(fields, notes);
  if (length !== undefined && head.status !== 204) fields['content-length'] = `${length}`;
  const answer = (status: number): Answer => ({ status, fields, body: growing.open(), result: notes.result });
  const whole = (): Answer => {
    const plain = answer(head.status);
    return coding ? { ...plain, encodable: { forms: head.forms, coding, size: length, growing } } : plain;
  };
  if (head.status !== 200 || !hasConditions(request.fields)) return whole();
  const selection = selectParts(request.method, request.fields, representationOf(head, length ?? 0));
  if (selection.status === 304) return notModified(fields, coding, notes);
  if (selection.status === 416 && length !== undefined) return notSatisfiable(fields, length, notes);
  const [range] = length === undefined ? [] : selection.ranges;
  // Only this range waits for the body, because it covers all of it.
  if (!range || range.first > 0 || range.last !== length! - 1) return whole();
  fields['content-range'] = `bytes 0-${range.last}/${length}`;
  return answer(206);
}

function notSatisfiable(fields: Answer['fields'], size: number, { result }: CacheNotes): Answer {
  Object.assign(fields, { 'content-range': `bytes */${size}`, 'content-length': '0' });
  return { status: 416, fields, body: undefined, result };
}

/** `coding`: that in which the client has the response. */
function notModified(fields: Answer['fields'], coding: Coding | undefined, { result }: CacheNotes): Answer {
  const kept = notModifiedHeaders(fields);
  if (coding && typeof kept['etag'] === 'string') kept['etag'] = weakTag(kept['etag']);
  for (const name of ['age', 'cache-status', 'cf-cache-status'])
    if (fields[name] !== undefined) kept[name] = fields[name];
  return { status: 304, fields: kept, body: undefined, result };
}

function answerFields(
  stored: StoredHead,
  { browserTtlS, compresses }: CachePolicy,
  size: number | undefined,
  nowMs: number,
): Answer['fields'] {
  const said = compresses && stored.varied && isLong(size) ? { ...stored, fields: stored.varied } : stored;
  const fields = { ...withBrowserTtl(said, browserTtlS), age: String(Math.floor(currentAge(stored, nowMs))) };
  if (stored.status === 200) (fields as Answer['fields'])['accept-ranges'] ??= 'bytes';
  return fields;
}

function hasConditions(fields: HeaderFields): boolean {
  return (
    fields['range'] !== undefined || fields['if-none-match'] !== undefined || fields['if-modified-since'] !== undefined
  );
}

/** Several ranges are answered with the whole, as RFC 9110 §14.2 lets servers do. */
function select({ method, fields }: AnswerRequest, { representation }: StoredResponse): Selection {
  if (!hasConditions(fields)) return WHOLE;
  const selection = selectParts(
    method,
    {
      'if-none-match': fieldValue(fields, 'if-none-match'),
      'if-modified-since': fieldValue(fields, 'if-modified-since'),
      range: fieldValue(fields, 'range'),
      'if-range': fieldValue(fields, 'if-range'),
    },
    representation,
  );
  return selection.ranges.length > 1 ? WHOLE : selection;
}

/** A small body as octets; a larger one as a stream that waits for its reader. */
function bodyOf(chunks: readonly Uint8Array[], range: Range | undefined): Uint8Array | Readable | undefined {
  const parts = range ? slice(chunks, range) : chunks;
  const isOne = parts.length <= 1 && (parts[0]?.length ?? 0) <= PIECE;
  return isOne ? parts[0] : Readable.from(pieces(parts), { objectMode: false });
}

function* pieces(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE) yield part.subarray(at, at + PIECE);
  }
}

function slice(chunks: readonly Uint8Array[], { first, last }: Range): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start = 0;
  for (const chunk of chunks) {
    const end = start + chunk.length;
    if (end > first && start <= last)
      parts.push(chunk.subarray(Math.max(0, first - start), Math.min(chunk.length, last + 1 - start)));
    start = end;
  }
  return parts;
}
