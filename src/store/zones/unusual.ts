/** Finds served zones that are set up in ways that are often not meant. */
import { perStore, type Store } from '../driver.js';

const statements = perStore((store) => ({
  served: store.prepareTuples<[], [seq: number, name: string]>(
    'SELECT seq, name FROM zones WHERE served = 1 ORDER BY seq',
  ),
  service: store.prepareTuples<[], [count: number]>(
    `SELECT count(*) FROM zones
     WHERE served = 1 AND name_server_mode = 'service' AND vanity_name_servers IS NULL`,
  ),
  proxied: store.prepareTuples<[], [name: string]>(
    `SELECT z.name FROM records r JOIN zones z ON z.seq = r.zone
     WHERE r.proxied = 1 AND z.served = 1 ORDER BY r.zone LIMIT 1`,
  ),
  // 2 is NS.
  further: store.prepareTuples<[than: number], [1]>('SELECT 1 FROM zones LIMIT 1 OFFSET ?'),
  bare: store.prepareTuples<[limit: number], [zone: number, name: string, id: Uint8Array]>(
    `SELECT seq, name, id FROM zones WHERE served = 1 AND type <> 'secondary' AND name_server_mode = 'records'
     AND NOT EXISTS (SELECT 1 FROM records WHERE zone = zones.seq AND owner_key = x'' AND type = 2)
     ORDER BY seq LIMIT ?`,
  ),
}));

/** Names of all served zones, in lower-case ASCII, by store number. */
export function servedZoneNames(store: Store): readonly (readonly [seq: number, name: string])[] {
  return statements(store).served.all();
}

/** Whether there are more zones than so many. */
export function hasMoreZones(store: Store, than: number): boolean {
  return statements(store).further.get(than) !== undefined;
}

/** Number of served zones whose name servers are those of the service. */
export function countZonesOfService(store: Store): number {
  return statements(store).service.get()![0];
}

/** The name of a served zone with a proxied record; undefined when there is none. */
export function someProxiedZone(store: Store): string | undefined {
  return statements(store).proxied.get()?.[0];
}

/**
 * Served zones that must have NS records of their own at the apex and have none; no more than `limit`. Zones of other
 * primaries are left out, because only their primary can change them.
 */
export function zonesWithoutNameServers(
  store: Store,
  limit: number,
): readonly (readonly [zone: number, name: string, id: Uint8Array])[] {
  return statements(store).bare.all(limit);
}
