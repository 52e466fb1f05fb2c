/** Asks the origin, stores its response, and lets other requests wait for it. */
import { steadyMs } from '../../base/clock.js';
import { type Answer, answerGrowing, answerPassed, answerStored } from './answer.js';
import {
  type CacheState,
  exchangeSince,
  type Fill,
  type FillResult,
  type Forward,
  itemOf,
  type Lookup,
} from './cache-state.js';
import type { CacheNotes, CacheResult } from './cache-status.js';
import type { Exchange } from './freshness.js';
import { type OriginResponse, OriginSilent, promisedLength } from './origin-response.js';
import { joined, pump } from './pump.js';
import {
  answers,
  freshen,
  mayReplaceError,
  mayReplaceSilence,
  type StoredResponse,
  storedHead,
  withBody,
} from './stored-response.js';
import { judgeStoring, type StoringDecision } from './storing.js';
import { isWholeRange, validatingRequest, wholeRequest } from './validation.js';

/** After a response that could not be stored, requests for its key do not wait for each other for this long. */
const NOT_STORED_MS = 60_000;
/** Statuses that a stale response may replace (RFC 5861 §4). */
const ERRORS: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Answers with the response to another request; undefined if that response does not fit this one. */
export async function joinFill(
  cache: CacheState,
  lookup: Lookup,
  forward: Forward,
  fill: Fill,
): Promise<Answer | undefined> {
  const { request, always } = lookup;
  if (cache.purged.isPurged({ ...itemOf(lookup), tags: [] }, fill.purgesSeen)) return undefined;
  waitFor(cache, forward, fill);
  const result = await inTime(cache, fill);
  if (result) cache.awaited.delete(forward);
  // Its origin stands still: this request asks for itself.
  else leaveFill(cache, forward);
  if (!result || result.kind === 'alone' || fill.isOutdated) return undefined;
  const head = result.kind === 'growing' ? result.head : result.stored;
  if (cache.purged.isPurged(head.item, fill.purgesSeen) || !answers(head, request.fields, always)) return undefined;
  const nowMs = steadyMs(cache.clock);
  const notes: CacheNotes = { result: lookup.stored ? 'EXPIRED' : 'MISS', isCollapsed: true };
  if (result.kind === 'stored') return answerStored(result.stored, request, notes, nowMs);
  const { length, body } = result;
  return body.isKept ? answerGrowing(head, length, body, request, notes, nowMs) : undefined;
}

/** The longest wait for something of a response that another request has asked for, milliseconds. */
const WAIT_MS = 5000;

/** Whether nothing of the response came for so long that others no longer wait for it. */
export function isStalled({ clock }: CacheState, fill: Fill): boolean {
  return steadyMs(clock) - fill.lastMs >= WAIT_MS;
}

/** Undefined: nothing came in time. */
function inTime({ clock }: CacheState, fill: Fill): Promise<FillResult | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.after(WAIT_MS, () => resolve(undefined));
    void fill.result.then((result) => {
      cancel();
      resolve(result);
    });
  });
}

function waitFor({ awaited }: CacheState, forward: Forward, fill: Fill): void {
  fill.waiting++;
  awaited.set(forward, fill);
}

/** The last client that leaves ends the request to the origin; {@link EdgeCache.leave}. */
export function leaveFill({ awaited }: CacheState, forward: Forward): boolean {
  const fill = awaited.get(forward);
  if (!fill) return false;
  awaited.delete(forward);
  if (--fill.waiting === 0) fill.stop();
  return true;
}

/** One exchange with the origin, and what it means for the cache. */
interface Received {
  readonly response: OriginResponse;
  readonly exchange: Exchange;
  readonly fill: Fill;
  readonly settle: (result: FillResult) => void;
}

/** A request to the origin that is under way and whose response may be stored. */
export interface OpenFill {
  readonly fill: Fill;
  readonly sentMs: number;
  readonly settle: (result: FillResult) => void;
  /** Call when the response has ended or none will come. */
  readonly end: () => void;
}

/** `since`: what is known of its request, which was sent before. */
export function openFill(
  cache: CacheState,
  { key, always }: Lookup,
  isShared: boolean,
  { sentMs, purgesSeen, isOutdated }: Sent = sentNow(cache),
): OpenFill {
  const { promise: result, resolve: settle } = isShared ? Promise.withResolvers<FillResult>() : ALONE;
  const fill: Fill = {
    always,
    isShared,
    purgesSeen,
    lastMs: sentMs,
    result,
    isOutdated,
    waiting: 0,
    stop() {},
  };
  const fills = cache.fills.get(key) ?? new Set();
  cache.fills.set(key, fills.add(fill));
  const end = (): void => {
    settle({ kind: 'alone' });
    fills.delete(fill);
    if (fills.size === 0 && cache.fills.get(key) === fills) cache.fills.delete(key);
  };
  return { fill, sentMs, settle, end };
}

/** When a request was sent, and what has happened since. */
export interface Sent extends Pick<Fill, 'purgesSeen' | 'isOutdated'> {
  /** Steady milliseconds. */
  readonly sentMs: number;
}

function sentNow({ clock, purged }: CacheState): Sent {
  return { sentMs: steadyMs(clock), purgesSeen: purged.lastSeq(), isOutdated: false };
}

/** Stands in for the promise of a fill that no other request waits for. */
const ALONE: Pick<PromiseWithResolvers<FillResult>, 'promise' | 'resolve'> = {
  promise: Promise.resolve({ kind: 'alone' }),
  resolve() {},
};

/** Sends the request and answers with the response. Rejects as `forward` does, unless a stored response may be used instead. */
export async function fillCache(
  cache: CacheState,
  lookup: Lookup,
  forward: Forward,
  isShared: boolean,
): Promise<Answer> {
  const { request, stored } = lookup;
  const open = openFill(cache, lookup, isShared);
  const { fill } = open;
  try {
    const sent = forward(originRequest(lookup));
    fill.stop = sent.stop;
    waitFor(cache, forward, fill);
    const response = await sent.response;
    cache.awaited.delete(forward);
    return receive(cache, lookup, open, response);
  } catch (error) {
    cache.awaited.delete(forward);
    open.end();
    const nowMs = steadyMs(cache.clock);
    if (!(stored && error instanceof OriginSilent && mayReplaceSilence(stored, nowMs))) throw error;
    return answerStored(stored, request, { result: 'STALE' }, nowMs);
  }
}

/** Answers with the response of the origin, and stores it if that is allowed. */
export function receive(cache: CacheState, lookup: Lookup, open: OpenFill, response: OriginResponse): Answer {
  const { fill, sentMs, settle, end } = open;
  fill.lastMs = steadyMs(cache.clock);
  const received = { response, exchange: exchangeSince(cache, sentMs), fill, settle };
  const { answer, isComplete } = judge(cache, lookup, received);
  void isComplete.then(end);
  return answer;
}

/** The client's request if it asks for a part; otherwise a request for the whole, with validators if a response is stored. */
export function originRequest({ request: { fields }, stored }: Lookup): Lookup['request']['fields'] {
  const isPart = fields['range'] !== undefined && !isWholeRange(fields);
  if (isPart) return fields;
  if (stored) return validatingRequest(fields, stored);
  return isWholeRange(fields) ? wholeRequest(fields) : fields;
}

interface Outcome {
  readonly answer: Answer;
  /** Resolves when the response has ended. */
  readonly isComplete: Promise<unknown>;
}

const COMPLETE = Promise.resolve();

function judge(cache: CacheState, lookup: Lookup, received: Received): Outcome {
  const { request, key, stored } = lookup;
  const { response, exchange, fill, settle } = received;
  const nowMs = exchange.receivedMs;
  const forwardedStatus = response.status;
  if (stored && response.status === 304 && isOwnValidation(lookup)) {
    response.body?.discard();
    const fresh = freshen(stored, response.fields, exchange, fill.purgesSeen);
    if (isStillTrue(cache, fill, fresh)) cache.responses.replace(request.account, key, stored, fresh);
    settle({ kind: 'stored', stored: fresh });
    return {
      answer: answerStored(fresh, request, { result: 'REVALIDATED', forwardedStatus }, nowMs),
      isComplete: COMPLETE,
    };
  }
  if (stored && ERRORS.has(response.status) && mayReplaceError(stored, nowMs)) {
    response.body?.discard();
    return { answer: answerStored(stored, request, { result: 'STALE', forwardedStatus }, nowMs), isComplete: COMPLETE };
  }
  const decision = judgeStoring(request.fields, response, lookup.eligibility, exchange);
  const isKept =
    decision.isStored &&
    (response.showsItsEnd || !response.body) &&
    (promisedLength(response.fields) ?? 0) <= cache.maxObjectOctets;
  if (decision.isStored && isKept) return keep(cache, lookup, received, decision);
  return { answer: passOn(cache, lookup, response, decision), isComplete: COMPLETE };
}

/** Whether a 304 answers the cache's own conditions rather than the client's. */
function isOwnValidation({ request: { fields } }: Lookup): boolean {
  return fields['range'] === undefined || isWholeRange(fields);
}

/** Answers with a response that is not stored. */
function passOn(cache: CacheState, lookup: Lookup, response: OriginResponse, decision: StoringDecision): Answer {
  const { request, key, stored, eligibility } = lookup;
  const isPartial = response.status === 206 || response.status === 304 || response.status === 416;
  if (!isPartial && !ERRORS.has(response.status)) {
    // The origin no longer answers with the stored response.
    if (stored) cache.responses.remove(request.account, key, stored);
    if (eligibility !== 'opt-in') cache.notStored.set(request.account, key, steadyMs(cache.clock) + NOT_STORED_MS);
  }
  const isForbidden = !isPartial && !decision.isStored && decision.refusal === 'forbidden';
  const unkept: CacheResult = stored ? 'EXPIRED' : 'MISS';
  const result: CacheResult = eligibility === 'opt-in' && !stored ? 'DYNAMIC' : isForbidden ? 'BYPASS' : unkept;
  return answerPassed(response, { result });
}

/** Answers with a response while it is being stored. */
function keep(
  cache: CacheState,
  lookup: Lookup,
  { response, exchange, fill, settle }: Received,
  decision: StoringDecision & { readonly isStored: true },
): Outcome {
  const { request, key, always, stored } = lookup;
  const { directives, lifetimeS, selecting } = decision;
  const { status, fields } = response;
  const head = storedHead({
    item: itemOf(lookup),
    purgesSeen: fill.purgesSeen,
    always,
    status,
    fields,
    directives,
    lifetimeS,
    selecting,
    exchange,
  });
  const notes: CacheNotes = { result: stored ? 'EXPIRED' : 'MISS', forwardedStatus: status, isStored: true };
  const store = (body: readonly Uint8Array[], size: number): void => {
    const whole = withBody(head, joined(body, size), size);
    if (!isStillTrue(cache, fill, whole)) return;
    if (stored) cache.responses.remove(request.account, key, stored);
    cache.responses.put(request.account, key, whole);
    cache.notStored.delete(key);
  };
  const nowMs = exchange.receivedMs;
  if (!response.body) {
    store([], 0);
    const whole = withBody(head, [], 0);
    settle({ kind: 'stored', stored: whole });
    return {
      answer: withWithheld(answerStored(whole, request, notes, nowMs), response, decision),
      isComplete: COMPLETE,
    };
  }
  const length = promisedLength(fields);
  const { body, isWhole } = pump({
    source: response.body.open(),
    length,
    maxOctets: cache.maxObjectOctets,
    ...{ memory: cache.filling, account: request.account },
    onPiece: () => (fill.lastMs = steadyMs(cache.clock)),
  });
  settle({ kind: 'growing', head, length, body });
  const answer = answerGrowing(head, length, body, request, notes, nowMs);
  const isComplete = isWhole.then((whole) => {
    if (whole) store(body.chunks, body.size);
  });
  return { answer: withWithheld(answer, response, decision), isComplete };
}

function isStillTrue(cache: CacheState, fill: Fill, { item }: StoredResponse): boolean {
  return !fill.isOutdated && !cache.purged.isPurged(item, fill.purgesSeen);
}

/** Fields that are not stored are still sent to the client whose request they answer. */
function withWithheld(
  answer: Answer,
  response: OriginResponse,
  { directives }: StoringDecision & { isStored: true },
): Answer {
  for (const name of directives.withheld) {
    const value = response.fields[name];
    if (value !== undefined && answer.status !== 304) answer.fields[name] = value;
  }
  return answer;
}
