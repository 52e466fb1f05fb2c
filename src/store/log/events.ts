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

const KEPT: PrunedLog = { table: 'events', kept: 1_000_000, newest: 0 };
const PRUNE_EVERY = 1000;
/** Rows that one statement inserts: each costs half as much then. */
const ROWS_AT_ONCE = 16;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('events', EVENT)),
  insertMany: store.prepare<SqlValue[]>(insertion('events', EVENT, ROWS_AT_ONCE)),
  prune: store.prepare<[seq: number]>('DELETE FROM events WHERE seq = ?'),
  from: store.prepareTuples<[seq: number], [seq: number, atUs: number]>(
    'SELECT seq, at_us FROM events WHERE seq >= ? ORDER BY seq LIMIT 1',
  ),
  last: store.prepareTuples<[], [number | null]>('SELECT max(seq) FROM events'),
  stage: store.prepare<[edit: number, ord: number, events: string]>(
    'INSERT INTO staged_events (edit, ord, events) VALUES (?, ?, ?)',
  ),
  happened: store.prepareTuples<[before: number], [edit: number, ord: number, atUs: number, change: number | null]>(
    `SELECT s.edit, s.ord, e.at_us, e.change FROM staged_events AS s CROSS JOIN zone_edits AS e ON e.seq = s.edit
     WHERE e.zone <> 0 AND e.at_us < ? ORDER BY e.at_us, s.edit, s.ord LIMIT 1`,
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

/** Searches the events of all accounts, which are in the order of time unless the clock was set back. Undefined: none. */
export function firstEventAfter(store: Store, atUs: number): FirstEvent | undefined {
  const { from, last } = statements(store);
  let found: FirstEvent | undefined;
  const oldest = from.get(0)?.[0] ?? 0;
  for (let [low, high] = [oldest, last.get()?.[0] ?? -1]; low <= high; ) {
    const middle = Math.floor((low + high) / 2);
    const [seq, at] = from.get(middle)!;
    if (at > atUs) {
      found = { seq, atUs: at, isOldest: seq === oldest && seq > 1 };
      high = middle - 1;
    } else low = seq + 1;
  }
  return found;
}

/** Appends events, after staged events that have happened before them. Only the kernel calls it, inside the write that made them. */
export function appendEvents(store: Store, rows: readonly NewEventRow[]): void {
  const [first] = rows;
  if (!first) return;
  while (appendStaged(store, first.at_us));
  insertRows(store, rows);
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
export function stageEvents(store: Store, edit: number, ord: number, events: readonly PlannedEvent[]): void {
  statements(store).stage.run(edit, ord, pack(events));
}

/** Appends a part of the staged events that have happened, the oldest first; false when there are none. Call inside a write. */
export function appendStagedEvents(store: Store): boolean {
  return appendStaged(store, Number.MAX_SAFE_INTEGER);
}

function appendStaged(store: Store, beforeUs: number): boolean {
  const { happened, staged, unstage } = statements(store);
  const found = happened.get(beforeUs);
  if (!found) return false;
  const [edit, ord, at_us, change] = found;
  const [events] = staged.get(edit, ord)!;
  insertRows(
    store,
    unpackStagedEvents(events).map((event) => ({ ...event, at_us, change })),
  );
  unstage.run(edit, ord);
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
function pack(events: readonly PlannedEvent[]): string {
  const first = Object.entries(plain(events[0]!));
  const others = events.slice(1).map((event) => {
    const values = plain(event);
    return Object.fromEntries(first.flatMap(([name, value]) => (values[name] === value ? [] : [[name, values[name]]])));
  });
  return JSON.stringify([Object.fromEntries(first), ...others]);
}

type Plain = Readonly<Record<string, number | string | null | undefined>>;

function plain(event: PlannedEvent): Plain {
  const octets = OCTETS.map((name) => [name, event[name] && toHex(event[name])]);
  return { ...event, ...Object.fromEntries(octets) };
}

/** Those of one part, from its row. */
export function unpackStagedEvents(text: string): PlannedEvent[] {
  const [first, ...others] = JSON.parse(text) as [Plain, ...Plain[]];
  return [first, ...others].map((values) => {
    const event = { ...first, ...values };
    const octets = OCTETS.map((name) => [name, event[name] ? fromHex(event[name] as string) : null]);
    return { ...event, ...Object.fromEntries(octets) } as PlannedEvent;
  });
}
