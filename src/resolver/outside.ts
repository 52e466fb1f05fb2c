/**
 * Look-ups by outside resolvers: the cache first, one query at a time for each name and type. Accounts take turns at the queries,
 * and within an account domains do: ten thousand names of one broken domain delay neither the name of another nor another account.
 */
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';
import { createTurns, type Turns } from '../base/turns.js';
import type { UpstreamAnswer } from './answer.js';
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

export interface OutsideQuestion {
  readonly name: string;
  readonly type: UpstreamType;
  /** Asks even when an answer is known. */
  readonly bypassCache: boolean;
  /** An answer whose time has ended is used while it is asked anew. */
  readonly mayBeOld: boolean;
  /** Store number of the account whose turn it takes; 0: the installation itself. */
  readonly turnOf: number;
}

export interface Outside {
  ask(question: OutsideQuestion): Promise<OutsideAnswer>;
}

export interface QuestionLimits {
  /** Queries at once. While one account has all of them, as many more are made for accounts that have none. */
  readonly parallel: number;
  readonly waiting: number;
  readonly waitMs: number;
}

export interface OutsideOptions {
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: ResolverMetrics;
  readonly limits: KnownLimits & QuestionLimits;
}

function createQuestionTurns({ parallel, waiting, waitMs }: QuestionLimits, clock: Clock): Turns {
  const each = { places: parallel, waiting };
  return createTurns({ all: { ...each, beyond: parallel }, each: [each, each], waitMs }, clock);
}

type Asking = Promise<KnownAnswer | undefined>;

export function createOutside({ upstream, clock, random, metrics, limits }: OutsideOptions): Outside {
  const known = createKnownAnswers(clock, random, limits);
  const turns = createQuestionTurns(limits, clock);
  /** Queries that were sent, and those that wait for a turn of their account: nobody waits for the turn of another. */
  const sent = new Map<string, Asking>();
  const planned = new Map<string, Asking>();
  metrics.observe(
    () => ({ known: known.size, running: turns.held, waiting: turns.waiting }),
    () => turns.samples('questions'),
  );

  const query = async (key: string, { name, type, turnOf }: OutsideQuestion): Asking => {
    const answer = await upstream.query(name, type);
    metrics.countOutcome(answer.status);
    metrics.countAcquisition('asked');
    return known.note(turnOf, key, answer);
  };

  /** Undefined when the query got no turn. That is not cached, because it says nothing about the name. */
  const ask = async (key: string, question: OutsideQuestion): Asking => {
    const leave = await turns.enter([String(question.turnOf), lineOf(question.name)]);
    if (typeof leave === 'string') {
      metrics.countAcquisition('refused');
      return undefined;
    }
    let asking = sent.get(key);
    if (!asking) {
      asking = query(key, question).finally(() => sent.delete(key));
      sent.set(key, asking);
    }
    return asking.finally(leave);
  };

  const join = (key: string, question: OutsideQuestion): Asking => {
    const turn = `${question.turnOf} ${key}`;
    const under = sent.get(key) ?? planned.get(turn);
    if (under) {
      metrics.countAcquisition('joined');
      return under;
    }
    const asking = ask(key, question).finally(() => planned.delete(turn));
    planned.set(turn, asking);
    return asking;
  };

  return {
    async ask(question) {
      const { name, type, bypassCache, mayBeOld } = question;
      const key = keyOf(name, type);
      let entry = bypassCache ? undefined : known.find(key);
      const old = mayBeOld && (entry?.failures ?? 1) > 0 ? known.findOld(key) : undefined;
      if (entry || old) metrics.countAcquisition('known');
      else entry = await join(key, question);
      if (old) {
        // Nobody waits for it; it does not reject.
        if (known.isDue(key)) void join(key, question);
        entry = old;
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
