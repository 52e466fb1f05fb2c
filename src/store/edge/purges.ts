/** Purges of the caches of the edge, for every edge process to read. */

import { valueOrZero } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export const PURGE_KINDS = ['purge_everything', 'files', 'tags', 'hosts', 'prefixes'] as const;
export type PurgeKind = (typeof PURGE_KINDS)[number];

export interface Purge {
  /** Increasing numbers. */
  readonly seq: number;
  /** Store number of the zone, which may be deleted. */
  readonly zone: number;
  readonly kind: PurgeKind;
  /** URLs, tags, host names, or host names with a path; empty for everything. */
  readonly items: readonly string[];
}

type PurgeRow = Omit<Purge, 'items'> & { readonly items: string };

/** Characters of items after which no more purges are read at once. */
const MOST_CHARACTERS = 256 * 1024;
/** Number of purges kept; a process that is further behind purges everything. */
const KEPT_PURGES = 2000;

const statements = perStore((store) => ({
  insert: store.prepare<[atUs: number, zone: number, kind: PurgeKind, items: string]>(
    'INSERT INTO purges (at_us, zone, kind, items) VALUES (?, ?, ?, ?)',
  ),
  prune: store.prepare<[seq: number]>('DELETE FROM purges WHERE seq <= ?'),
  after: store.prepare<[seq: number], PurgeRow>(
    'SELECT seq, zone, kind, items FROM purges WHERE seq > ? ORDER BY seq LIMIT 1',
  ),
}));

/** `atUs`: microseconds since 1970. Call inside a write. */
export function insertPurge(store: Store, purge: Omit<Purge, 'seq'>, atUs: number): void {
  const { zone, kind, items } = purge;
  const { lastInsertRowid: seq } = statements(store).insert.run(atUs, zone, kind, JSON.stringify(items));
  if (seq > KEPT_PURGES) statements(store).prune.run(seq - KEPT_PURGES);
}

/** In order, no more than `limit`; fewer if they are long, because whoever asks reads them in one turn. */
export function purgesAfter(store: Store, seq: number, limit: number): Purge[] {
  const purges: Purge[] = [];
  let characters = 0;
  let row = statements(store).after.get(seq);
  while (row) {
    purges.push({ ...row, items: JSON.parse(row.items) as string[] });
    characters += row.items.length;
    row = purges.length < limit && characters < MOST_CHARACTERS ? statements(store).after.get(row.seq) : undefined;
  }
  return purges;
}

/** Number of the newest; 0 when there is none. */
export const lastPurge = valueOrZero<[]>('SELECT max(seq) FROM purges');

/** Number of the oldest kept one; 0 when there is none. */
export const firstPurge = valueOrZero<[]>('SELECT min(seq) FROM purges');
