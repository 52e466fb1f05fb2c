/**
 * Answers queries that engines have deferred because a zone with compact denial (RFC 9824) needs a signature for them. The time
 * for signatures is a part of one thread; when it is used up, datagrams are truncated by the engines, and streams wait. Streams
 * that have waited long enough use time of the future; only when that is used up, too, they get SERVFAIL. Accounts and their zones
 * take turns, and nobody uses time of the future while another account waits.
 */
import { Lack, type MadeTable } from '../answer/made.js';
import { addSigningTime, countTruncated, maySign, signingTimeOf } from '../answer/signing-time.js';
import type { Engine } from '../answer/state.js';
import {
  type Answer,
  type AnswerDeferred,
  type Client,
  createClient,
  DEFERRED,
  type DeferredResult,
  setAddresses,
  type TransportCode,
} from '../answer/transport.js';
import { toHex } from '../base/bytes.js';
import type { Clock } from '../base/clock.js';
import { parsePeerAddress } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import type { MetricSample } from '../base/metrics.js';
import type { SigningKey } from '../dnssec/signing-key.js';
import type { ImageReader } from '../image/reader.js';
import { KEPT, keepRecords, makeRecords, removeRecords, unmadeRecords } from './make-records.js';
import { createSpending } from './spending.js';
import { createWaitingQueries } from './waiting-queries.js';
import { apexOfSearch } from './zone-signers.js';

/** Each period adds a fifth of itself to the time for signatures, up to what half a second adds; microseconds. */
const PERIOD_MS = 50;
const ADDED_US = 10_000;
export const MOST_TIME_US = 100_000;
/** The longest time that a query waits, in microseconds. */
const LONGEST_WAIT_US = 1_000_000;
/** Time of the future that queries use which cannot wait any longer. */
const MOST_DEBT_US = MOST_TIME_US;
const SWEEP_MS = 60_000;
/** Links of a chain of aliases, each of which may need a signature, and the end. */
const MOST_MADE = 25;
const LONGEST_MESSAGE = 65_535;

export interface CompactOptions {
  /** An engine that does not judge the rate of answers again, its state with the table `made`, and its image. */
  readonly engine: { readonly state: Engine; readonly image: ImageReader; readonly answer: Answer };
  readonly made: MadeTable;
  /** Shared with all engines (answer/signing-time.ts). */
  readonly signingTime: SharedArrayBuffer;
  /** The keys that sign for the zone whose records the state's search lacks; undefined while they cannot be opened. */
  readonly keysOf: (state: Engine, image: ImageReader) => readonly SigningKey[] | undefined;
  /** Store number of the account of a zone. */
  readonly accountOf: (apex: Uint8Array) => number;
  readonly clock: Clock;
  /** Processor time of this thread, in microseconds. What it counts from has no meaning. */
  readonly processorUs: () => number;
  readonly log: Logger;
}

export interface CompactAnswerer {
  readonly answerDeferred: AnswerDeferred;
  /** The engine for queries of known clients: what its answers need is made at once. */
  readonly answer: Answer;
  samples(): MetricSample[];
  close(): void;
}

interface Query {
  readonly request: Uint8Array;
  readonly transport: TransportCode;
  readonly client: Client;
}

interface Waiting extends Query {
  readonly untilUs: number;
  readonly resolve: (answer: DeferredResult) => void;
}

/** Instead of a length: the query has to wait. */
const WAITS = -2;

/** What becomes of a query while nothing can be signed for it. */
interface Patience {
  readonly mayWait: boolean;
  /** It is signed for as long as more time than this is left; microseconds. */
  readonly aboveUs: number;
}

const WAITING: Patience = { mayWait: true, aboveUs: 0 };
const AT_THE_END: Patience = { mayWait: false, aboveUs: -MOST_DEBT_US };
/** Others wait, too, or too many. */
const WITHOUT_DEBT: Patience = { mayWait: false, aboveUs: 0 };

export function createCompactAnswerer(options: CompactOptions): CompactAnswerer {
  const { made, clock, log } = options;
  const time = signingTimeOf(options.signingTime);
  const counts = { made: 0, failed: 0 };
  const spending = createSpending(time, options.processorUs);
  const out = new Uint8Array(LONGEST_MESSAGE);
  const waiting = createWaitingQueries<Waiting>();
  let cancelRefill: (() => void) | undefined;
  const cancelSweep = clock.every(SWEEP_MS, () => removeExpired(made, clock.nowMs() / 1000));

  const answer = (patience: Patience, ...query: Parameters<Answer>): number => {
    const beganUs = clock.steadyUs();
    if (!cancelRefill) {
      spending.begin(beganUs);
      cancelRefill = clock.every(PERIOD_MS, refill);
    }
    const { failed } = counts;
    const written = answerSigning(options, counts, patience, query);
    // What is refused takes no time from others.
    if (written !== WAITS && counts.failed === failed) spending.spend(beganUs, clock.steadyUs());
    return written;
  };

  const answerQuery = (query: Query, patience: Patience): DeferredResult | typeof WAITS => {
    query.client.seconds = Math.floor(clock.nowMs() / 1000);
    return orNothing(log, query, () => {
      const { request, transport, client } = query;
      const written = answer(patience, request, 0, request.length, out, 0, out.length, transport, client);
      if (written === WAITS) return WAITS;
      return written > 0 ? out.slice(0, written) : undefined;
    });
  };

  /** Right after the engine has searched for the query: it knows for which zone that waits. */
  function addWaiting(query: Omit<Waiting, 'untilUs'>): void {
    const apex = apexOfSearch(options.engine.state);
    const untilUs = clock.steadyUs() + LONGEST_WAIT_US;
    const displaced = waiting.add(options.accountOf(apex), toHex(apex), { ...query, untilUs });
    displaced?.resolve(answerQuery(displaced, WITHOUT_DEBT) as DeferredResult);
  }

  function refill(): void {
    spending.settle(clock.steadyUs());
    const isFilling = addSigningTime(time, ADDED_US, MOST_TIME_US);
    const nowUs = clock.steadyUs();
    waiting.each((query, isAlone) => {
      const result = answerQuery(query, nowUs < query.untilUs ? WAITING : isAlone ? AT_THE_END : WITHOUT_DEBT);
      if (result !== WAITS) query.resolve(result);
      return result !== WAITS;
    });
    if (isFilling || waiting.size > 0) return;
    cancelRefill?.();
    cancelRefill = undefined;
  }

  return {
    answer: (...query) => answer(AT_THE_END, ...query),
    answerDeferred(request, transport, address, port) {
      const client = createClient();
      setAddresses(client, parsePeerAddress(address), port, undefined);
      const query = { request, transport, client };
      const result = answerQuery(query, WAITING);
      return result === WAITS ? new Promise((resolve) => addWaiting({ ...query, resolve })) : result;
    },
    samples: () => samplesOf({ ...counts, us: spending.totalUs() }, countTruncated(time), made.size),
    close() {
      cancelSweep();
      cancelRefill?.();
      for (const { resolve } of waiting.takeAll()) resolve(undefined);
    },
  };
}

/** A fault in one answer ends nothing else. */
function orNothing<Result>(log: Logger, { request }: Query, answer: () => Result): Result | undefined {
  try {
    return answer();
  } catch (err) {
    log.error({ request: toHex(request), err }, 'a fault in an answer that needs a signature; it was not sent');
    return undefined;
  }
}

interface Counts {
  made: number;
  failed: number;
}

/**
 * The length of the answer, after everything that it lacked was made. While something cannot be made, WAITS, or, when it may not
 * wait, SERVFAIL is answered.
 */
function answerSigning(
  { engine, made, keysOf, signingTime, clock }: CompactOptions,
  counts: Counts,
  { mayWait, aboveUs }: Patience,
  query: Parameters<Answer>,
): number {
  const { state, image } = engine;
  const time = signingTimeOf(signingTime);
  let written = engine.answer(...query);
  for (let count = 0; written === DEFERRED && state.search.lack !== Lack.nothing; count++) {
    const keys = count < MOST_MADE && maySign(time, aboveUs) ? keysOf(state, image) : undefined;
    if (keys) {
      keepRecords(made, state, makeRecords(state, image, keys, Math.floor(clock.nowMs() / 1000)));
      counts.made++;
    } else if (mayWait && count < MOST_MADE) return WAITS;
    else {
      counts.failed++;
      return answerFailure(engine, made, query);
    }
    written = engine.answer(...query);
  }
  return written;
}

/** SERVFAIL: what the search lacks cannot be made. */
function answerFailure(
  { state, image, answer }: CompactOptions['engine'],
  made: MadeTable,
  query: Parameters<Answer>,
): number {
  const unmade = unmadeRecords(state, image);
  keepRecords(made, state, unmade);
  const written = answer(...query);
  removeRecords(made, state, unmade);
  return written;
}

/** What is kept for longer than anything was made while the clock was ahead, and is not valid yet. */
function removeExpired(made: MadeTable, nowS: number): void {
  for (const [key, { until }] of made) if (until <= nowS || until > nowS + KEPT) made.delete(key);
}

function samplesOf(
  { made, failed, us }: Counts & { readonly us: number },
  truncated: number,
  kept: number,
): MetricSample[] {
  const counter = (name: string, help: string, value: number): MetricSample => {
    return { name, type: 'counter', help, labels: {}, value };
  };
  return [
    counter('dns_compact_signed_total', 'Records signed while a query waited (compact denial)', made),
    counter('dns_compact_seconds_total', 'Processor time for answers that need such records', us / 1e6),
    counter(
      'dns_compact_truncated_total',
      'UDP answers truncated because the time for signatures was used up',
      truncated,
    ),
    counter('dns_compact_failed_total', 'Answers with SERVFAIL because no signature could be made in time', failed),
    { name: 'dns_compact_kept', type: 'gauge', help: 'Such records in memory', labels: {}, value: kept },
  ];
}
