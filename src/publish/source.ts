/** What the publisher reads from the store: zones and owners, through serving/, and the change log. */
import type { HashedOwner } from '../dnssec/denial.js';
import { hashedAtOrBefore, hashedAtOwner, servedHashedOwners } from '../serving/hashed.js';
import { createHealthSource, type HealthSource, versionWith } from '../serving/health-source.js';
import { ownerExists, type ServedOwner, servedAtOwner, servedOwners } from '../serving/owner.js';
import { ownersOfSettings } from '../serving/settings-difference.js';
import { memberAtOrBefore } from '../serving/signed.js';
import { type ServingSettings, type ServingZone, servingZone } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import { changesAfter, firstChange, lastChange, MOST_CHANGED_RRS, touchedOwners } from '../store/log/changes.js';
import { type CheckedZone, expiryOfZone, incomingVersion, zonesCheckedSince } from '../store/secondary/incoming.js';
import { countRecords, countServedRecords, findServedZone, servedZones } from '../store/zones/zones.js';

/** A change as the follower sees it. */
export interface Change {
  readonly sequence: number;
  /** Store number of the zone. */
  readonly zone: number;
  /** Whether it lists every owner whose answers differ; if not, the whole zone is read again. */
  readonly complete: boolean;
}

/** Reads of one store connection. All reads within one `snapshot` see the same state. */
export interface ZoneSource {
  /** Runs `read` in one read transaction. */
  snapshot<T>(read: () => T): T;
  /** Changes when another connection commits or this node's own health findings change; cheap to read 1000 times a second. */
  dataVersion(): number;
  /** Numbers of the newest change and of the oldest kept one; 0 when there is none. */
  lastChange(): number;
  firstChange(): number;
  /** Changes after a sequence number, in order; no more than `limit`. */
  changesAfter(sequence: number, limit: number): readonly Change[];
  /** The owners a change lists. */
  touchedOwners(sequence: number): readonly Uint8Array[];
  /** Store numbers of all zones to serve, the smallest first: when there is no room for all, it is the largest that wait. */
  servedZones(): readonly number[];
  /** Records of all those zones. */
  servedRecords(): number;
  /** The zone with everything that decides its answers; undefined when it is deleted or not served. */
  zone(seq: number): ServingZone | undefined;
  /** Store number of its account. */
  accountOf(seq: number): number | undefined;
  /** Number of stored records of the zone, for reserving memory. */
  recordCount(zone: ServingZone): number;
  /**
   * The owners whose answers, SOA aside, may differ between two states of a zone's settings; undefined when there are
   * very many.
   */
  ownersOfSettings(before: ServingZone, after: ServingZone): readonly Uint8Array[] | undefined;
  /** What the zone serves, owner by owner in canonical order. */
  owners(zone: ServingZone): Iterable<ServedOwner>;
  /** What one owner serves. */
  owner(zone: ServingZone, ownerKey: Uint8Array): ServedOwner;
  /** The owners of the NSEC3 records of a zone that is denied by hashes, in any order. */
  hashedOwners(zone: ServingZone): Iterable<HashedOwner>;
  /** The one with this hash of 20 octets. */
  hashedOwner(zone: ServingZone, hash: Uint8Array): HashedOwner | undefined;
  /** The NSEC3 record that matches or covers a hash. */
  hashedAtOrBefore(zone: ServingZone, hash: Uint8Array): HashedOwner | undefined;
  /** The owner whose NSEC record matches or covers an owner of a signed zone. */
  memberAtOrBefore(zone: ServingZone, ownerKey: Uint8Array): Uint8Array;
  /** When the copy of a secondary zone expires, in microseconds since 1970; undefined for other zones. */
  expiryOf(seq: number): number | undefined;
  /** Zones whose primaries answered at a time (microseconds since 1970) or later. */
  checkedSince(since: number): readonly CheckedZone[];
  /** A number that changes whenever a zone begins or ceases to have primaries. */
  incomingVersion(): number;
  /** The health of origins of load balancers; absent: there are none. */
  readonly health?: HealthSource;
  /** Whether the owner exists, possibly only because names exist below it. */
  exists(zone: ServingZone, owner: ServedOwner): boolean;
}

/** `region`: code of that of this node; empty: none. */
export function createZoneSource(store: Store, settings: ServingSettings, region = ''): ZoneSource {
  const health = createHealthSource(store, region);
  return {
    snapshot: (read) => store.snapshot(read),
    dataVersion: () => versionWith(store.dataVersion(), health),
    lastChange: () => lastChange(store),
    firstChange: () => firstChange(store),
    changesAfter: (sequence, limit) =>
      changesAfter(store, sequence, limit).map(({ seq, zone, complete }) => ({
        sequence: seq,
        zone,
        complete: complete === 1,
      })),
    touchedOwners: (sequence) => touchedOwners(store, sequence),
    servedZones: () => servedZones(store),
    servedRecords: () => countServedRecords(store),
    zone(seq) {
      const row = findServedZone(store, seq);
      return row && servingZone(store, row, settings);
    },
    accountOf: (seq) => findServedZone(store, seq)?.account,
    recordCount: ({ seq }) => countRecords(store, seq),
    ownersOfSettings: (before, after) => ownersOfSettings(store, before, after, MOST_CHANGED_RRS),
    // Without an apex, all answers are SERVFAIL.
    owners: (zone) => (zone.expired ? [] : servedOwners(store, zone)),
    owner: (zone, ownerKey) => servedAtOwner(store, zone, ownerKey),
    hashedOwners: (zone) => servedHashedOwners(store, zone),
    hashedOwner: (zone, hash) => hashedAtOwner(store, zone, hash),
    hashedAtOrBefore: (zone, hash) => hashedAtOrBefore(store, zone, hash),
    memberAtOrBefore: ({ seq }, ownerKey) => memberAtOrBefore(store, seq, ownerKey),
    expiryOf: (seq) => expiryOfZone(store, seq),
    checkedSince: (since) => zonesCheckedSince(store, since),
    incomingVersion: () => incomingVersion(store),
    health,
    exists: (zone, owner) => !zone.expired && ownerExists(store, zone, owner),
  };
}
