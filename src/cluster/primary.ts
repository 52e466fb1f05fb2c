/**
 * Finds the server that accepts writes, among the hosts of an address. All are asked at once: a former primary that came back
 * accepts writes, too, and is told apart from the present one by its timeline.
 */
import type { Duplex } from 'node:stream';
import pg from 'pg';
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import { withLimit } from '../base/lifecycle.js';
import { LogUnavailable } from '../store/failures.js';
import { hostsOf, withStrictTls } from './address.js';
import { ask, type Row } from './ask.js';
import { isLoss, isRefusal, refused } from './postgres-failures.js';
import type { KnownServers, ServerIdentity } from './servers.js';
import { FIND_SYSTEM, FIND_TIMELINE, MEET } from './statements.js';

export interface Primary {
  readonly client: pg.Client;
  /** The number of the server's process for this connection; behind a pooler, `pg` knows another. */
  readonly backend: number;
  readonly server: ServerIdentity;
  /** Servers that accept writes, too, and must not be used: host and reason. */
  readonly passedOver: readonly string[];
}

export interface PrimaryOptions {
  readonly url: string;
  /** Shown in PostgreSQL's list of connections. */
  readonly name: string;
  readonly clock: Clock;
  /** Absent: any server that accepts writes is used. */
  readonly servers?: KnownServers;
  /** Called when a connection has ended, perhaps before it was used. */
  readonly onEnd: (client: pg.Client) => void;
}

export const CONNECT_LIMIT_MS = 3000;
/** When one host accepts writes, the others are waited for no longer: one that is down does not answer at all. */
const OTHERS_LIMIT_MS = 1000;
const LIMITS = { answerMs: CONNECT_LIMIT_MS, allMs: CONNECT_LIMIT_MS };

type Found = Omit<Primary, 'passedOver'>;

/** What became of one host; `refusal`: it accepts writes, but must not be used. `error`: a UserError ends the search. */
interface Attempt {
  readonly host: string;
  readonly found?: Found;
  readonly refusal?: string;
  readonly error?: unknown;
}

const FORMER_REMEDY =
  'Start the server that was promoted, and make the former one its standby, such as with pg_rewind. If it is to go on nevertheless, see «A former primary comes back» in docs/cluster.md.';

/** Throws a {@link LogUnavailable} when none accepts writes, or a UserError when one refuses for good. */
export async function connectToPrimary(options: PrimaryOptions): Promise<Primary> {
  const hosts = hostsOf(options.url);
  const attempts: (Attempt | undefined)[] = hosts.map(() => undefined);
  let isChosen = false;
  const first = Promise.withResolvers<void>();
  const all = Promise.all(
    hosts.map(async (url, index) => {
      const attempt = await tryHost(url, options);
      if (isChosen && attempt.found) end(attempt.found.client);
      attempts[index] = attempt;
      if (attempt.found) first.resolve();
    }),
  );
  await Promise.race([first.promise, all]);
  await withLimit(options.clock, OTHERS_LIMIT_MS, all);
  isChosen = true;
  const ended = attempts.flatMap((attempt) => attempt ?? []);
  const candidates = ended.flatMap(({ found }) => (found ? [found] : []));
  const chosen = candidates.reduce<Found | undefined>(
    (best, one) => (best && !isLater(one, best) ? best : one),
    undefined,
  );
  if (!chosen) throw failureOf(ended);
  const passedOver: string[] = [];
  for (const { host, found, refusal } of ended) {
    if (refusal !== undefined) passedOver.push(`${host}: ${refusal}`);
    if (!found || found === chosen) continue;
    end(found.client);
    if (isLater(chosen, found)) {
      const timelines = `timeline ${found.server.timeline}, but the log has gone on with timeline ${chosen.server.timeline}`;
      passedOver.push(`${host}: it is a former primary: it accepts writes on ${timelines}`);
    }
  }
  return { ...chosen, passedOver };
}

/** Whether a server was promoted after the other one; only those of one system can be compared. */
function isLater({ server: a }: Found, { server: b }: Found): boolean {
  return a.system === b.system && (a.timeline ?? 0) > (b.timeline ?? 0);
}

function failureOf(ended: readonly Attempt[]): Error {
  const fatal = ended.find(({ error }) => error instanceof UserError);
  if (fatal) return fatal.error as UserError;
  const reasons = ended.map(({ host, refusal, error }) => `${host}: ${refusal ?? messageOf(error)}`);
  const isFormer = ended.some(({ refusal }) => refusal !== undefined);
  return new LogUnavailable(
    `PostgreSQL cannot be ${isFormer ? 'used' : 'reached'}: ${reasons.join('; ')}`,
    isFormer ? FORMER_REMEDY : undefined,
  );
}

/** Never rejects. */
async function tryHost(url: string, { name, clock, servers, onEnd }: PrimaryOptions): Promise<Attempt> {
  let client: pg.Client;
  try {
    client = clientFor(url, name);
  } catch (error) {
    return { host: '', error };
  }
  const host = `${client.host}:${client.port}`;
  // Without a listener, a lost connection would end the process.
  client.on('error', () => onEnd(client));
  client.on('end', () => onEnd(client));
  try {
    await client.connect();
    const [{ standby, backend } = {} as Row] = await ask(client, clock, { text: MEET, values: [] }, LIMITS);
    if (standby !== false) throw new Error('it is a standby');
    // Missing in the types of pg.
    const isPooled = (client as { processID?: number }).processID !== backend;
    if (isPooled) await requireSessions(client, Number(backend), { url, name, clock });
    const server = await identify(client, clock);
    const refusal = servers?.refusal(server);
    if (refusal !== undefined) {
      end(client);
      return { host, refusal };
    }
    return { host, found: { client, backend: Number(backend), server } };
  } catch (error) {
    end(client);
    return { host, error: isRefusal(error) ? refused(error) : error };
  }
}

/** Asks in two statements, as the right to one of them may be missing. */
async function identify(client: pg.Client, clock: Clock): Promise<ServerIdentity> {
  const [system, timeline] = [
    await findValue(client, clock, FIND_SYSTEM),
    await findValue(client, clock, FIND_TIMELINE),
  ];
  return {
    ...(system !== undefined && { system }),
    ...(timeline !== undefined && { timeline: Number.parseInt(timeline, 16) }),
  };
}

/** Undefined when the server does not answer this, for lack of a right or of the function. */
async function findValue(client: pg.Client, clock: Clock, text: string): Promise<string | undefined> {
  try {
    const [row] = await ask(client, clock, { text, values: [] }, LIMITS);
    return typeof row?.['value'] === 'string' ? row['value'] : undefined;
  } catch (error) {
    if (isLoss(error)) throw error;
    return undefined;
  }
}

/** Which of two connections asks: any change of one's process, or a process that both have, shows that sessions are not kept. */
const PROBES = ['second', 'second', 'first', 'second', 'first', 'first'] as const;

/**
 * There is a pooler in front of PostgreSQL. Throws a UserError when it gives connections to other clients between transactions:
 * notifications would not arrive, and locks that last as long as a session would be held for others.
 */
async function requireSessions(
  first: pg.Client,
  backend: number,
  { url, name, clock }: Pick<PrimaryOptions, 'url' | 'name' | 'clock'>,
): Promise<void> {
  const second = clientFor(url, name);
  second.on('error', () => {});
  try {
    await second.connect();
    let seen: { readonly first: unknown; readonly second?: unknown } = { first: backend };
    for (const probe of PROBES) {
      const client = probe === 'first' ? first : second;
      const [row] = await ask(client, clock, { text: MEET, values: [] }, LIMITS);
      const last = seen[probe];
      seen = { ...seen, [probe]: row!['backend'] };
      if (seen.first === seen.second || (last !== undefined && last !== seen[probe])) throw transactionPooling();
    }
  } catch (error) {
    // Such as a pooler without a further connection for this node; what is lost is noticed by the next statement.
    if (error instanceof UserError) throw error;
  } finally {
    end(second);
  }
}

function transactionPooling(): UserError {
  return new UserError(
    'transaction pooling is not supported: the pooler in front of PostgreSQL gives a connection to other clients between transactions',
    'Set pool_mode = session for this database in PgBouncer, or give ZONEPLANE_CLUSTER the address of PostgreSQL itself.',
  );
}

/**
 * Throws a UserError for an address that `pg` cannot read, such as with a port that there is not, or a file that is missing.
 */
function clientFor(connectionString: string, application_name: string): pg.Client {
  try {
    return contained(
      new pg.Client({
        connectionString: withStrictTls(connectionString),
        connectionTimeoutMillis: CONNECT_LIMIT_MS,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
        application_name,
      }),
    );
  } catch (error) {
    // The address itself may contain a password.
    throw new UserError(
      `the address of the cluster cannot be used: ${messageOf(error)}`,
      'Write it as postgresql://user@host:5432/database, with what has a meaning in URLs percent-encoded, such as %40 for @ in a password.',
    );
  }
}

/** What `pg` attaches its parser to; missing in its types. */
interface Attaching {
  readonly connection: { attachListeners(stream: Duplex): void };
}

/**
 * `pg` throws in the listener of a socket when it cannot read what the server sends, which would end the process. Here it ends
 * the connection.
 */
function contained(client: pg.Client): pg.Client {
  const { connection } = client as unknown as Attaching;
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    const emit = stream.emit.bind(stream) as (event: string | symbol, ...values: unknown[]) => boolean;
    stream.emit = (event: string | symbol, ...values: unknown[]) => {
      if (event !== 'data') return emit(event, ...values);
      try {
        return emit(event, ...values);
      } catch (error) {
        stream.destroy(new Error(`PostgreSQL sent what cannot be read: ${messageOf(error)}`));
        return true;
      }
    };
    attach(stream);
  };
  return client;
}

/** Closes a connection, without waiting for it. */
export function end(client: pg.Client): void {
  client.end().catch(() => {});
}
