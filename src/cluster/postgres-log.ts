/**
 * The log in PostgreSQL: its order is the order of a primary key, and an entry is durable when its transaction is. Four
 * connections: one appends, which may wait for a standby or for another node's turn; one reads and hears what is new; one is for
 * what nodes tell each other, so that no request waits for that when PostgreSQL is far away; and one holds the turn to write.
 */
import { type Clock, sleep, steadyMs } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import { EntryRefused, LogUnavailable, notWritten, OutcomeUnknown } from '../store/failures.js';
import type { EntryLog, Patience, Stretch } from '../store/log-writer.js';
import type { Entry } from '../store/recording.js';
import type { Position } from '../store/replay.js';
import type { QueryLimits, Row } from './ask.js';
import { type Connection, createConnection } from './connection.js';
import { digestOf, isSame, sumOf } from './digest.js';
import { isLockTimeout, isMissing, isRefused } from './postgres-failures.js';
import type { RecentEntries } from './recent-entries.js';
import type { KnownServers } from './servers.js';
import {
  ADD_FIRST_ENTRY,
  ADD_PART,
  APPEND,
  CONFIRM,
  DELETE_PARTS,
  FIND_CLUSTER,
  FIND_ENTRY,
  IS_WHOLE,
  LAYOUT,
  LISTEN,
  LOCK_TIMEOUT_MS,
  LOOK,
  prepareTurn,
  prepareWriter,
  READ,
  READ_PART,
} from './statements.js';
import { createTurns } from './turn.js';

export interface ClusterLog extends EntryLog {
  /** Connection for reading, which also hears notifications. */
  readonly reader: Connection;
  /** Connection for what nodes tell each other; made when it is first used. */
  readonly teller: Connection;
  /** Connection for writing; a follower has no right to do so. */
  readonly writer: Connection;
  /** The identifier of the cluster. Throws a UserError where there is none, or one of another layout. */
  clusterId(): Promise<string>;
  /** The same, but undefined where there is none. */
  findClusterId(): Promise<string | undefined>;
  /** The number of the last entry. */
  head(): Promise<number>;
  /** A connection for nothing else, such as a transaction; who asks for it closes it. */
  connect(purpose: string): Connection;
  close(): Promise<void>;
}

export interface PostgresLogOptions {
  readonly url: string;
  readonly node: string;
  readonly clock: Clock;
  /** Absent: whatever server accepts writes is used. */
  readonly servers?: KnownServers;
  /** Where entries are kept for a while that the copy has applied. */
  readonly recent?: RecentEntries;
  /** How long an append waits for a server that is away, milliseconds. */
  readonly patienceMs: number;
  /**
   * Called with each notification (`entry <number>`, or `own <number>` if it was appended here; `node <name>`), and with `up`
   * after each connection.
   */
  readonly onNews?: (news: string) => void;
  readonly onDown?: () => void;
}

/** Octets of a body in one row; a larger one is stored in parts. */
const PART_OCTETS = 8 << 20;
/** Octets of bodies that are read at once. */
const READ_OCTETS = 8 << 20;
/** Milliseconds between two attempts to reach a server that is away. */
const RETRY_MS = 300;
/** An append may wait for a standby; only a connection without any sign of life is given up. */
const APPEND_LIMIT_MS = 15_000;
/** A connection may be dead that another would replace at once: a patience has time for some attempts. */
const ATTEMPTS = 3;
/** No answer is waited for less long. */
const LEAST_MS = 1000;
/** Octets that go through the slowest network in a millisecond; the time for them is not waiting. */
const OCTETS_PER_MS = 256;
/** Another node's turn is waited for less long than an answer, so that the server says that nothing was appended. */
const TURN_WAIT = 0.8;

/** Begins the notification of an entry. */
const ENTRY = /^entry /;
const NOTICE = /^(?:entry|node) /;

export function openPostgresLog(options: PostgresLogOptions): ClusterLog {
  const { url, node, clock, servers, onNews = () => {}, onDown } = options;
  const to = { url, clock, ...(servers && { servers }) };
  const reader = createConnection({
    ...to,
    name: `zoneplane ${node}`,
    prepare: [LISTEN],
    onNotice(payload, backend) {
      // Anybody who reaches the database can notify.
      if (!NOTICE.test(payload)) return;
      onNews(backend === writer.connected()?.backend ? payload.replace(ENTRY, 'own ') : payload);
    },
    onUp: () => onNews('up'),
    ...(onDown && { onDown }),
  });
  const answerMs = answerLimitMs(options.patienceMs);
  const lockTimeoutMs = Math.min(LOCK_TIMEOUT_MS, Math.round(answerMs * TURN_WAIT));
  const writer = createConnection({
    ...{ ...to, name: `zoneplane ${node} writes`, prepare: [prepareWriter(lockTimeoutMs)] },
  });
  const holder = createConnection({
    ...{ ...to, name: `zoneplane ${node} turn`, prepare: [prepareTurn(lockTimeoutMs)] },
  });
  const teller = createConnection({ ...to, name: `zoneplane ${node} nodes` });
  const turns = createTurns(holder, clock, answerMs);
  const patiently = createWaiting(clock, answerMs);
  const patience = (mostMs = options.patienceMs, waitedMs = 0): Patience => ({
    sinceMs: steadyMs(clock) - waitedMs,
    mostMs,
  });
  return {
    reader,
    teller,
    writer,
    async clusterId() {
      const id = await findCluster(reader);
      if (id === undefined) throw noCluster();
      return id;
    },
    findClusterId: () => findCluster(reader),
    async head() {
      const [row] = await reader.query(LOOK, [0]);
      return Number(row!['last'] ?? 0);
    },
    connect: (purpose) => createConnection({ ...to, name: `zoneplane ${node} ${purpose}` }),
    patience,
    async append(entry, granted = patience()) {
      const ended = turns.append();
      try {
        return await patiently(granted, async (limits, wasLost) => {
          const isAdded = await appendOnce(writer, { entry, node, isInTurn: turns.isHeld() }, limits, wasLost);
          if (isAdded) noteServer(writer, servers);
          return isAdded;
        });
      } finally {
        ended();
      }
    },
    async read(behind, limit, granted) {
      const stretch = await (granted
        ? patiently(granted, (limits) => notAppended(readBehind(reader, servers, behind, limit, limits)))
        : readBehind(reader, servers, behind, limit));
      if (stretch.entries.length > 0) turns.noteOthers();
      return stretch;
    },
    takeTurn: (wasBeaten) => turns.take(wasBeaten),
    noteApplied: (entries) => options.recent?.add(entries),
    async close() {
      await Promise.all([reader, teller, writer, holder].map((connection) => connection.close()));
    },
  };
}

function noCluster(): UserError {
  return new UserError(
    'the PostgreSQL database holds no cluster yet',
    'Run `zoneplane cluster init` once, on the node whose zones are to be those of all.',
  );
}

async function findCluster(reader: Connection): Promise<string | undefined> {
  const rows = await reader.query(FIND_CLUSTER).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const [found] = rows;
  if (!found) return undefined;
  if (found['layout'] !== LAYOUT) {
    throw new UserError(
      `the tables of the cluster have version ${found['layout']}, but this program knows version ${LAYOUT}`,
      'Run the same version of zoneplane on all nodes. A cluster of a preview is begun anew in another database: `cluster leave`, then `cluster init` on one node.',
    );
  }
  return String(found['id']);
}

/** The first entry of a log has no predecessor in it. */
export async function addFirstEntry(writer: Connection, entry: Entry, node: string): Promise<void> {
  await writer.query(ADD_FIRST_ENTRY, rowOf(entry, node, []));
}

/** The body of an entry as it is stored: empty for one that is in its row. */
function partsOf({ body }: Entry): readonly Uint8Array[] {
  if (body.length <= PART_OCTETS) return [];
  const length = Math.ceil(body.length / PART_OCTETS);
  return Array.from({ length }, (_, part) => body.subarray(part * PART_OCTETS, (part + 1) * PART_OCTETS));
}

function rowOf(entry: Entry, node: string, parts: readonly Uint8Array[]) {
  const { number, id, after, schema, body } = entry;
  const stored = parts.length > 0 ? new Uint8Array(0) : body;
  return [number, id, after, schema, parts.length, node, stored, digestOf(entry, parts)];
}

/** How long an answer is waited for; also by a write that is not to try again. */
const answerLimitMs = (patienceMs: number): number =>
  Math.min(APPEND_LIMIT_MS, Math.max(LEAST_MS, patienceMs / ATTEMPTS));

type Attempt<Result> = (limits: Required<QueryLimits>, wasLost: boolean) => Promise<Result>;

/**
 * Returns a function that tries again while the server is away, as long as its patience lasts: the time for which the server
 * lets the write wait, itself or by way of the writes before it. Throws a {@link LogUnavailable} then, and an
 * {@link OutcomeUnknown} when an attempt may have done what it was to do.
 */
function createWaiting(clock: Clock, answerMs: number) {
  /** Since when nothing comes through; undefined while everything does. */
  let stalledMs: number | undefined;

  return async <Result>({ sinceMs, mostMs }: Patience, attempt: Attempt<Result>): Promise<Result> => {
    const beginMs = stalledMs === undefined ? steadyMs(clock) : Math.max(sinceMs, stalledMs);
    stalledMs ??= beginMs;
    const leftMs = (): number => beginMs + Math.max(mostMs, answerMs) - steadyMs(clock);
    if (leftMs() <= 0) throw new LogUnavailable(`PostgreSQL has not answered for ${Math.round(mostMs / 1000)} s`);
    for (let wasLost = false; ; ) {
      try {
        const result = await attempt({ answerMs, allMs: leftMs() }, wasLost);
        stalledMs = undefined;
        return result;
      } catch (error) {
        const failure = isLockTimeout(error) || error instanceof UserError ? notWritten(error) : error;
        // A missing right, for example: trying again does not help.
        const isFinal = isRefused(error) || !(failure instanceof LogUnavailable);
        if (isFinal) stalledMs = undefined;
        wasLost ||= failure instanceof OutcomeUnknown;
        if (!isFinal && steadyMs(clock) + RETRY_MS <= beginMs + mostMs) await sleep(RETRY_MS);
        else throw wasLost ? new OutcomeUnknown(messageOf(error)) : isRefused(error) ? notWritten(error) : failure;
      }
    }
  };
}

/** What is asked appends nothing, so a lost answer leaves nothing open. */
async function notAppended<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof OutcomeUnknown ? new LogUnavailable(error.message) : error;
  }
}

/** `wasLost`: an attempt before, whose answer did not come, may have stored the entry. */
async function appendOnce(
  writer: Connection,
  { entry, node, isInTurn }: { readonly entry: Entry; readonly node: string; readonly isInTurn: boolean },
  { answerMs, allMs }: Required<QueryLimits>,
  wasLost: boolean,
): Promise<boolean> {
  const sendingMs = entry.body.length / OCTETS_PER_MS;
  const limits = { answerMs: answerMs + sendingMs, allMs: allMs + sendingMs };
  const parts = partsOf(entry);
  for (const [part, body] of parts.entries())
    await notAppended(writer.query(ADD_PART, [entry.id, part, body, sumOf(body)], limits));
  const added = await writer.query(APPEND, [...rowOf(entry, node, parts), String(isInTurn)], limits);
  if (added.length > 0) return true;
  const [found] = await notAppended(writer.query(FIND_ENTRY, [entry.number], limits)).catch((error: unknown) => {
    throw wasLost && error instanceof LogUnavailable ? new OutcomeUnknown(error.message) : error;
  });
  if (found?.['id'] === entry.id) {
    // A server that ended while it waited for its standby shows the entry without one; this waits for it.
    await writer.query(CONFIRM, [], limits);
    return true;
  }
  if (found?.['id'] === null && found['before'] === entry.after)
    throw new LogUnavailable(damagedOnTheWay(entry.number));
  if (parts.length > 0) await notAppended(writer.query(DELETE_PARTS, [entry.id], limits));
  return false;
}

const damagedOnTheWay = (number: number): string =>
  `entry ${number} of the log was damaged on the way to PostgreSQL or from it; TLS would show that at once`;

/** The server that has just answered holds the log of this copy: it has the entry at its position. */
function noteServer(connection: Connection, servers: KnownServers | undefined): void {
  const connected = connection.connected();
  if (connected) servers?.note(connected.server);
}

async function readBehind(
  reader: Connection,
  servers: KnownServers | undefined,
  behind: Position,
  limit: number,
  limits: QueryLimits = {},
): Promise<Stretch> {
  const found = await reader.query(READ, [behind.number, limit, READ_OCTETS], limits).catch((error: unknown) => {
    // Somebody has emptied the database: for the copy that is as if the server were away.
    throw isMissing(error) ? noCluster() : error;
  });
  const rows = found.filter(({ number }) => Number(number) > behind.number);
  if (!isNextOf(rows[0], behind) && !isAt(found[0], behind)) throw await otherHistory(reader, behind);
  noteServer(reader, servers);
  const entries: Entry[] = [];
  for (const row of rows) entries.push(await entryOf(reader, row));
  return { entries, isEnd: Number(found[0]!['last']) === behind.number + entries.length };
}

function isAt(row: Row | undefined, { number, id }: Position): boolean {
  return row !== undefined && Number(row['number']) === number && row['id'] === id;
}

/** The first entry of a log follows an empty position. */
function isNextOf(row: Row | undefined, behind: Position): boolean {
  return row !== undefined && Number(row['number']) === behind.number + 1 && row['after'] === behind.id;
}

/** Why the log does not have the entry at this position; two answers say so, as one may have been damaged on the way. */
async function otherHistory(reader: Connection, { number, id }: Position): Promise<EntryRefused | LogUnavailable> {
  const [row] = await reader.query(LOOK, [number]);
  if (number > 0 && row?.['id'] === id) return new LogUnavailable(damagedOnTheWay(number));
  const [first, last] = [Number(row?.['first'] ?? 0), Number(row?.['last'] ?? 0)];
  if (number < first) {
    return new EntryRefused('gap', `This copy is at entry ${number}, but the log begins at ${first}.`, number + 1);
  }
  const reason = number > last ? `the log ends at ${last}` : 'the log has another entry there';
  return new EntryRefused(
    'history',
    `This copy is at entry ${number}, but ${reason}: it has lost entries.`,
    number + 1,
  );
}

/** Throws a {@link LogUnavailable} when what has come is not what is stored, and an {@link EntryRefused} when that is damaged. */
async function entryOf(reader: Connection, row: Row): Promise<Entry> {
  const number = Number(row['number']);
  const parts: Uint8Array[] = [];
  for (let part = 0; part < Number(row['parts']); part++) {
    const [found] = await reader.query(READ_PART, [String(row['id']), part], { answerMs: 60_000 });
    if (found) parts.push(found['body'] as Uint8Array);
  }
  const entry = {
    number,
    id: String(row['id']),
    after: String(row['after']),
    schema: Number(row['schema']),
    body: parts.length > 0 ? Buffer.concat(parts) : (row['body'] as Uint8Array),
  };
  if (isSame(row['digest'], digestOf(entry, parts))) return entry;
  const [stored] = await reader.query(IS_WHOLE, [number]);
  if (stored?.['whole'] === true) throw new LogUnavailable(damagedOnTheWay(number));
  throw new EntryRefused('damaged', `Entry ${number} of the log is damaged where it is stored.`, number);
}
