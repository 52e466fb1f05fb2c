/**
 * Limits the requests of credentials (v4: §1.6): counted by token and by account, and by address for those without a valid
 * credential. What has the permissions of an administrator is not limited, so that the operator can always act.
 */
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.js';
import { failure } from './errors.js';

const WINDOW_SECONDS = 300;
/** An account has as many requests as so many tokens, however many it has. */
const TOKENS_OF_ACCOUNT = 4;

/** Counts a request and reports the remaining quota to the client. Throws 429/971 when none is left. */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export function registerRateLimit(app: FastifyInstance): void {
  app.register(rateLimit, { global: false });
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
