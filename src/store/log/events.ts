/**
 * The outbox: what happened, one row for each commit and subject, with the state before and after. It never contains secrets. Its
 * numbers grow and are never used again, so a reader that remembers the last one misses nothing that is still kept.
 */
import { fromHex, toHex } from '../../base/bytes.js';
import { column, columns, insertion, type RowOf, runs, theValue } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { entriesToPrune, type PrunedLog } from './prune.js';

const EVENT = columns({
  at_us: column<number>(),
  /** Such as `record.create`. */
  kind: column<string>(),
  /** Identifier of the subject, and what people call it. */
  subject: column<Uint8Array | null>(),
  name: column<string | null>(),
  zone: column<Uint8Array | null>(),
  zone_name: column<string | null>(),
  /** Store number of the account; null for what belongs to no account. */
  account: column<number | null>(),
  actor: column<string>(),
  actor_kind: column<string>(),
  /** Identifier of the user; null for the operator. */
  actor_id: column<Uint8Array | null>(),
  credential: column<Uint8Array | null>(),
  credential_name: column<string | null>(),
  /** Source address of the request; null at the command line. */
  address: column<string | null>(),
  source: column<string>(),
  request_id: column<string>(),
  /** Number in the change log. */
  change: column<number | null>(),
  /** JSON, or null. */
  before: column<string | null>(),
  after: column<string | null>(),
});

export interface EventRow extends RowOf<typeof EVENT> {
  readonly seq: number;
}

export type NewEventRow = RowOf<typeof EVENT>;

/** An event of an edit that has not happened yet. */
export type PlannedEvent = Omit<NewEventRow, 'at_us' | 'change'>;

/** One that is stored aside: of an edit that gives it its time and change, or one that came later and has them. */
export type StagedEvent = PlannedEvent & Partial<NewEventRow>;

const KEPT: PrunedLog = { table: 'events', kept: 1_000_000, newest: 0 };
const PRUNE_EVERY = 1000;
/** Rows that one statement inserts: each costs half as much then. */
const ROWS_AT_ONCE = 16;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('events', EVENT)),
  insertMany: store.prepare<SqlValue[]>(insertion('events', EVENT, ROWS_AT_ONCE)),
  prune: store.prepare<[seq: number]>('DELETE FROM events WHERE seq = ?'),
  from: store.prepareTuples<[account: number, seq: number], [seq: number, atUs: number]>(
    'SELECT seq, at_us FROM events WHERE account = ? AND seq >= ? ORDER BY seq LIMIT 1',
  ),
  first: store.prepareTuples<[], [number | null]>('SELECT min(seq) FROM events'),
  last: store.prepareTuples<[], [number | null]>('SELECT max(seq) FROM events'),
  stage: store.prepare<[edit: number, ord: number, events: string]>(
    'INSERT INTO staged_events (edit, ord, events) VALUES (?, ?, ?)',
  ),
  nextEdit: store.prepareTuples<[after: number], [edit: number | null]>(
    'SELECT min(edit) FROM staged_events WHERE edit > ?',
  ),
  edit: store.prepare<[edit: number], ToldEdit>(
    `SELECT seq, at_us, change,
       (SELECT events ->> '$[0].account' FROM staged_events WHERE edit = seq ORDER BY ord LIMIT 1) AS account
     FROM zone_edits WHERE seq = ? AND zone <> 0`,
  ),
  parts: store.prepareTuples<[edit: number], [first: number | null, last: number | null]>(
    'SELECT min(ord), max(ord) FROM staged_events WHERE edit = ?',
  ),
  staged: store.prepareTuples<[edit: number, ord: number], [string]>(
    'SELECT events FROM staged_events WHERE edit = ? AND ord = ?',
  ),
  unstage: store.prepare<[edit: number, ord: number]>('DELETE FROM staged_events WHERE edit = ? AND ord = ?'),
}));

/** The first event after a moment. */
export interface FirstEvent {
  readonly seq: number;
  readonly atUs: number;
  /** Earlier events were removed; some of them may have been after that moment, too. */
  readonly isOldest: boolean;
}

/** Searches the events of an account, which are in the order of time unless the clock was set back. Undefined: none. */
export function firstEventAfter(store: Store, account: number, atUs: number): FirstEvent | undefined {
  const { from, first, last } = statements(store);
  const newest = last.get()![0] ?? 0;
  const [oldest] = from.get(account, 0) ?? [0];
  const isPruned = newest > KEPT.kept || (first.get()![0] ?? 1) > 1;
  let found: FirstEvent | undefined;
  for (let [low, high] = [oldest, newest]; low <= high; ) {
    const middle = Math.floor((low + high) / 2);
    const event = from.get(account, middle);
    if (event && event[1] <= atUs) low = event[0] + 1;
    else {
      if (event) found = { seq: event[0], atUs: event[1], isOldest: event[0] === oldest && isPruned };
      high = middle - 1;
    }
  }
  return found;
}

/**
 * Appends events, after staged events of the same account that have happened before them. If these are so many that the write would be
 * long, it appends some of them, and stages its own behind them. Only the kernel calls it, inside the write that made them.
 */
export function appendEvents(store: Store, rows: readonly NewEventRow[]): void {
  const [first] = rows;
  if (!first) return;
  const untold = toldEdits(store, first.at_us);
  if (untold.length === 0) {
    insertRows(store, rows);
    return;
  }
  const ofAccounts = new Map<number | null, NewEventRow[]>();
  for (const row of rows) {
    const known = ofAccounts.get(row.account);
    if (known) known.push(row);
    else ofAccounts.set(row.account, [row]);
  }
  for (const [account, own] of ofAccounts) {
    const before = untold.filter((edit) => edit.account === account);
    const last = appendSome(store, before);
    if (last === undefined) insertRows(store, own);
    else stageEvents(store, last, statements(store).parts.get(last)![1]! + 1, own);
  }
}

/** Parts of staged events that a write appends before its own events, in some milliseconds. */
const PARTS_AT_ONCE = 16;

/** Appends the first parts of these edits; returns the last edit, if parts are left. */
function appendSome(store: Store, edits: readonly ToldEdit[]): number | undefined {
  let parts = 0;
  for (const edit of edits) {
    while (parts < PARTS_AT_ONCE && appendPart(store, edit)) parts++;
  }
  const last = edits.at(-1);
  return last && statements(store).parts.get(last.seq)![1] !== null ? last.seq : undefined;
}

function insertRows(store: Store, rows: readonly NewEventRow[]): void {
  const { insert, insertMany, prune } = statements(store);
  let seq = 0;
  for (let at = 0; at < rows.length; ) {
    const some = rows.slice(at, at + ROWS_AT_ONCE);
    const isWhole = some.length === ROWS_AT_ONCE;
    const inserted = isWhole ? insertMany.run(...some.flatMap(EVENT.values)) : insert.run(...EVENT.values(some[0]!));
    seq = inserted.lastInsertRowid;
    at += isWhole ? ROWS_AT_ONCE : 1;
  }
  if (seq % PRUNE_EVERY >= rows.length || seq <= KEPT.kept) return;
  for (const old of entriesToPrune(store, KEPT, rows[0]!.at_us)) prune.run(old);
}

/**
 * Stores events for a staged edit (edits.ts): part number `ord` of them, at least one event. They have happened once the edit belongs
 * to its zone; the write that does this would be long if it appended them.
 */
export function stageEvents(store: Store, edit: number, ord: number, events: readonly StagedEvent[]): void {
  statements(store).stage.run(edit, ord, pack(events));
}

/** Appends a part of the staged events that have happened, the oldest first; false when there are none. Call inside a write. */
export function appendStagedEvents(store: Store): boolean {
  const [oldest] = toldEdits(store, Number.MAX_SAFE_INTEGER);
  return oldest !== undefined && appendPart(store, oldest);
}

/** An edit that has happened, and has staged events. */
interface ToldEdit {
  readonly seq: number;
  readonly at_us: number;
  readonly change: number | null;
  /** That of its events, also when its zone is gone. */
  readonly account: number | null;
}

/** Those before a time, microseconds since 1970, the oldest first. */
function toldEdits(store: Store, beforeUs: number): ToldEdit[] {
  const { nextEdit, edit } = statements(store);
  const found: ToldEdit[] = [];
  for (let seq = nextEdit.get(0)![0]; seq !== null; seq = nextEdit.get(seq)![0]) {
    const happened = edit.get(seq);
    if (happened && happened.at_us < beforeUs) found.push(happened);
  }
  return found.sort((a, b) => a.at_us - b.at_us || a.seq - b.seq);
}

/** Appends the first part of the staged events of an edit; false when there is none. */
function appendPart(store: Store, { seq, at_us, change }: ToldEdit): boolean {
  const { parts, staged, unstage } = statements(store);
  const [ord] = parts.get(seq)!;
  if (ord === null) return false;
  const [events] = staged.get(seq, ord)!;
  insertRows(
    store,
    unpackStagedEvents(events).map((event) => ({ at_us, change, ...event })),
  );
  unstage.run(seq, ord);
  return true;
}

/** Parts of staged events that an edit has. */
export const countStagedEvents = theValue<[edit: number], number>('SELECT count(*) FROM staged_events WHERE edit = ?');

/** Removes events of edits that began before a time, microseconds since 1970, and have not happened. */
export const abandonStagedEvents = runs<[beforeUs: number]>(
  'DELETE FROM staged_events WHERE edit IN (SELECT seq FROM zone_edits WHERE zone = 0 AND at_us < ?)',
);

const OCTETS = ['subject', 'zone', 'actor_id', 'credential'] as const;

/** What differs from the first one, and octets as hexadecimal text. */
function pack(events: readonly StagedEvent[]): string {
  const first = Object.entries(plain(events[0]!));
  const others = events.slice(1).map((event) => {
    const values = plain(event);
    return Object.fromEntries(first.flatMap(([name, value]) => (values[name] === value ? [] : [[name, values[name]]])));
  });
  return JSON.stringify([Object.fromEntries(first), ...others]);
}

type Plain = Readonly<Record<string, number | string | null | undefined>>;

function plain(event: StagedEvent): Plain {
  const octets = OCTETS.map((name) => [name, event[name] && toHex(event[name])]);
  return { ...event, ...Object.fromEntries(octets) };
}

/** Those of one part, from its row. */
export function unpackStagedEvents(text: string): StagedEvent[] {
  const [first, ...others] = JSON.parse(text) as [Plain, ...Plain[]];
  return [first, ...others].map((values) => {
    const event = { ...first, ...values };
    const octets = OCTETS.map((name) => [name, event[name] ? fromHex(event[name] as string) : null]);
    return { ...event, ...Object.fromEntries(octets) } as StagedEvent;
  });
}
