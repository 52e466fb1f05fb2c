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
import type { ClientSide } from '../listen/client-side.js';
import type { AnswerStream, AnswersOfConnection } from '../listen/front.js';
import type { FindDirect } from '../proxy/answer.js';
import { repeat, repeatedOf } from './hit.js';
import { repeatedOverHttp2, repeatOverHttp2 } from './http2-hit.js';
import { answerObject, type ObjectOptions } from './object.js';
import { PlainPasser, passOnInStream } from './pass.js';
import type { Passing, PassOptions } from './quick-exchange.js';

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
  readonly answersOf: AnswersOfConnection;
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
      const passing = passingOf(options, request, route, asked, client, found);
      if (passing) passOnInStream(options, client, passing, stream);
      return passing !== undefined;
    }
    const repeated = repeatedOverHttp2(found);
    if (!repeated) return false;
    options.onResult(found.result);
    repeatOverHttp2(repeated, request.ray, { stream, client, stalls });
    return true;
  };
  const answersOf: AnswersOfConnection = (client, channel) => {
    const passer = new PlainPasser(options, client, channel);
    return (request, isLast) => {
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
      const passing = passingOf(options, request, route, asked, client, found);
      return passing && passer.pass(passing, isLast);
    };
  };
  return { answersOf, answerStream };
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
  { origins, cache }: QuickOptions,
  request: EdgeRequest,
  route: OriginRoute,
  asked: CacheRequest,
  { startedMs }: ClientSide,
  found: Lookup,
): Passing | undefined {
  const planned = origins.planner.planNow(route, request.scheme, startedMs);
  if (!planned || !('plan' in planned) || planned.plan.scheme !== 'http') return undefined;
  const passage = cache.pass(found, startedMs);
  return passage && { request, route, asked, passage, plan: planned.plan };
}
