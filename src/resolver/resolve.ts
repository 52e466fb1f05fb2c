/**
 * The one resolver of this program: our own active zones first, then outside resolvers. Chains may cross between the
 * two in both directions (RFC 1034 §5.3.3).
 */

import { type Clock, steadyMs } from '../base/clock.js';
import type { Random } from '../base/random.js';
import { NameError } from '../dns/name.js';
import type { ServingSettings } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import type { KnownLimits } from './known-answers.js';
import {
  createOutside,
  type Outside,
  type OutsideAnswer,
  type OutsideQuestion,
  type QuestionLimits,
} from './outside.js';
import { createOwnZones, type OwnAnswer, type OwnZones, wireOf } from './own-zones.js';
import {
  type Found,
  failure,
  type Resolution,
  type ResolutionLink,
  type ResolutionOrigin,
  type Step,
} from './resolution.js';
import { createResolverMetrics, type ResolverMetrics } from './resolver-metrics.js';
import type { UpstreamType } from './types.js';
import type { Upstream } from './upstream.js';

export type { Resolution } from './resolution.js';

export interface ResolveOptions {
  /** Asks even when an answer is cached; the new answer is cached. */
  readonly bypassCache?: boolean;
  /**
   * Store number of the account that asks, which also hears what its unproven zones say and what its proxied names hide. Without
   * one, the answer is what everybody may know.
   */
  readonly account?: number | undefined;
  /** Store number of the account whose turn the questions take; default: `account`, or else the installation itself. */
  readonly turnOf?: number | undefined;
  /** An answer whose time has ended is used while it is asked anew (RFC 8767). */
  readonly mayBeOld?: boolean;
}

export interface Resolver {
  /** Never rejects because of the network or the zones. `name` is in presentation form; the final dot is optional. */
  resolve(name: string, type: UpstreamType, options?: ResolveOptions): Promise<Resolution>;
}

/** The largest number of links in a chain, across all sources. */
const MAX_LINKS = 10;

export interface ResolverLimits extends KnownLimits, QuestionLimits {
  /** The longest time that a resolution may be used, in seconds. */
  readonly mostTtl: number;
  /** Milliseconds for a whole chain; no further query is sent after this time. */
  readonly deadlineMs: number;
}

const DEFAULT_RESOLVER_LIMITS: ResolverLimits = {
  entries: 20_000,
  octets: 16 << 20,
  positiveSeconds: 60,
  negativeSeconds: 30,
  failureSeconds: 5,
  mostFailureSeconds: 60,
  mostTtl: 3600,
  parallel: 64,
  waiting: 50_000,
  waitMs: 10_000,
  deadlineMs: 15_000,
};

export interface ResolverOptions {
  readonly store: Store;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics?: ResolverMetrics;
  readonly limits?: Partial<ResolverLimits>;
  /** The answers of our own zones depend on these settings too. */
  readonly serving: ServingSettings;
}

/** Creates the resolver. A process has one, which holds the cache and the count of running queries. */
export function createResolver(options: ResolverOptions): Resolver {
  const { store, upstream, clock, random, metrics = createResolverMetrics(), serving } = options;
  const limits = { ...DEFAULT_RESOLVER_LIMITS, ...options.limits };
  const sources: Sources = {
    own: createOwnZones(store, serving),
    outside: createOutside({ upstream, clock, random, metrics, limits }),
    metrics,
    clock,
    limits,
  };
  return {
    resolve: (name, type, { bypassCache = false, mayBeOld = false, account, turnOf = account ?? 0 } = {}) =>
      follow(sources, { name: fqdnOf(name), type, bypassCache, mayBeOld, account, turnOf }),
  };
}

interface Sources {
  readonly own: OwnZones;
  readonly outside: Outside;
  readonly metrics: ResolverMetrics;
  readonly clock: Clock;
  readonly limits: ResolverLimits;
}

interface Asked extends OutsideQuestion {
  readonly account: number | undefined;
}

function fqdnOf(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/**
 * Follows the chain name by name. Each name is looked up in our own zones first, so the rest of an outside answer is
 * ignored when its chain reaches one of them.
 */
async function follow(sources: Sources, asked: Asked): Promise<Resolution> {
  const { clock, limits } = sources;
  const endMs = steadyMs(clock) + limits.deadlineMs;
  const chain: ResolutionLink[] = [];
  const seen = new Set<string>();
  let proxied = false;
  const fail = (reason: string, status: 'servfail' | 'timeout' = 'servfail'): Resolution => ({
    ...conclude(limits, asked, chain, failure(status, reason, limits.failureSeconds), chain.at(-1)?.source ?? 'own'),
    ...(proxied ? { proxied } : {}),
  });
  let name = asked.name;
  let outside: OutsideAnswer | undefined;
  for (;;) {
    if (seen.has(name)) return fail(`the chain loops back to ${name}`);
    seen.add(name);
    let step = askOwn(sources, name, asked);
    if (step === undefined) {
      if (!outside || !covers(outside, name)) {
        if (steadyMs(clock) > endMs) return fail('the chain took too long to follow', 'timeout');
        outside = await sources.outside.ask({ ...asked, name });
      }
      step = stepFrom(outside, name);
    } else {
      outside = undefined;
    }
    proxied ||= step.proxied === true;
    if (step.kind === 'end') {
      const resolution = conclude(limits, asked, chain, step.found, step.source);
      const { zone } = step;
      return { ...resolution, ...(proxied && { proxied }), ...(zone !== undefined && { zone }) };
    }
    if (chain.length === MAX_LINKS) return fail(`the chain has more than ${MAX_LINKS} links`);
    const { target, ttl, source, zone } = step;
    chain.push({ name, target, ttl, source, ...(zone !== undefined && { zone }) });
    name = step.target;
  }
}

/** Undefined when no own zone answers the name, so that it must be looked up outside. */
function askOwn({ own, metrics, limits }: Sources, name: string, asked: Asked): Step | undefined {
  const answer = askByText(own, name, asked);
  if (answer.kind === 'outside') return undefined;
  metrics.countOwn();
  const zone = answer.zone === undefined ? {} : { zone: answer.zone };
  const traffic = { ...zone, ...('proxied' in answer && answer.proxied ? { proxied: true } : {}) };
  switch (answer.kind) {
    case 'link':
      return { kind: 'link', target: answer.target, ttl: answer.ttl, source: 'own', ...traffic };
    case 'records':
      return { kind: 'end', found: { status: 'ok', records: answer.records, ttl: 0 }, source: 'own', ...traffic };
    case 'failure':
      return { kind: 'end', found: failure('servfail', answer.reason, limits.failureSeconds), source: 'own' };
    default:
      return { kind: 'end', found: { status: answer.kind, records: [], ttl: answer.ttl }, source: 'own', ...traffic };
  }
}

function askByText(own: OwnZones, name: string, { type, account }: Asked): OwnAnswer {
  try {
    return own.ask(wireOf(name), type, account);
  } catch (error) {
    if (error instanceof NameError) return { kind: 'failure', reason: `${name}: ${error.message}` };
    throw error;
  }
}

/** Whether the answer contains the result for this name. */
function covers({ links, end, found }: OutsideAnswer, name: string): boolean {
  return links.has(name) || (name === end && found !== undefined);
}

function stepFrom({ links, found }: OutsideAnswer, name: string): Step {
  const link = links.get(name);
  if (link) return { kind: 'link', ...link, source: 'upstream' };
  return { kind: 'end', found: found!, source: 'upstream' };
}

function conclude(
  { mostTtl }: ResolverLimits,
  { name }: Asked,
  chain: readonly ResolutionLink[],
  { status, records, ttl, reason }: Found,
  last: ResolutionOrigin,
): Resolution {
  const ttls = [...chain, ...records].map((part) => part.ttl);
  if (records.length === 0) ttls.push(ttl);
  return {
    status,
    chain,
    end: chain.at(-1)?.target ?? name,
    records,
    ttl: Math.min(mostTtl, ...ttls),
    source: chain.every(({ source }) => source === last) ? last : 'mixed',
    ...(reason === undefined ? {} : { reason }),
  };
}
