/**
 * One connection to the PostgreSQL server that accepts writes. It is made when it is needed, and anew when it was lost. A
 * server that does not answer is given up; what is asked then is refused at once for a while, so that nobody waits for a server
 * that is away.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import { withLimit } from '../base/lifecycle.js';
import { LogUnavailable, OutcomeUnknown } from '../store/failures.js';
import { ask, noAnswer, type QueryLimits, type Row, type Value, within } from './ask.js';
import { isLoss, isRefusal, refused } from './postgres-failures.js';
import { CONNECT_LIMIT_MS, connectToPrimary, end, type Primary } from './primary.js';
import type { KnownServers } from './servers.js';

export interface Connection {
  /**
   * Rows of the last statement. Throws {@link LogUnavailable} when it was not sent, {@link OutcomeUnknown} when it was and
   * there is no answer: it may have run. Other failures are thrown as they are. `limits.answerMs`: from when the connection is
   * free for the statement; `limits.allMs`: connecting and the statements before it included.
   */
  query(text: string, values?: readonly Value[], limits?: QueryLimits): Promise<readonly Row[]>;
  /** Whether it was connected when last used. */
  isUp(): boolean;
  /** A number that grows with each new connection. */
  generation(): number;
  /** What it is connected to; undefined while there is no connection. */
  connected(): Omit<Primary, 'client'> | undefined;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in PostgreSQL's list of connections. */
  readonly name: string;
  readonly clock: Clock;
  /** Servers with a log that is not that of this copy any more are not used. Absent: any that accepts writes is. */
  readonly servers?: KnownServers;
  /** Run on each new connection. */
  readonly prepare?: readonly string[];
  /** Called with the payload of each notification, and the number of the server's process whose connection sent it. */
  readonly onNotice?: (payload: string, backend: number) => void;
  /** Called when a connection was made. */
  readonly onUp?: () => void;
  /** Called when it was lost. */
  readonly onDown?: () => void;
}

const ANSWER_LIMIT_MS = 10_000;
const AT_CONNECTING = { answerMs: CONNECT_LIMIT_MS, allMs: CONNECT_LIMIT_MS };
/** After a failed attempt to connect, no other is made for so long. */
const REST_MS = 250;

export function createConnection(options: ConnectionOptions): Connection {
  const { clock, onDown = () => {} } = options;
  let primary: Primary | undefined;
  let connecting: Promise<Primary['client']> | undefined;
  let generation = 0;
  let failed: { readonly error: unknown; readonly atMs: number } | undefined;
  let closed = false;

  const drop = (lost: Primary['client']): void => {
    if (primary?.client === lost) {
      primary = undefined;
      onDown();
    }
    end(lost);
  };

  async function connect(): Promise<Primary['client']> {
    const fresh = await openPrimary(options, drop);
    if (closed) {
      end(fresh.client);
      throw new LogUnavailable('this process is stopping');
    }
    primary = fresh;
    generation++;
    failed = undefined;
    options.onUp?.();
    return fresh.client;
  }

  function use(): Promise<Primary['client']> | Primary['client'] {
    // Another connection may have found the server that was promoted.
    if (primary && options.servers?.refusal(primary.server) !== undefined) drop(primary.client);
    if (primary) return primary.client;
    if (closed) throw new LogUnavailable('this process is stopping');
    if (failed && steadyMs(clock) - failed.atMs < REST_MS) throw failed.error;
    connecting ??= connect()
      .catch((error: unknown) => {
        failed = { error, atMs: steadyMs(clock) };
        throw error;
      })
      .finally(() => {
        connecting = undefined;
      });
    return connecting;
  }

  return {
    async query(text, values = [], { answerMs = ANSWER_LIMIT_MS, allMs = Number.POSITIVE_INFINITY } = {}) {
      const endMs = steadyMs(clock) + allMs;
      const ready = use();
      const used = ready instanceof Promise ? await within(clock, allMs, ready) : ready;
      if (used === undefined) throw new LogUnavailable(noAnswer(allMs));
      try {
        return await ask(used, clock, { text, values }, { answerMs, allMs: endMs - steadyMs(clock) });
      } catch (error) {
        if (!isLoss(error)) throw error;
        drop(used);
        throw error instanceof LogUnavailable
          ? error
          : new OutcomeUnknown(`The connection to PostgreSQL was lost: ${messageOf(error)}`);
      }
    },
    isUp: () => primary !== undefined,
    generation: () => generation,
    connected: () => primary,
    async close() {
      closed = true;
      await connecting?.catch(() => {});
      const last = primary;
      primary = undefined;
      if (last) await withLimit(clock, 1000, last.client.end()).catch(() => {});
    },
  };
}

/** Throws a {@link LogUnavailable}, or a UserError when the server refuses for good. */
async function openPrimary(options: ConnectionOptions, drop: (lost: Primary['client']) => void): Promise<Primary> {
  const { clock, onNotice, prepare = [] } = options;
  const found = await connectToPrimary({ ...options, onEnd: drop });
  const { client } = found;
  client.on('notification', ({ payload = '', processId }) => onNotice?.(payload, processId));
  try {
    for (const text of prepare) await ask(client, clock, { text, values: [] }, AT_CONNECTING);
    return found;
  } catch (error) {
    end(client);
    throw isRefusal(error) ? refused(error) : new LogUnavailable(`PostgreSQL cannot be used: ${messageOf(error)}`);
  }
}
