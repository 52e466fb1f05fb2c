/** What the publisher reads of the store: zones and owners as serving/ has them, and the change log. */
import { ownerExists, type ServedOwner, servedAtOwner, servedOwners } from '../serving/owner.js';
import { type ServingSettings, type ServingZone, servingZone } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import { changesAfter, firstChange, lastChange, touchedOwners } from '../store/log/changes.js';
import { countServedRecords, findServedZone, servedZones } from '../store/zones/zones.js';

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
  /** The zone with what decides about its answers, or undefined when it is gone or not to be served. */
  zone(seq: number): ServingZone | undefined;
  /** What the zone serves, owner by owner in canonical order. */
  owners(zone: ServingZone): Iterable<ServedOwner>;
  /** What one owner serves. */
  owner(zone: ServingZone, ownerKey: Uint8Array): ServedOwner;
  /** Whether the owner exists, be it only because something stands below it. */
  exists(zone: ServingZone, owner: ServedOwner): boolean;
}

export function createZoneSource(store: Store, settings: ServingSettings): ZoneSource {
  return {
    snapshot: (read) => store.snapshot(read),
    dataVersion: () => store.dataVersion(),
    lastChange: () => lastChange(store),
    firstChange: () => firstChange(store),
    changesAfter: (sequence, limit) =>
      changesAfter(store, sequence, limit).map(({ seq, zone, kind }) => ({ sequence: seq, zone, kind })),
    touchedOwners: (sequence) => touchedOwners(store, sequence),
    servedZones: () => servedZones(store),
    servedRecords: () => countServedRecords(store),
    zone(seq) {
      const row = findServedZone(store, seq);
      return row && servingZone(row, settings);
    },
    owners: (zone) => servedOwners(store, zone),
    owner: (zone, ownerKey) => servedAtOwner(store, zone, ownerKey),
    exists: (zone, owner) => ownerExists(store, zone, owner),
  };
}
