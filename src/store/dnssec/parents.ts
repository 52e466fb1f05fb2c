/** What the parents of signed zones have. */

import { oneRow, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface ParentRow {
  /** Store number. */
  readonly zone: number;
  /** JSON: what each server of the parent answered. */
  readonly servers: string;
  /** Microseconds since 1970; null: never asked. */
  readonly checked_at: number | null;
  /** JSON: contents of the DS records that all servers have; null while they differ. */
  readonly agreed: string | null;
  /** Since when, with a TTL that was not lowered, in microseconds since 1970. */
  readonly since: number | null;
  /** How long resolvers remember the DS records from before that, counted from then, seconds. */
  readonly ttl: number;
  /** When keys and signatures are to be removed, in microseconds since 1970; null: not at all. */
  readonly remove_at: number | null;
}

const statements = perStore((store) => ({
  put: store.prepare<
    [
      zone: number,
      servers: string,
      checkedAt: number | null,
      agreed: string | null,
      since: number | null,
      ttl: number,
      removeAt: number | null,
    ]
  >(
    `INSERT INTO dnssec_parents (zone, servers, checked_at, agreed, since, ttl, remove_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (zone) DO UPDATE SET servers = excluded.servers, checked_at = excluded.checked_at, agreed = excluded.agreed,
       since = excluded.since, ttl = excluded.ttl, remove_at = excluded.remove_at`,
  ),
}));

export const findParent = oneRow<[zone: number], ParentRow>('SELECT * FROM dnssec_parents WHERE zone = ?');

export function putParent(store: Store, row: ParentRow): void {
  const { zone, servers, checked_at, agreed, since, ttl, remove_at } = row;
  statements(store).put.run(zone, servers, checked_at, agreed, since, ttl, remove_at);
}

export const removeParent = runs<[zone: number]>('DELETE FROM dnssec_parents WHERE zone = ?');
