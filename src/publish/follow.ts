/**
 * The follower of the change log: what other processes commit becomes visible here, whole changes only, one zone after the other.
 * Each call does a part that does not keep queries over streams waiting.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { ImageWriter } from '../image/writer.js';
import { createHeldZones, type HeldZone } from './held-zones.js';
import { continueLoads, type PublishedZones, publishChanges } from './publish-zone.js';
import type { Change, ZoneSource } from './source.js';

/** Changes read at once. */
const BATCH = 500;
/** Records read at once for zones that are loaded; some 10 µs each. */
const RECORDS_AT_ONCE = 2000;

export interface FollowerOptions {
  readonly source: ZoneSource;
  readonly writer: ImageWriter;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A zone by its store number, and the first change that queries do not see. */
export interface UnpublishedZone {
  readonly zone: number;
  readonly change: number;
}

export interface Follower {
  /** Loads every zone and notes up to which change the image is true. Returns the records read. */
  loadAll(): number;
  /** Goes on with what has been committed since, with zones that are being loaded, and with held zones that have rested. */
  catchUp(): void;
  /** Whether there is more to do, even if nothing is committed. */
  hasWork(): boolean;
  /** Number of the last change the image shows, but for zones that are being loaded or held. */
  appliedChange(): number;
  loadingZones(): readonly UnpublishedZone[];
  /** Zones that could not be published. */
  heldZones(): readonly HeldZone[];
  zoneCount(): number;
  close(): void;
}

/** What throws here is the store, not a zone: nothing is lost, and the next call goes on where this one ended. */
export function createFollower({ source, writer, clock, log }: FollowerOptions): Follower {
  const held = createHeldZones(clock, log);
  const zones: PublishedZones = { source, writer, loaded: new Map(), loading: new Map(), held };
  let applied = 0;
  let isBehind = false;

  /** Old changes are dropped after a while; whoever was away longer begins anew. */
  function beginAnew(): void {
    applied = source.lastChange();
    // Zones that are known here but no longer stored find nothing to load, and go.
    const known = [...zones.loaded.keys(), ...zones.loading.keys(), ...held.list().map(({ zone }) => zone)];
    for (const zone of new Set([...source.servedZones(), ...known])) {
      publishChanges(zones, zone, [{ sequence: applied, zone, complete: false }]);
    }
  }

  function applyNext(): void {
    isBehind = source.firstChange() > applied + 1;
    if (isBehind) {
      beginAnew();
      return;
    }
    const changes = source.changesAfter(applied, BATCH);
    for (const [zone, list] of groupByZone(changes)) {
      if (held.isResting(zone)) held.add(zone, list);
      else publishChanges(zones, zone, list);
    }
    applied = changes.at(-1)?.sequence ?? applied;
    isBehind = changes.length === BATCH;
  }

  return {
    loadAll: () =>
      source.snapshot(() => {
        beginAnew();
        let records = 0;
        while (zones.loading.size > 0) records += continueLoads(zones, Number.POSITIVE_INFINITY);
        return records;
      }),
    catchUp: () =>
      source.snapshot(() => {
        for (const zone of held.due()) publishChanges(zones, zone, []);
        applyNext();
        continueLoads(zones, RECORDS_AT_ONCE);
        writer.compact();
      }),
    hasWork: () => isBehind || zones.loading.size > 0 || held.isAnyDue(),
    appliedChange: () => applied,
    loadingZones: () =>
      [...zones.loading].map(([zone, { cause }]) => ({ zone, change: cause[0]?.sequence ?? applied })),
    heldZones: held.list,
    zoneCount: () => zones.loaded.size,
    close: held.close,
  };
}

function groupByZone(changes: readonly Change[]): Map<number, Change[]> {
  const byZone = new Map<number, Change[]>();
  for (const change of changes) {
    const list = byZone.get(change.zone);
    if (list) list.push(change);
    else byZone.set(change.zone, [change]);
  }
  return byZone;
}
