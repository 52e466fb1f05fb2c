/**
 * One connection to the PostgreSQL server that accepts writes. It is made when it is needed, and anew when it was lost. A
 * server that does not answer is given up; what is asked then is refused at once for a while, so that nobody waits for a server
 * that is away.
 */
import pg from 'pg';
import { type Clock, steadyMs } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import { withLimit } from '../base/lifecycle.js';
import { LogUnavailable, OutcomeUnknown } from '../store/failures.js';
import { hostsOf } from './address.js';
import { IS_STANDBY } from './statements.js';

export type Row = Readonly<Record<string, unknown>>;
export type Value = string | number | Uint8Array;

export interface QueryLimits {
  readonly answerMs?: number;
  readonly allMs?: number;
}

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
  /** The number of its process in the server; undefined while there is no connection. */
  backend(): number | undefined;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in PostgreSQL's list of connections. */
  readonly name: string;
  readonly clock: Clock;
  /** Run on each new connection. */
  readonly prepare?: readonly string[];
  /** Called with the payload of each notification, and the number of the server's process whose connection sent it. */
  readonly onNotice?: (payload: string, backend: number) => void;
  /** Called when a connection was made. */
  readonly onUp?: () => void;
  /** Called when it was lost. */
  readonly onDown?: () => void;
}

const CONNECT_LIMIT_MS = 3000;
const ANSWER_LIMIT_MS = 10_000;
const AT_CONNECTING = { answerMs: CONNECT_LIMIT_MS, allMs: CONNECT_LIMIT_MS };
/** After a failed attempt to connect, no other is made for so long. */
const REST_MS = 250;

export function createConnection(options: ConnectionOptions): Connection {
  const { clock, onDown = () => {} } = options;
  let client: pg.Client | undefined;
  let connecting: Promise<pg.Client> | undefined;
  let generation = 0;
  let failed: { readonly error: unknown; readonly atMs: number } | undefined;
  let closed = false;

  const drop = (lost: pg.Client): void => {
    if (client === lost) {
      client = undefined;
      onDown();
    }
    end(lost);
  };

  async function connect(): Promise<pg.Client> {
    const fresh = await connectToPrimary(options, drop);
    if (closed) {
      end(fresh);
      throw new LogUnavailable('this process is stopping');
    }
    client = fresh;
    generation++;
    failed = undefined;
    options.onUp?.();
    return fresh;
  }

  function use(): Promise<pg.Client> | pg.Client {
    if (client) return client;
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
      const used = client ?? (await within(clock, allMs, Promise.resolve(use())));
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
    isUp: () => client !== undefined,
    generation: () => generation,
    // Missing in the types of pg.
    backend: () => (client as { processID?: number } | undefined)?.processID,
    async close() {
      closed = true;
      await connecting?.catch(() => {});
      const last = client;
      client = undefined;
      if (last) await withLimit(clock, 1000, last.end()).catch(() => {});
    },
  };
}

/** Statements with parameters are planned once for each connection; their texts are constants. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const name = names.get(text) ?? `zoneplane${names.size}`;
  names.set(text, name);
  return name;
}

/** One statement at a time; the time of those before it does not count. */
const lastAsked = new WeakMap<pg.Client, Promise<unknown>>();

async function ask(
  client: pg.Client,
  clock: Clock,
  { text, values }: { readonly text: string; readonly values: readonly Value[] },
  { answerMs, allMs }: Required<QueryLimits>,
): Promise<readonly Row[]> {
  const endMs = steadyMs(clock) + allMs;
  const before = lastAsked.get(client) ?? Promise.resolve();
  const asked = before.then(() =>
    client.query(values.length > 0 ? { name: nameOf(text), text, values: values.map(toParameter) } : text),
  );
  const ended = asked.then(
    () => {},
    () => {},
  );
  lastAsked.set(client, ended);
  if (
    (await within(
      clock,
      allMs,
      before.then(() => true),
    )) === undefined
  )
    throw new OutcomeUnknown(noAnswer(allMs));
  const limitMs = Math.min(answerMs, Math.max(0, endMs - steadyMs(clock)));
  const result = await withLimit(clock, limitMs, asked);
  if (result === undefined) throw new OutcomeUnknown(noAnswer(limitMs));
  const last = Array.isArray(result) ? (result as pg.QueryResult[]).at(-1)! : result;
  return last.rows as Row[];
}

/** {@link withLimit} for a limit that may be infinite. */
function within<Result>(clock: Clock, limitMs: number, work: Promise<Result>): Promise<Result | undefined> {
  return limitMs === Number.POSITIVE_INFINITY ? work : withLimit(clock, Math.max(0, limitMs), work);
}

const noAnswer = (ms: number): string => `PostgreSQL did not answer within ${Math.round(ms / 100) / 10} s`;

function toParameter(value: Value): string | number | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Tries each host. Throws a {@link LogUnavailable}, or a UserError when the server refuses for good. */
async function connectToPrimary(options: ConnectionOptions, drop: (lost: pg.Client) => void): Promise<pg.Client> {
  const reasons: string[] = [];
  for (const connectionString of hostsOf(options.url)) {
    const client = clientFor(connectionString, options.name);
    // Without a listener, a lost connection would end the process.
    client.on('error', () => drop(client));
    try {
      await client.connect();
      const [{ standby } = {}] = await ask(client, options.clock, { text: IS_STANDBY, values: [] }, AT_CONNECTING);
      if (standby !== false) throw new Error('it is a standby');
      client.on('end', () => drop(client));
      client.on('notification', ({ payload = '', processId }) => options.onNotice?.(payload, processId));
      for (const text of options.prepare ?? []) await ask(client, options.clock, { text, values: [] }, AT_CONNECTING);
      return client;
    } catch (error) {
      end(client);
      if (isRefusal(error)) throw refused(error);
      reasons.push(`${client.host}:${client.port}: ${messageOf(error)}`);
    }
  }
  throw new LogUnavailable(`PostgreSQL cannot be reached: ${reasons.join('; ')}`);
}

/**
 * Throws a UserError for an address that `pg` cannot read, such as with a port that there is not, or a file that is missing.
 */
function clientFor(connectionString: string, application_name: string): pg.Client {
  try {
    return new pg.Client({
      connectionString,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name,
    });
  } catch (error) {
    // The address itself may contain a password.
    throw new UserError(
      `the address of the cluster cannot be used: ${messageOf(error)}`,
      'Write it as postgresql://user@host:5432/database, with what has a meaning in URLs percent-encoded, such as %40 for @ in a password.',
    );
  }
}

function end(client: pg.Client): void {
  client.end().catch(() => {});
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** Failures after which the connection is not used any more: no SQLSTATE at all, or one of an ending server or of a standby. */
function isLoss(error: unknown): boolean {
  if (error instanceof LogUnavailable) return true;
  const code = codeOf(error);
  return !/^[0-9A-Z]{5}$/.test(code) || /^(?:08|53|57P|25006|XX|58)/.test(code);
}

/** Wrong name, password, database or rights: trying again does not help. */
function isRefusal(error: unknown): boolean {
  return /^(?:28|3D000|42501)/.test(codeOf(error));
}

function refused(error: unknown): UserError {
  return new UserError(
    `PostgreSQL refuses the connection: ${messageOf(error)}`,
    'Check user, password and database of ZONEPLANE_CLUSTER.',
  );
}

/** Whether a statement failed since its schema is there already, made by somebody else perhaps at the same time. */
export const isDuplicate = (error: unknown): boolean => /^(?:42P06|42P07|23505)$/.test(codeOf(error));
/** Whether a statement failed since its tables are missing, or another has waited too long for its turn. */
export const isMissing = (error: unknown): boolean => /^(?:42P01|3F000)$/.test(codeOf(error));
/** Whether the server refuses a statement for another reason than its own end. */
export const isRefused = (error: unknown): boolean =>
  /^[0-9A-Z]{5}$/.test(codeOf(error)) && !isLoss(error) && !isLockTimeout(error);
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

/** A UserError for what the server refuses; any other error unchanged. */
export function explainPostgres(error: unknown): unknown {
  if (!/^[0-9A-Z]{5}$/.test(codeOf(error))) return error;
  return new UserError(
    `PostgreSQL refuses it: ${messageOf(error)}`,
    'Check the rights of the user of ZONEPLANE_CLUSTER in that database.',
  );
}
