/**
 * The short way of usual requests: plain ones, which lead to an origin and need nothing before it. Everything else goes the general
 * way, with its stages. Both ways decide by the same functions.
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
import { type PassOptions, passOn } from './pass.js';

export interface QuickOptions extends PassOptions {
  readonly findDirect: FindDirect;
  readonly cache: EdgeCache;
  readonly onResult: (result: CacheResult) => void;
}

interface Asking {
  readonly request: EdgeRequest;
  readonly route: OriginRoute;
  readonly asked: CacheRequest;
  readonly client: ClientSide;
  readonly channel: Channel;
  readonly isLast: boolean;
}

export function createQuickAnswers(options: QuickOptions): {
  readonly answerQuickly: AnswerQuickly;
  readonly answerStream: AnswerStream;
} {
  const { findDirect, cache, stalls } = options;
  const answerStream: AnswerStream = (request, client, stream) => {
    const route = findDirect(request);
    const found = route && cache.look(cacheRequestOf(request, route));
    if (!found || 'key' in found) return false;
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
    const asking = { request, route, asked, client, channel, isLast };
    return 'key' in found ? pass(options, asking, found) : hit(options, asking, found);
  };
  return { answerQuickly, answerStream };
}

function hit(options: QuickOptions, { request, client, channel, isLast }: Asking, found: Answer): Sending | undefined {
  const repeated = isLast ? undefined : repeatedOf(found, channel);
  if (!repeated) return undefined;
  options.onResult(found.result);
  return repeat(repeated, request.ray, { channel, client, stalls: options.stalls });
}

function pass(options: QuickOptions, asking: Asking, found: Lookup): Sending | undefined {
  const planned = options.origins.planner.planNow(asking.route, asking.request.scheme);
  if (!planned || !('plan' in planned) || planned.plan.scheme !== 'http') return undefined;
  const passage = options.cache.pass(found);
  return passage && passOn(options, { ...asking, passage, plan: planned.plan });
}
