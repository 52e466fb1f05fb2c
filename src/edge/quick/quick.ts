/**
 * The short way of usual requests: plain ones, which lead to an origin or a bucket and need nothing before it. Everything else goes
 * the general way, with its stages. Both ways decide by the same functions.
 */
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { Channel, Sending } from '../../plain/connections.js';
import type { Answer } from '../cache/answer.js';
import type { EdgeCache } from '../cache/cache.js';
import type { CacheRequest, Lookup } from '../cache/cache-state.js';
import type { CacheResult } from '../cache/cache-status.js';
import { cacheRequestOf } from '../cache/stage.js';
import type { EdgeRequest } from '../exchange/exchange.js';
import type { AnswerQuickly, AnswerStream, ClientSide } from '../listen/front.js';
import type { FindDirect } from '../proxy/answer.js';
import { repeat, repeatedOf } from './hit.js';
import { repeatedOverHttp2, repeatOverHttp2 } from './http2-hit.js';
import { answerObject, type ObjectOptions } from './object.js';
import { type Passing, type PassOptions, passOn, passOnInStream } from './pass.js';

export interface QuickOptions extends PassOptions, ObjectOptions {
  readonly findDirect: FindDirect;
  readonly cache: EdgeCache;
  readonly onResult: (result: CacheResult) => void;
}

interface Asking {
  readonly request: EdgeRequest;
  readonly asked: CacheRequest;
  readonly client: ClientSide;
}

export function createQuickAnswers(options: QuickOptions): {
  readonly answerQuickly: AnswerQuickly;
  readonly answerStream: AnswerStream;
} {
  const { findDirect, cache, stalls } = options;
  const answerStream: AnswerStream = (request, client, stream) => {
    const route = findDirect(request);
    if (!route) return false;
    const asked = cacheRequestOf(request, route);
    const found = cache.look(asked);
    if (!found) return false;
    if ('key' in found) {
      if (route.kind === 'bucket') return false;
      const passing = passingOf(options, { request, route, asked, client }, found);
      if (passing) passOnInStream(options, passing, stream);
      return passing !== undefined;
    }
    const repeated = repeatedOverHttp2(found);
    if (!repeated) return false;
    options.onResult(found.result);
    repeatOverHttp2(repeated, request.ray, { stream, client, stalls });
    return true;
  };
  const answerQuickly: AnswerQuickly = (request, client, channel, isLast) => {
    if (request.method !== 'GET') return undefined;
    const route = findDirect(request);
    if (!route) return undefined;
    const asked = cacheRequestOf(request, route);
    const found = cache.look(asked);
    if (!found) return undefined;
    if (!('key' in found)) return isLast ? undefined : hit(options, { request, asked, client }, channel, found);
    if (route.kind === 'bucket') {
      return isLast ? undefined : answerObject(options, { request, asked, client, route, channel }, found);
    }
    const passing = passingOf(options, { request, route, asked, client }, found);
    return passing && passOn(options, passing, channel, isLast);
  };
  return { answerQuickly, answerStream };
}

function hit(options: QuickOptions, asking: Asking, channel: Channel, found: Answer): Sending | undefined {
  const { request, client } = asking;
  const repeated = repeatedOf(found, channel);
  if (!repeated) return undefined;
  options.onResult(found.result);
  return repeat(repeated, request.ray, { channel, client, stalls: options.stalls });
}

/** Undefined if its origin has to be asked in the general way. */
function passingOf(
  options: QuickOptions,
  asking: Asking & { readonly route: OriginRoute },
  found: Lookup,
): Passing | undefined {
  const planned = options.origins.planner.planNow(asking.route, asking.request.scheme);
  if (!planned || !('plan' in planned) || planned.plan.scheme !== 'http') return undefined;
  const passage = options.cache.pass(found);
  const { request, route, asked, client } = asking;
  // A copy of properties takes longer.
  return passage && { request, route, asked, client, passage, plan: planned.plan };
}
