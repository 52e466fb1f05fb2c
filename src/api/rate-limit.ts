/**
 * Limits the requests of credentials (v4: §1.6): counted by token and by account, and by address for those without a valid
 * credential. What has the permissions of an administrator is not limited, so that the operator can always act.
 */
import type { FastifyRequest } from 'fastify';
import { type Clock, steadyMs } from '../base/clock.js';
import { ownTurn } from '../control/guard/actor.js';

const WINDOW_SECONDS = 300;
/** An account has as many requests as so many tokens, however many it has. */
const TOKENS_OF_ACCOUNT = 4;
/** Clients that are counted at the same time; the counts of others begin anew. */
const MOST_COUNTED = 5000;

/** What a client is told about its limit. */
export interface Quota {
  readonly fields: Readonly<Record<string, string>>;
  /** Whether the request is one too many. */
  readonly isExceeded: boolean;
}

/** Counts a request; undefined when it has no limit. */
export type CountRequest = (request: Pick<FastifyRequest, 'caller' | 'clientAddress'>) => Quota | undefined;

/** Counts requests, `most` of a token in five minutes; 0 = no limit. */
export function requestCounter(most: number, clock: Clock): CountRequest {
  if (most === 0) return () => undefined;
  const ofCredential = createCounts(most, clock);
  const ofAccount = createCounts(most * TOKENS_OF_ACCOUNT, clock);
  return (request) => {
    const { caller } = request;
    if (!caller) return quotaOf(ofCredential(`address ${request.clientAddress}`), clock);
    const { superAdministrator, keyId, userId } = caller.actor;
    if (superAdministrator) return undefined;
    const own = ofCredential(`credential ${keyId ?? userId}`);
    const all = ofAccount(`account ${ownTurn(caller.actor)}`);
    return quotaOf(isTighter(all, own) ? all : own, clock);
  };
}

interface Counted {
  readonly max: number;
  readonly remaining: number;
  readonly leftMs: number;
  readonly isExceeded: boolean;
}

interface Count {
  current: number;
  readonly endMs: number;
}

/** Counts by a steady clock: if the clock were set back, a limited client would stay limited until it caught up. */
function createCounts(max: number, clock: Clock): (name: string) => Counted {
  const counts = new Map<string, Count>();
  return (name) => {
    const nowMs = steadyMs(clock);
    const known = counts.get(name);
    const count = known && known.endMs > nowMs ? known : { current: 0, endMs: nowMs + WINDOW_SECONDS * 1000 };
    count.current++;
    counts.delete(name);
    counts.set(name, count);
    if (counts.size > MOST_COUNTED) counts.delete(counts.keys().next().value!);
    const { current, endMs } = count;
    return { max, remaining: Math.max(0, max - current), leftMs: endMs - nowMs, isExceeded: current > max };
  };
}

function isTighter(a: Counted, b: Counted): boolean {
  return a.isExceeded === b.isExceeded ? a.remaining < b.remaining : a.isExceeded;
}

function quotaOf({ max, remaining, leftMs, isExceeded }: Counted, clock: Clock): Quota {
  const seconds = Math.ceil(leftMs / 1000);
  const fields = {
    'x-ratelimit-limit': String(max),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': new Date(clock.nowMs() + seconds * 1000).toUTCString(),
    ratelimit: `"default";r=${remaining};t=${seconds}`,
    'ratelimit-policy': `"default";q=${max};w=${WINDOW_SECONDS}`,
    ...(isExceeded && { 'retry-after': String(seconds) }),
  };
  return { fields, isExceeded };
}
