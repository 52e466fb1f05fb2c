/** Finds served zones that are set up in ways that are often not meant. */
import { allTuples, theValue, valueIfAny } from '../columns.js';

/** Names of all served zones, in lower-case ASCII, by store number. */
export const servedZoneNames = allTuples<[], readonly [seq: number, name: string]>(
  'SELECT seq, name FROM zones WHERE served = 1 ORDER BY seq',
);

/** Number of served zones whose name servers are those of the service. */
export const countZonesOfService = theValue<[], number>(`SELECT count(*) FROM zones
     WHERE served = 1 AND name_server_mode = 'service' AND vanity_name_servers IS NULL`);

/** The name of a served zone with a proxied record; undefined when there is none. */
export const someProxiedZone = valueIfAny<[], string>(`SELECT z.name FROM records r JOIN zones z ON z.seq = r.zone
     WHERE r.proxied = 1 AND z.served = 1 ORDER BY r.zone LIMIT 1`);

/**
 * Served zones that must have NS records of their own at the apex and have none; no more than `limit`. Zones of other
 * primaries are left out, because only their primary can change them.
 */
export const zonesWithoutNameServers = allTuples<
  [limit: number],
  readonly [zone: number, name: string, id: Uint8Array]
>(`SELECT seq, name, id FROM zones WHERE served = 1 AND type <> 'secondary' AND name_server_mode = 'records'
     AND NOT EXISTS (SELECT 1 FROM records WHERE zone = zones.seq AND owner_key = x'' AND type = 2)
     ORDER BY seq LIMIT ?`);
