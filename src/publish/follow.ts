/**
 * The follower of the change log: what other processes commit becomes visible here, whole changes only, one zone after the other. A
 * zone whose changes cannot be published is held as it was, and the others go on.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { toFqdn } from '../dns/name.js';
import type { ImageWriter } from '../image/writer.js';
import { createHeldZones, type HeldZone } from './held-zones.js';
import type { Change, ZoneSource } from './source.js';
import { type LoadedZone, stageChanges } from './stage.js';

/** Changes read at once. */
const BATCH = 1000;

export interface FollowerOptions {
  readonly source: ZoneSource;
  readonly writer: ImageWriter;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Follower {
  /** Loads every zone and notes up to which change the image is true. Returns the records read. */
  loadAll(): number;
  /** Applies what has been committed since, and tries held zones again that have rested; returns the number of new changes. */
  catchUp(): number;
  /** Whether there is a held zone that has rested. */
  isRetryDue(): boolean;
  /** Sequence number of the last change the image shows, but for zones that are held. */
  appliedChange(): number;
  heldZones(): readonly HeldZone[];
  zoneCount(): number;
  close(): void;
}

/** What throws here is the store, not a zone: nothing is lost, and the next call goes on where this one ended. */
export function createFollower({ source, writer, clock, log }: FollowerOptions): Follower {
  const staging = { source, writer };
  const zones = new Map<number, LoadedZone>();
  const held = createHeldZones(clock, log);
  let applied = 0;

  /** Publishes changes of one zone, and those it was held with, all or none. Returns the records read. */
  function publish(zone: number, changes: readonly Change[]): number {
    const pending = held.pending(zone, changes);
    try {
      const { loaded, records } = stageChanges(staging, zone, zones.get(zone), sinceKept(source, pending));
      writer.commit();
      if (loaded) zones.set(zone, loaded);
      else zones.delete(zone);
      held.release(zone);
      return records;
    } catch (error) {
      writer.discard();
      held.hold(zone, nameOf(source, zone, zones.get(zone)), pending, error);
      return 0;
    }
  }

  function loadAll(): number {
    applied = source.lastChange();
    let records = 0;
    // Zones that are known here but no longer stored find nothing to load, and go.
    const known = [...zones.keys(), ...held.list().map(({ zone }) => zone)];
    for (const zone of new Set([...source.servedZones(), ...known])) {
      records += publish(zone, [{ sequence: applied, zone, complete: false }]);
    }
    return records;
  }

  function applyNext(): number {
    // Old changes are dropped after a while; whoever was away longer begins anew.
    if (source.firstChange() > applied + 1) {
      loadAll();
      return 0;
    }
    const changes = source.changesAfter(applied, BATCH);
    for (const [zone, list] of groupByZone(changes)) {
      if (held.isResting(zone)) held.add(zone, list);
      else publish(zone, list);
    }
    applied = changes.at(-1)?.sequence ?? applied;
    writer.compact();
    return changes.length;
  }

  return {
    loadAll: () => source.snapshot(loadAll),
    catchUp: () =>
      source.snapshot(() => {
        for (const zone of held.due()) publish(zone, []);
        let count = 0;
        for (let more = applyNext(); more > 0; more = applyNext()) count += more;
        return count;
      }),
    isRetryDue: held.isAnyDue,
    appliedChange: () => applied,
    heldZones: held.list,
    zoneCount: () => zones.size,
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

/** The owners of changes that are no longer kept are not known: the whole zone is loaded instead. */
function sinceKept(source: ZoneSource, changes: readonly Change[]): readonly Change[] {
  const [first] = changes;
  if (!first || first.sequence >= source.firstChange()) return changes;
  return [{ ...first, complete: false }];
}

/** For people. */
function nameOf(source: ZoneSource, seq: number, loaded: LoadedZone | undefined): string {
  try {
    const zone = loaded?.zone ?? source.zone(seq);
    if (zone) return toFqdn(zone.facts.apex);
  } catch {
    // The store is being read because something failed already, which is reported.
  }
  return `zone number ${seq}`;
}
