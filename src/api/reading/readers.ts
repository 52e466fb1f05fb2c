/**
 * Threads that read for requests which may take long, so that no such request keeps others waiting. Accounts take turns; one has half
 * of the threads at most, and one that has none gets a further one.
 */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Source } from '../../base/read-ahead.js';
import { createTurns, type Leave, type TurnLimits, type TurnOptions, type Turns } from '../../base/turns.js';
import type { EventQuery, EventSlice } from '../../control/access/visible-events.js';
import { type Actor, ownTurn } from '../../control/guard/actor.js';
import type { Finding } from '../../warnings/finding.js';
import { failure } from '../errors.js';
import type { ExportOrder, FromReader, ReadAnswer, ReaderData, ReadOrder, ToReader } from './order.js';
import { createThreads, type Spares } from './threads.js';

const THREADS = 4;
/** For accounts that read nothing else, while others have all threads. */
const BEYOND = THREADS / 2;
const WAITING_OF_ONE = 200;
const LIMITS: TurnLimits = {
  // A short read of an account that reads nothing else does not wait until others have ended their long ones.
  all: { places: THREADS, waiting: 1000, beyond: BEYOND },
  each: [{ places: THREADS / 2, waiting: WAITING_OF_ONE }],
  waitMs: 30_000,
};
/** Exports take much longer than anything else: half of the threads are left for short reads. */
const EXPORTS: TurnLimits = {
  all: { places: THREADS / 2, waiting: 1000 },
  each: [{ places: THREADS / 2, waiting: 200 }],
  waitMs: 30_000,
};
/**
 * Answers that are under way, until their clients have read them: each may take 15 MiB of memory. Where others need the place of one that
 * is not read, its connection ends.
 */
const UNREAD_OF_ONE = 8;
const UNDER_WAY: TurnLimits = {
  all: { places: 32, waiting: 1000, beyond: 32 },
  // So many wait in all, here and for a thread.
  each: [{ places: UNREAD_OF_ONE, waiting: WAITING_OF_ONE + THREADS / 2 - UNREAD_OF_ONE }],
  waitMs: 30_000,
  patienceMs: 1000,
};
const RETRY_SECONDS = 5;

export interface Readers {
  /**
   * A place of an account for an answer until its client has read it: there may be none for a while, and `options` say what happens when others need
   * it. Throws 429 when too many of the account wait.
   */
  begin(account: string, options: ReadOptions): Promise<Leave>;
  /** Answers a request. `account`: whose turn it takes. Throws 429 when too many of the account wait. */
  read(account: string, order: ReadOrder, signal: AbortSignal): Promise<ReadAnswer>;
  /** What the database shows of warnings, for an actor. */
  examine(actor: Actor): Promise<readonly Finding[]>;
  /** Events behind a position that the actor may see. */
  events(actor: Actor, query: EventQuery): Promise<EventSlice>;
  /**
   * The zone file of a zone that the actor may see, in turns of the account. The thread writes it to the file itself, so that none of it burdens the memory of
   * this one.
   */
  export(account: string, actor: Actor, zoneId: string): Source;
  samples(): MetricSample[];
  close(): Promise<void>;
}

/** `signal`: ends the wait. */
type ReadOptions = TurnOptions & { readonly signal?: AbortSignal };

async function enter(account: string, turns: Turns, options: ReadOptions = {}): Promise<Leave> {
  const leave = await turns.enter([account], options);
  if (typeof leave !== 'string') return leave;
  throw failure('tooManyReads', {}, { retryAfterSeconds: RETRY_SECONDS });
}

/** `keepsSpares`: see {@link Spares}. */
export function createReaders(data: ReaderData, clock: Clock, log: Logger, keepsSpares = false): Readers {
  const turns = createTurns(LIMITS, clock);
  const exportTurns = createTurns(EXPORTS, clock);
  const underWay = createTurns(UNDER_WAY, clock);
  const { take, putBack, ...threads } = createThreads(data, clock, {
    areKept: keepsSpares,
    most: THREADS + BEYOND,
  });
  /** One question with one answer. */
  const ask = async (account: string, message: ToReader, options?: ReadOptions): Promise<FromReader> => {
    const leave = await enter(account, turns, options);
    const reader = take();
    try {
      return await reader.send(message);
    } finally {
      putBack(reader);
      leave();
    }
  };

  const exportPieces = async function* (account: string, order: ExportOrder): AsyncGenerator<number> {
    const leave = await enter(account, turns);
    const reader = take();
    let reply: FromReader | undefined;
    try {
      reply = await reader.send({ export: order });
      while (reply !== 'end') {
        if (!('written' in reply)) throw unexpected(reply);
        yield reply.written;
        reply = await reader.send('next');
      }
    } finally {
      // Nobody wants the rest.
      if (typeof reply === 'object' && 'written' in reply)
        await reader.send('stop').catch((err) => log.warn({ err }, 'a reader ended'));
      putBack(reader);
      leave();
    }
  };

  return {
    begin: (account, options) => enter(account, underWay, options),
    read: async (account, order, signal) => wanted(await ask(account, { read: order }, { signal }), 'answer'),
    examine: async (actor) => wanted(await ask(ownTurn(actor), { examine: actor }), 'findings'),
    events: async (actor, query) => wanted(await ask(ownTurn(actor), { follow: actor, query }), 'events'),
    export: (account, actor, zoneId) =>
      async function* (fd) {
        const leaveExports = await enter(account, exportTurns);
        try {
          yield* exportPieces(account, { actor, zoneId, fd });
        } finally {
          leaveExports();
        }
      },
    samples: () => [
      ...turns.samples('reads'),
      ...exportTurns.samples('exports'),
      ...underWay.samples('answers'),
      threads.sample(),
    ],
    close: threads.close,
  };
}

type Replies = Extract<FromReader, { readonly answer: unknown }> &
  Extract<FromReader, { readonly findings: unknown }> &
  Extract<FromReader, { readonly events: unknown }>;

/** Returns a member that the reply must have. */
function wanted<Name extends keyof Replies>(reply: FromReader, name: Name): Replies[Name] {
  if (typeof reply === 'object' && name in reply) return (reply as Replies)[name];
  throw unexpected(reply);
}

function unexpected(reply: FromReader): Error {
  return new Error(
    `a reading thread failed: ${typeof reply === 'object' && 'failed' in reply ? reply.failed : String(reply)}`,
  );
}
