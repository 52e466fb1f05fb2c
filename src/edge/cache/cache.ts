/**
 * The HTTP cache of the edge (RFC 9111). It answers from stored responses and sends one request to the origin for all who wait.
 */
import { Readable } from 'node:stream';
import { steadyMs } from '../../base/clock.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import { createMemoryShares } from '../../base/memory-shares.js';
import { inSlices } from '../../base/slices.js';
import { fieldValue, type HeaderFields } from '../../http/fields.js';
import { type Answer, answerHit, answerPassed, answerStored } from './answer.js';
import {
  type CacheOptions,
  type CacheRequest,
  type CacheState,
  exchangeSince,
  type Forward,
  type Lookup,
} from './cache-state.js';
import { encode } from './encode.js';
import { fillCache, isStalled, joinFill, leaveFill, originRequest } from './fill-cache.js';
import { createMemoryStore } from './memory-store.js';
import { OpenPassages } from './open-passages.js';
import { Passage } from './passage.js';
import { bypasses, eligibilityOf, keyTarget } from './policy.js';
import { freshen, type StoredResponse, useOf } from './stored-response.js';
import { isWholeRange } from './validation.js';
import { alwaysSelecting } from './vary.js';

export interface EdgeCache {
  /** Rejects as `forward` does, unless a stored response may be used instead. */
  serve(request: CacheRequest, forward: Forward, found?: Answer | Lookup): Answer | Promise<Answer>;
  /** A fresh answer, or a lookup if nothing can be used at once; undefined if the request bypasses the cache. */
  look(request: CacheRequest): Answer | Lookup | undefined;
  /** The answer in the form that the client wants, if that is not there yet. */
  encoded(request: CacheRequest, network: string, answer: Answer): Answer | Promise<Answer>;
  /** Whether the response is probably for this request alone. */
  passes(found: Lookup): boolean;
  /** A passage if it {@link passes}; otherwise undefined. `nowMs`: steady milliseconds. */
  pass(found: Lookup, nowMs?: number): Passage | undefined;
  /**
   * The client has left before it was answered. True if its request waits for a response that the cache may store; that is asked
   * for as long as any client waits.
   */
  leave(forward: Forward): boolean;
  /** Removes purged responses of a zone, or of all, in slices, so that the purges need not be remembered. */
  sweepPurged(zone: number | undefined): Promise<void>;
  /** Octets of what is stored. */
  octets(): number;
  /** URLs with a stored response. */
  count(): number;
}

const MOST_NOT_STORED = 10_000;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

export function createEdgeCache(options: CacheOptions): EdgeCache {
  const cache: CacheState = {
    ...options,
    responses: createMemoryStore(options.maxOctets),
    filling: createMemoryShares(options.maxOctets),
    fills: new Map(),
    passages: new OpenPassages(),
    awaited: new WeakMap(),
    notStored: new FairCache(MOST_NOT_STORED),
  };
  return {
    serve: (request, forward, found = look(cache, request)) => serve(cache, request, forward, found),
    look: (request) => look(cache, request),
    encoded: (request, network, answer) => encode(cache, { request, network, key: keyOf(request) }, answer),
    passes: (found) => mayPass(cache, found),
    pass: (found, nowMs = steadyMs(cache.clock)) =>
      mayPass(cache, found) ? new Passage(cache, found, nowMs) : undefined,
    leave: (forward) => leaveFill(cache, forward),
    sweepPurged: (zone) => {
      const isGone = (stored: StoredResponse): boolean =>
        (zone === undefined || stored.item.zone === zone) && isPurged(cache, stored);
      return inSlices(cache.clock, cache.responses.sweep(isGone));
    },
    octets: cache.responses.octets,
    count: cache.responses.count,
  };
}

/** A fresh answer, or a lookup if nothing can be used at once; undefined if the request bypasses the cache. */
function look(cache: CacheState, request: CacheRequest): Answer | Lookup | undefined {
  const { method } = request;
  if (!SAFE_METHODS.has(method)) return undefined;
  if (bypasses(request)) return undefined;
  const key = keyOf(request);
  const always = alwaysSelecting(request);
  const stored = find(cache, request, key, always);
  if (stored) {
    const nowMs = steadyMs(cache.clock);
    if (useOf(stored, nowMs) === 'fresh') return answerHit(stored, request, nowMs);
  }
  return { request, key, always, eligibility: eligibilityOf(request), stored };
}

function serve(
  cache: CacheState,
  request: CacheRequest,
  forward: Forward,
  found: Answer | Lookup | undefined,
): Answer | Promise<Answer> {
  const { method } = request;
  if (!found) return SAFE_METHODS.has(method) ? pass(request, forward) : passUnsafe(cache, request, forward);
  if (!('key' in found)) return found;
  const { stored } = found;
  const nowMs = steadyMs(cache.clock);
  if (stored && useOf(stored, nowMs) === 'stale-while-revalidate') {
    if (method === 'GET') validateBehind(cache, found, forward);
    return answerStored(stored, request, { result: 'UPDATING' }, nowMs);
  }
  return method === 'HEAD' ? passHead(cache, found, forward) : ask(cache, found, forward);
}

/** The same for all responses that one purge or one unsafe request concerns. */
function keyOf(request: CacheRequest): string {
  const { zone, scheme, host } = request;
  const target = keyTarget(request);
  if (last.target !== target || last.host !== host || last.zone !== zone || last.scheme !== scheme) {
    last = { zone, scheme, host, target, key: `${zone} ${scheme}://${host}${target}` };
  }
  return last.key;
}

/** Requests in a row are often for the same: their key need not be put together, and read as a whole to find it, again. */
let last = { zone: -1, scheme: '', host: '', target: '', key: '' };

function find(
  cache: CacheState,
  { account, fields }: CacheRequest,
  key: string,
  always: string,
): StoredResponse | undefined {
  for (;;) {
    const stored = cache.responses.find(key, fields, always);
    if (!stored || !isPurged(cache, stored)) return stored;
    cache.responses.remove(account, key, stored);
  }
}

function isPurged({ purged }: CacheState, stored: StoredResponse): boolean {
  const last = purged.lastSeq();
  if (stored.purgesPassed >= last) return false;
  if (purged.isPurged(stored.item, stored.purgesPassed)) return true;
  stored.purgesPassed = last;
  return false;
}

/** Waits for a response that is arriving, or asks the origin. */
async function ask(cache: CacheState, lookup: Lookup, forward: Forward): Promise<Answer> {
  const { key, always } = lookup;
  if (!mayShare(cache, lookup)) return fillCache(cache, lookup, forward, false);
  const running = [...(cache.fills.get(key) ?? [])].find(
    (fill) => fill.isShared && fill.always === always && !fill.isOutdated && !isStalled(cache, fill),
  );
  if (!running) return fillCache(cache, lookup, forward, true);
  return (await joinFill(cache, lookup, forward, running)) ?? fillCache(cache, lookup, forward, false);
}

/** Whether other requests may wait for the response: it can probably be stored, and it is not a part. */
function mayShare(cache: CacheState, { request, key, eligibility }: Lookup): boolean {
  if (eligibility === 'opt-in' && !cache.responses.has(key)) return false;
  if (request.fields['range'] !== undefined && !isWholeRange(request.fields)) return false;
  return (cache.notStored.get(key) ?? 0) <= steadyMs(cache.clock);
}

/** Whether the response is probably for this request alone, so that it can be passed on as it arrives. */
function mayPass(cache: CacheState, lookup: Lookup): boolean {
  const { request, eligibility, stored } = lookup;
  const isDynamic = request.method === 'GET' && eligibility === 'opt-in' && !stored;
  return isDynamic && !mayShare(cache, lookup) && originRequest(lookup) === request.fields;
}

/** Validates a stored response after the client has its answer. A failure changes nothing. */
function validateBehind(cache: CacheState, lookup: Lookup, forward: Forward): void {
  const { key, always } = lookup;
  if ([...(cache.fills.get(key) ?? [])].some((fill) => fill.always === always && !fill.isOutdated)) return;
  fillCache(cache, lookup, forward, true).then(
    ({ body }) => {
      // Reading the body stores it.
      if (body instanceof Readable) body.on('error', () => {}).resume();
      else if (body && 'discard' in body) body.discard();
    },
    () => {},
  );
}

async function pass({ method, fields }: CacheRequest, forward: Forward): Promise<Answer> {
  const isRead = method === 'GET' || method === 'HEAD';
  return answerPassed(await forward(fields).response, { result: isRead ? 'BYPASS' : 'DYNAMIC' });
}

/** A response to HEAD may confirm a stored response or invalidate it (RFC 9111 §4.3.5). */
async function passHead(
  cache: CacheState,
  { request, key, stored, eligibility }: Lookup,
  forward: Forward,
): Promise<Answer> {
  const purgesSeen = cache.purged.lastSeq();
  const sentMs = steadyMs(cache.clock);
  const response = await forward(request.fields).response;
  if (stored && response.status === 200) {
    const exchange = exchangeSince(cache, sentMs);
    const { account } = request;
    if (isSame(stored, response.fields)) {
      const fresh = freshen(stored, response.fields, exchange, purgesSeen);
      cache.responses.replace(account, key, stored, fresh);
    } else cache.responses.remove(account, key, stored);
  }
  return answerPassed(response, { result: stored ? 'EXPIRED' : eligibility === 'opt-in' ? 'DYNAMIC' : 'MISS' });
}

function isSame({ fields, representation }: StoredResponse, head: HeaderFields): boolean {
  const length = fieldValue(head, 'content-length');
  if (length !== undefined && length !== String(representation.size)) return false;
  return ['etag', 'last-modified'].every((name) => fieldValue(head, name) === fieldValue(fields, name));
}

/** A request that may have changed the resource invalidates its stored responses (RFC 9111 §4.4). */
async function passUnsafe(cache: CacheState, request: CacheRequest, forward: Forward): Promise<Answer> {
  const response = await forward(request.fields).response;
  if (response.status >= 200 && response.status < 400) {
    invalidate(cache, request);
    for (const name of ['location', 'content-location']) {
      const target = targetOnHost(request, fieldValue(response.fields, name));
      if (target !== undefined) invalidate(cache, { ...request, target });
    }
  }
  return answerPassed(response, { result: 'DYNAMIC' });
}

/** Path and query of a reference to the host of the request; references to other hosts are ignored. */
function targetOnHost({ scheme, host, target }: CacheRequest, reference: string | undefined): string | undefined {
  const url = reference === undefined ? null : URL.parse(reference, `${scheme}://${host}${target}`);
  const isOwn = url?.hostname === host && url.protocol === `${scheme}:`;
  return isOwn ? url.pathname + url.search : undefined;
}

function invalidate(cache: CacheState, request: CacheRequest): void {
  const key = keyOf(request);
  cache.responses.removeAll(key);
  for (const fill of cache.fills.get(key) ?? []) fill.isOutdated = true;
  cache.passages.outdate(request.zone, key);
}
