/** The default origins to which the custom hostnames of zones send traffic. */
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
  find: store.prepare<[zone: number], FallbackOriginRow>('SELECT * FROM fallback_origins WHERE zone = ?'),
  put: store.prepare<[zone: number, origin: string, createdAt: number, modifiedAt: number]>(
    `INSERT INTO fallback_origins (zone, origin, created_at, modified_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (zone) DO UPDATE SET origin = excluded.origin, modified_at = excluded.modified_at`,
  ),
  remove: store.prepare<[zone: number]>('DELETE FROM fallback_origins WHERE zone = ?'),
}));

export function findFallbackOrigin(store: Store, zone: number): FallbackOriginRow | undefined {
  return statements(store).find.get(zone);
}

/** Sets the fallback origin; an existing one keeps its creation time. */
export function putFallbackOrigin(store: Store, zone: number, origin: string, now: number): void {
  statements(store).put.run(zone, origin, now, now);
}

export function removeFallbackOrigin(store: Store, zone: number): void {
  statements(store).remove.run(zone);
}
