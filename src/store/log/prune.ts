/**
 * Which entries of a log go when it has more than it keeps. Entries that are older than a week go first, whoever's they are. Then
 * the oldest of the account that has written most lately: nobody pushes out what others did in the last week.
 */
import { perStore, type Store } from '../driver.js';

export interface PrunedLog {
  readonly table: 'zone_edits' | 'changes' | 'events';
  /** Entries that are kept. */
  readonly kept: number;
  /** The newest ones of them that nobody loses: who follows the log must not miss any. */
  readonly newest: number;
}

/** How long entries of everybody are kept, microseconds. */
const KEPT_US = 7 * 86_400_000_000;
/** Entries that are removed at once. */
const MOST_AT_ONCE = 2000;
/** The newest entries, by which it is seen who writes most. */
const LATELY = 2000;

/** The zone of an entry, and its account; events are told apart by account alone, which is null for those of the installation. */
const COLUMNS = {
  zone_edits: { zone: 'zone', account: '(SELECT account FROM zones WHERE seq = zone)' },
  changes: { zone: 'zone', account: '(SELECT account FROM zones WHERE seq = zone)' },
  events: { zone: 'account', account: 'account' },
} as const;

type Class = number | null;

const statementsOf = (store: Store, table: PrunedLog['table']) => {
  const { zone, account } = COLUMNS[table];
  return {
    count: store.prepareTuples<[], [number]>(`SELECT count(*) FROM ${table}`),
    last: store.prepareTuples<[], [number | null]>(`SELECT max(seq) FROM ${table}`),
    oldest: store.prepareTuples<[limit: number], [seq: number, atUs: number]>(
      `SELECT seq, at_us FROM ${table} ORDER BY seq LIMIT ?`,
    ),
    lately: store.prepareTuples<[], [account: number | null, zone: Class, entries: number]>(
      `SELECT account, zone, count(*) FROM (SELECT ${account} AS account, ${zone} AS zone FROM ${table}
         ORDER BY seq DESC LIMIT ${LATELY}) GROUP BY account, zone ORDER BY count(*) DESC`,
    ),
    ofZone: store.prepareTuples<[zone: Class, below: number, limit: number], [seq: number]>(
      `SELECT seq FROM ${table} WHERE ${zone} IS ? AND seq < ? ORDER BY seq LIMIT ?`,
    ),
  };
};

const statements = perStore((store) => ({
  zone_edits: statementsOf(store, 'zone_edits'),
  changes: statementsOf(store, 'changes'),
  events: statementsOf(store, 'events'),
}));

/** Numbers of the entries that are to go now, at most some thousands. */
export function entriesToPrune(store: Store, { table, kept, newest }: PrunedLog, nowUs: number): number[] {
  const { count, last, oldest } = statements(store)[table];
  const entries = count.get()![0];
  const most = Math.min(entries - kept, MOST_AT_ONCE);
  if (most <= 0) return [];
  const rows = oldest.all(most);
  const old = rows.filter(([, atUs]) => atUs < nowUs - KEPT_US).map(([seq]) => seq);
  if (old.length === most) return old;
  const greedy = oldestOfGreedy(store, table, last.get()![0]! - newest + 1, most - old.length);
  const gone = new Set([...old, ...greedy]);
  // Many who write little each: nothing can be kept of what nobody has much of.
  if (gone.size < most && entries > 2 * kept) for (const [seq] of rows) gone.add(seq);
  return [...gone];
}

/** The oldest entries of the account that has written most lately, in the zones where it did. */
function oldestOfGreedy(store: Store, table: PrunedLog['table'], below: number, most: number): number[] {
  const { lately, ofZone } = statements(store)[table];
  // What other logs have of zones that are gone belongs to nobody.
  const rows = lately.all().filter(([account]) => account !== null || table === 'events');
  const totals = new Map<number | null, number>();
  for (const [account, , entries] of rows) totals.set(account, (totals.get(account) ?? 0) + entries);
  const [greedy] = [...totals].sort(([, a], [, b]) => b - a)[0] ?? [];
  const found: number[] = [];
  for (const [account, zone] of rows) {
    if (account !== greedy || found.length >= most) continue;
    for (const [seq] of ofZone.all(zone, below, most - found.length)) found.push(seq);
  }
  return found;
}
