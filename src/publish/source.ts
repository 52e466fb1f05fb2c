/** What the publisher reads of the store, and how rows become the facts that zone/derive works on. */
import { equalBytes } from '../base/bytes.js';
import type { Store } from '../store/driver.js';
import { targetFacts } from '../store/flatten/targets.js';
import { changesAfter, firstChange, lastChange, touchedOwners } from '../store/log/changes.js';
import {
  hasDescendants,
  parseSettings,
  type ServedTuple,
  servedRows,
  servedRowsOfOwner,
} from '../store/records/records.js';
import { countServedRecords, findServedZone, nsTtlOfZone, servedZones, soaOfZone } from '../store/zones/zones.js';
import { zoneFactsOf } from '../zone/derive/facts.js';
import type { TargetLookup } from '../zone/derive/flatten.js';
import { hostKeys, hostRecords } from '../zone/derive/hosts.js';
import type { ZoneFacts } from '../zone/derive/owner.js';
import type { ServedRow } from './load.js';

/** A change as the follower sees it. */
export interface Change {
  readonly sequence: number;
  /** Store number of the zone. */
  readonly zone: number;
  readonly kind: 'zone-added' | 'zone-removed' | 'zone-replaced' | 'rrs' | 'settings' | 'derived';
}

/** Reads of one store connection. All within one `snapshot` see the same state. */
export interface ZoneSource {
  /** Runs `read` in one read transaction. */
  snapshot<T>(read: () => T): T;
  /** Changes whenever another connection has committed; cheap enough to ask a thousand times a second. */
  dataVersion(): number;
  /** Numbers of the newest change and of the oldest one still kept; 0 when there is none. */
  lastChange(): number;
  firstChange(): number;
  /** Changes after a sequence number, in order, at most `limit`. */
  changesAfter(sequence: number, limit: number): readonly Change[];
  /** Owner keys touched by a change of kind `rrs`. */
  touchedOwners(sequence: number): readonly Uint8Array[];
  /** Store numbers of all zones to serve. */
  servedZones(): readonly number[];
  /** Records of all those zones. */
  servedRecords(): number;
  /** The zone's facts, or undefined when it is gone or not to be served. */
  zoneFacts(zone: number): ZoneFacts | undefined;
  /** All rows of a zone in the order of their owner keys. */
  zoneRows(zone: number): Iterable<ServedRow>;
  ownerRows(zone: number, ownerKey: Uint8Array): readonly ServedRow[];
  /** What is known of the target of a flattened name. */
  readonly targetFacts: TargetLookup;
  /** Whether any row stands below an owner. */
  hasDescendants(zone: number, ownerKey: Uint8Array): boolean;
}

/**
 * The store as a source. `nameServers`: host names of the service, without final dots; `addresses`: theirs, where they are inside a
 * zone that does not say, 4 or 16 octets each.
 */
export function createZoneSource(
  store: Store,
  nameServers: readonly string[],
  addresses: readonly Uint8Array[] = [],
): ZoneSource {
  const factsOf = (zone: number): ZoneFacts | undefined => {
    const row = findServedZone(store, zone);
    return row && zoneFactsOf(row, soaOfZone(row, nameServers), nsTtlOfZone(row), nameServers);
  };
  /** By zone, for one snapshot: every owner of a change asks for them. */
  const hosts = new Map<number, Hosts>();
  /** Owners that answer addresses nobody wrote, and how long these may be kept. */
  const hostsOf = (zone: number): Hosts => {
    if (addresses.length === 0) return NO_HOSTS;
    const known = hosts.get(zone);
    if (known) return known;
    const facts = factsOf(zone);
    const found = facts ? { keys: hostKeys(facts), ttl: facts.nsTtl } : NO_HOSTS;
    hosts.set(zone, found);
    return found;
  };
  const addedAt = ({ keys, ttl }: Hosts, ownerKey: Uint8Array, rows: readonly ServedRow[]): ServedRow[] =>
    keys.some((key) => equalBytes(key, ownerKey))
      ? hostRecords(rows, addresses, ttl).map((record) => ({ ...record, ownerKey }))
      : [];
  return {
    snapshot(read) {
      hosts.clear();
      return store.snapshot(read);
    },
    dataVersion: () => store.dataVersion(),
    lastChange: () => lastChange(store),
    firstChange: () => firstChange(store),
    changesAfter: (sequence, limit) =>
      changesAfter(store, sequence, limit).map(({ seq, zone, kind }) => ({ sequence: seq, zone, kind })),
    touchedOwners: (sequence) => touchedOwners(store, sequence),
    servedZones: () => servedZones(store),
    servedRecords: () => countServedRecords(store),
    zoneFacts: factsOf,
    *zoneRows(zone) {
      const own = hostsOf(zone);
      const added = own.keys.map((key) => addedAt(own, key, servedRowsOfOwner(store, zone, key).map(servedRow)));
      yield* mergeRows(
        servedRows(store, zone),
        added.filter((rows) => rows.length > 0),
      );
    },
    ownerRows(zone, ownerKey) {
      const rows = servedRowsOfOwner(store, zone, ownerKey).map(servedRow);
      return [...rows, ...addedAt(hostsOf(zone), ownerKey, rows)];
    },
    targetFacts: (target) => targetFacts(store, target),
    hasDescendants: (zone, ownerKey) =>
      hasDescendants(store, zone, ownerKey) || hostsOf(zone).keys.some((key) => isBelow(key, ownerKey)),
  };
}

interface Hosts {
  readonly keys: readonly Uint8Array[];
  readonly ttl: number;
}

const NO_HOSTS: Hosts = { keys: [], ttl: 0 };

function isBelow(key: Uint8Array, ancestor: Uint8Array): boolean {
  return key.length > ancestor.length && equalBytes(key.subarray(0, ancestor.length), ancestor);
}

/** Both in the order of their owner keys; what is added at an owner comes behind what is stored there. */
function* mergeRows(stored: Iterable<ServedTuple>, added: readonly (readonly ServedRow[])[]): Generator<ServedRow> {
  let next = 0;
  for (const tuple of stored) {
    while (next < added.length && Buffer.compare(added[next]![0]!.ownerKey, tuple[0]) < 0) yield* added[next++]!;
    yield servedRow(tuple);
  }
  for (; next < added.length; next++) yield* added[next]!;
}

function servedRow([ownerKey, type, ttl, proxied, rdata, settings]: ServedTuple): ServedRow {
  const row = { ownerKey, type, ttl, proxied: proxied === 1, rdata };
  if (settings === null) return row;
  const { ipv4_only, ipv6_only, flatten_cname } = parseSettings(settings);
  const flattenCname = flatten_cname === true;
  return { ...row, ipv4Only: ipv4_only === true, ipv6Only: ipv6_only === true, flattenCname };
}
