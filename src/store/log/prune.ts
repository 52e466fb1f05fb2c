/**
 * Which entries of a log go when it has more than it keeps. Entries that are older than a week go first, whoever's they are. Then
 * those of zones that are gone, and the oldest of the accounts that have most: nobody pushes out what others did in the last week.
 */
import { perStore, type Store } from '../driver.js';

export interface PrunedLog {
  readonly table: 'zone_edits' | 'changes' | 'events' | 'health_events';
  /** Entries that are kept. */
  readonly kept: number;
  /** The newest ones of them that nobody loses: who follows the log must not miss any. */
  readonly newest: number;
}

/** How long entries of everybody are kept, microseconds. */
const KEPT_US = 7 * 86_400_000_000;
/** Entries that are removed at once. */
const MOST_AT_ONCE = 2000;
/** Entries by which it is seen who has most, at equal distances. To count all of them would keep everybody waiting. */
const SAMPLES = 400;

/** The zone of an entry, and its account; events are told apart by account alone, which is null for those of the installation. */
const COLUMNS = {
  zone_edits: { zone: 'zone', account: '(SELECT account FROM zones WHERE seq = zone)' },
  changes: { zone: 'zone', account: '(SELECT account FROM zones WHERE seq = zone)' },
  events: { zone: 'account', account: 'account' },
  health_events: { zone: 'account', account: 'account' },
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
    at: store.prepareTuples<[seq: number], [account: number | null, zone: Class]>(
      `SELECT ${account}, ${zone} FROM ${table} WHERE seq >= ? ORDER BY seq LIMIT 1`,
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
  health_events: statementsOf(store, 'health_events'),
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
  return [...new Set([...old, ...greedy])];
}

/** A zone, or an account in the events, and how many samples are of it. */
interface Share {
  readonly account: number | null;
  readonly zone: Class;
  samples: number;
}

/** The oldest entries of zones that are gone, and of the accounts that have no less than the mean, who has most first. */
function oldestOfGreedy(store: Store, table: PrunedLog['table'], below: number, most: number): number[] {
  const { ofZone } = statements(store)[table];
  const shares = sharesOf(store, table);
  const totals = new Map<number | null, number>();
  for (const { account, samples } of shares) totals.set(account, (totals.get(account) ?? 0) + samples);
  const mean = shares.reduce((sum, { samples }) => sum + samples, 0) / totals.size;
  const isGone = (account: number | null): boolean => account === null && COLUMNS[table].zone === 'zone';
  const rankOf = (account: number | null): number =>
    isGone(account) ? Number.POSITIVE_INFINITY : totals.get(account)!;
  const greedy = [...totals.keys()].filter((account) => rankOf(account) >= mean).sort((a, b) => rankOf(b) - rankOf(a));
  const found: number[] = [];
  for (const one of greedy) {
    const zones = shares.filter(({ account }) => account === one).sort((a, b) => b.samples - a.samples);
    for (const { zone } of zones) {
      if (found.length >= most) return found;
      for (const [seq] of ofZone.all(zone, below, most - found.length)) found.push(seq);
    }
  }
  return found;
}

function sharesOf(store: Store, table: PrunedLog['table']): Share[] {
  const { oldest, last, at } = statements(store)[table];
  const first = oldest.all(1)[0]?.[0] ?? 0;
  const step = (last.get()![0]! - first) / SAMPLES;
  const shares = new Map<string, Share>();
  for (let i = 0; i <= SAMPLES; i++) {
    const row = at.get(Math.floor(first + i * step));
    if (!row) continue;
    const [account, zone] = row;
    const share = shares.get(`${account} ${zone}`) ?? { account, zone, samples: 0 };
    share.samples++;
    shares.set(`${account} ${zone}`, share);
  }
  return [...shares.values()];
}
