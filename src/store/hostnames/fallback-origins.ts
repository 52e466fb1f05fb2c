/** The default origins to which the custom hostnames of zones send traffic. */

import { oneRow, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface FallbackOriginRow {
  readonly zone: number;
  /** A-labels, lower case, without the final dot. */
  readonly origin: string;
  /** Microseconds since 1970. */
  readonly created_at: number;
  readonly modified_at: number;
}

const statements = perStore((store) => ({
  put: store.prepare<[zone: number, origin: string, createdAt: number, modifiedAt: number]>(
    `INSERT INTO fallback_origins (zone, origin, created_at, modified_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (zone) DO UPDATE SET origin = excluded.origin, modified_at = excluded.modified_at`,
  ),
}));

export const findFallbackOrigin = oneRow<[zone: number], FallbackOriginRow>(
  'SELECT * FROM fallback_origins WHERE zone = ?',
);

/** Sets the fallback origin; an existing one keeps its creation time. */
export function putFallbackOrigin(store: Store, zone: number, origin: string, now: number): void {
  statements(store).put.run(zone, origin, now, now);
}

export const removeFallbackOrigin = runs<[zone: number]>('DELETE FROM fallback_origins WHERE zone = ?');
