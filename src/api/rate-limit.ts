/**
 * Limits the requests of credentials (v4: §1.6): counted by token and by account, and by address for those without a valid
 * credential. What has the permissions of an administrator is not limited, so that the operator can always act.
 */
import rateLimit, { type FastifyRateLimitStore, type FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, steadyMs } from '../base/clock.js';
import { failure } from './errors.js';

const WINDOW_SECONDS = 300;
/** An account has as many requests as so many tokens, however many it has. */
const TOKENS_OF_ACCOUNT = 4;

/** Counts a request and reports the remaining quota to the client. Throws 429/971 when none is left. */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export function registerRateLimit(app: FastifyInstance, clock: Clock): void {
  app.register(rateLimit, { global: false, store: countsBy(clock) });
}

/** Who counts at once; the others begin anew. */
const MOST_COUNTED = 5000;

interface Count {
  current: number;
  readonly endMs: number;
}

/** The package's own counts go by the wall clock: whoever is limited when that is put back by a day stays so for a day. */
function countsBy(clock: Clock): FastifyRateLimitStoreCtor {
  return class Counts implements FastifyRateLimitStore {
    private readonly counts = new Map<string, Count>();

    incr(key: string, tell: Parameters<FastifyRateLimitStore['incr']>[1], timeWindow: number): void {
      const nowMs = steadyMs(clock);
      const known = this.counts.get(key);
      const count = known && known.endMs > nowMs ? known : { current: 0, endMs: nowMs + timeWindow };
      count.current++;
      this.counts.delete(key);
      this.counts.set(key, count);
      if (this.counts.size > MOST_COUNTED) this.counts.delete(this.counts.keys().next().value!);
      tell(null, { current: count.current, ttl: count.endMs - nowMs });
    }

    child(): FastifyRateLimitStore {
      return new Counts();
    }
  };
}

/** Counts requests, `most` of a token in five minutes; 0 = no limit. */
export function requestCounter(app: FastifyInstance, most: number, clock: Clock): CountRequest {
  if (most === 0) return async () => {};
  const counter = (max: number, keyGenerator: (request: FastifyRequest) => string) => {
    const count = app.createRateLimit({ max, timeWindow: WINDOW_SECONDS * 1000, keyGenerator });
    return async (request: FastifyRequest) => ({ max, ...(await count(request)) });
  };
  const ofCredential = counter(most, ({ caller, clientAddress }) =>
    caller ? `credential ${caller.actor.keyId ?? caller.actor.userId}` : `address ${clientAddress}`,
  );
  const ofAccount = counter(most * TOKENS_OF_ACCOUNT, ({ caller }) => {
    const { accountIds = [], userId = '' } = caller?.actor ?? {};
    return `account ${accountIds[0] ?? userId}`;
  });
  return async (request, reply) => {
    if (request.caller?.actor.superAdministrator) return;
    const own = await ofCredential(request);
    const all = request.caller ? await ofAccount(request) : own;
    const counted = isTighter(all, own) ? all : own;
    if (counted.isAllowed) return;
    const { max, remaining, ttlInSeconds, isExceeded } = counted;
    const ends = new Date(clock.nowMs() + ttlInSeconds * 1000).toUTCString();
    reply.header('x-ratelimit-limit', max);
    reply.header('x-ratelimit-remaining', remaining);
    reply.header('x-ratelimit-reset', ends);
    reply.header('ratelimit', `"default";r=${remaining};t=${ttlInSeconds}`);
    reply.header('ratelimit-policy', `"default";q=${max};w=${WINDOW_SECONDS}`);
    if (!isExceeded) return;
    reply.header('retry-after', ttlInSeconds);
    throw failure('tooManyRequests');
  };
}

type Counted = Awaited<ReturnType<ReturnType<FastifyInstance['createRateLimit']>>>;

function isTighter(a: Counted, b: Counted): boolean {
  if (a.isAllowed || b.isAllowed) return false;
  return a.isExceeded === b.isExceeded ? a.remaining < b.remaining : a.isExceeded;
}
