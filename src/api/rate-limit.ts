/** Limits the requests of a user (v4: §1.6): counted by user, and by address for those without a valid credential. */
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.js';
import { failure } from './errors.js';

const WINDOW_SECONDS = 300;

/** Counts a request and reports the remaining quota to the client. Throws 429/971 when none is left. */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export function registerRateLimit(app: FastifyInstance): void {
  app.register(rateLimit, { global: false });
}

/** Counts requests, `most` in five minutes; 0 = no limit. */
export function requestCounter(app: FastifyInstance, most: number, clock: Clock): CountRequest {
  if (most === 0) return async () => {};
  const count = app.createRateLimit({
    max: most,
    timeWindow: WINDOW_SECONDS * 1000,
    keyGenerator: ({ caller, clientAddress }) => (caller ? `user ${caller.actor.userId}` : `address ${clientAddress}`),
  });
  return async (request, reply) => {
    const counted = await count(request);
    if (counted.isAllowed) return;
    const { remaining, ttlInSeconds, isExceeded } = counted;
    const ends = new Date(clock.nowMs() + ttlInSeconds * 1000).toUTCString();
    reply.header('x-ratelimit-limit', most);
    reply.header('x-ratelimit-remaining', remaining);
    reply.header('x-ratelimit-reset', ends);
    reply.header('ratelimit', `"default";r=${remaining};t=${ttlInSeconds}`);
    reply.header('ratelimit-policy', `"default";q=${most};w=${WINDOW_SECONDS}`);
    if (!isExceeded) return;
    reply.header('retry-after', ttlInSeconds);
    throw failure('tooManyRequests');
  };
}
