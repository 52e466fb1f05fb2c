/**
 * Look-ups by outside resolvers: the cache first, one query at a time for each name and type, fair queueing for the
 * rest.
 */
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';
import type { UpstreamAnswer } from './answer.js';
import { type ConcurrencyLimits, limitConcurrency } from './concurrency.js';
import { createKnownAnswers, type KnownAnswer, type KnownLimits, keyOf } from './known-answers.js';
import { type Found, failure } from './resolution.js';
import type { ResolverMetrics } from './resolver-metrics.js';
import type { UpstreamType } from './types.js';
import type { Upstream } from './upstream.js';

/** An answer as of now: its TTLs are the remaining seconds. */
export interface OutsideAnswer {
  readonly links: ReadonlyMap<string, { readonly target: string; readonly ttl: number }>;
  /** The name to which the links lead. */
  readonly end: string;
  /** Undefined when the answer ends with a link and says nothing about the name it leads to. */
  readonly found: Found | undefined;
}

export interface Outside {
  ask(name: string, type: UpstreamType, bypassCache: boolean): Promise<OutsideAnswer>;
}

export interface OutsideOptions {
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: ResolverMetrics;
  readonly limits: KnownLimits & ConcurrencyLimits;
}

export function createOutside({ upstream, clock, random, metrics, limits }: OutsideOptions): Outside {
  const known = createKnownAnswers(clock, random, limits);
  const concurrency = limitConcurrency(clock, limits);
  const underWay = new Map<string, Promise<KnownAnswer | undefined>>();
  metrics.observe(() => ({ known: known.size, running: concurrency.running, waiting: concurrency.waiting }));

  /** Undefined when the query got no turn. That is not cached, because it says nothing about the name. */
  async function ask(key: string, name: string, type: UpstreamType): Promise<KnownAnswer | undefined> {
    try {
      const answer = await concurrency.run(lineOf(name), () => upstream.query(name, type));
      if (answer) metrics.countOutcome(answer.status);
      metrics.countAcquisition(answer ? 'asked' : 'refused');
      return answer && known.note(key, answer);
    } finally {
      underWay.delete(key);
    }
  }

  return {
    async ask(name, type, bypassCache) {
      const key = keyOf(name, type);
      let entry = bypassCache ? undefined : known.find(key);
      if (entry) {
        metrics.countAcquisition('known');
      } else {
        let question = underWay.get(key);
        if (question) metrics.countAcquisition('joined');
        else underWay.set(key, (question = ask(key, name, type)));
        entry = await question;
      }
      return entry ? viewOf(entry, name, type, known.nowMs(), limits) : busyAnswer(name, limits);
    },
  };
}

/** The queue of a name: its last two labels, which one operator usually serves. */
function lineOf(name: string): string {
  return name.split('.').slice(-2).join('.');
}

function busyAnswer(name: string, { failureSeconds }: KnownLimits): OutsideAnswer {
  return {
    links: new Map(),
    end: name,
    found: failure('timeout', 'too many names are waiting to be looked up', failureSeconds),
  };
}

function viewOf(
  { answer, atMs, expiresMs }: KnownAnswer,
  name: string,
  type: UpstreamType,
  nowMs: number,
  { failureSeconds }: KnownLimits,
): OutsideAnswer {
  const age = Math.floor((nowMs - atMs) / 1000);
  const left = (ttl: number): number => Math.max(0, ttl - age);
  const links = new Map<string, { target: string; ttl: number }>();
  const records: { content: string; ttl: number }[] = [];
  let end = name;
  for (const record of answer.records) {
    if (record.type === type) {
      records.push({ content: record.content, ttl: left(record.ttl) });
    } else {
      links.set(record.name, { target: record.content, ttl: left(record.ttl) });
      end = record.content;
    }
  }
  const restSeconds = Math.max(0, Math.ceil((expiresMs - nowMs) / 1000));
  return {
    links,
    end,
    found: foundIn(answer, records, links.size, left(answer.negativeTtl ?? failureSeconds), restSeconds),
  };
}

function foundIn(
  answer: UpstreamAnswer,
  records: Found['records'],
  links: number,
  negativeTtl: number,
  restSeconds: number,
): Found | undefined {
  switch (answer.status) {
    case 'ok':
      return { status: 'ok', records, ttl: 0 };
    case 'nxdomain':
      return { status: 'nxdomain', records, ttl: negativeTtl };
    case 'nodata':
      if (answer.negativeTtl !== undefined) return { status: 'nodata', records, ttl: negativeTtl };
      if (links > 0) return undefined;
      // A referral is not an answer (RFC 2308 §2.2): a server that sends one is not a recursive resolver.
      if (answer.referral.length > 0) return failure('servfail', 'the resolver answered with a referral', restSeconds);
      return { status: 'nodata', records, ttl: negativeTtl };
    default:
      return failure(answer.status, answer.reason ?? 'no answer', restSeconds);
  }
}
