/**
 * The follower of the change log. It publishes what other processes commit: whole changes, one zone after the other.
 * Each call does a bounded part of the work, so that queries over streams do not wait.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { beginSlice, type IsOver } from '../base/slices.js';
import type { ImageWriter } from '../image/writer.js';
import { NO_HEALTH } from '../serving/health-source.js';
import { createBalances } from './balances.js';
import { createExpiries } from './expiries.js';
import { createHeldZones, type HeldZone } from './held-zones.js';
import { createImageRoom } from './image-room.js';
import { continueLoads, loadZones, type PublishedZones, publishChanges } from './publish-zone.js';
import type { Change, ZoneSource } from './source.js';

/** Changes read in one step, and those that are published between two looks at the clock. */
const BATCH = 500;
const CHANGES_AT_ONCE = 32;
/** Records read in one step while zones are loaded; each takes about 10 µs. */
const RECORDS_AT_ONCE = 2000;
/** Zones that are begun before others of them are loaded, when all are loaded anew. */
const MOST_BEGUN = 1000;

export interface FollowerOptions {
  readonly source: ZoneSource;
  readonly writer: ImageWriter;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A zone by its store number, and its first change that is not published. */
export interface UnpublishedZone {
  readonly zone: number;
  readonly change: number;
}

export interface Follower {
  /** Loads every zone and notes the change number the image then has. Returns the number of records read. */
  loadAll(): number;
  /**
   * Continues with newly committed changes, with zones that are being loaded, and with held zones whose rest is over.
   */
  catchUp(): void;
  /** Whether work remains even if nothing more is committed. */
  hasWork(): boolean;
  /** Number of the last published change; zones that are being loaded or held may lag behind it. */
  appliedChange(): number;
  loadingZones(): readonly UnpublishedZone[];
  /** Zones that could not be published. */
  heldZones(): readonly HeldZone[];
  zoneCount(): number;
  close(): void;
}

/**
 * An error thrown here comes from the store, not from a zone. Nothing is lost: the next call continues where this one
 * stopped.
 */
export function createFollower({ source, writer, clock, log }: FollowerOptions): Follower {
  const held = createHeldZones(clock, log);
  const expiries = createExpiries(source, writer, clock);
  const balances = createBalances(source.health ?? NO_HEALTH, writer);
  const zones: PublishedZones = {
    ...{ source, writer, balances, held, expiries, room: createImageRoom(writer) },
    ...{ loaded: new Map(), loading: new Map(), starts: false, ownersFirst: false },
  };
  let applied = 0;
  let isBehind = false;
  let hasTransitions = false;

  let anew: ZonesAnew | undefined;

  function applyNext(isOver: IsOver): void {
    if (source.firstChange() > applied + 1) anew ??= zonesAnew(zones);
    if (anew) {
      isBehind = true;
      if (!beginSome(zones, anew, isOver)) return;
      applied = anew.last;
      anew = undefined;
      return;
    }
    const changes = source.changesAfter(applied, BATCH);
    const count = publishSome(zones, changes, isOver);
    applied = changes[count - 1]?.sequence ?? applied;
    isBehind = count < changes.length || changes.length === BATCH;
  }

  return {
    loadAll: () =>
      source.snapshot(() => {
        applied = source.lastChange();
        return loadZones(zones, applied);
      }),
    catchUp: () =>
      source.snapshot(() => {
        balances.renew();
        const isOver = beginSlice(clock, 1);
        for (const zone of held.due()) publishChanges(zones, zone, [], isOver);
        applyNext(isOver);
        // Pools of load balancers that were just read are up to date already.
        hasTransitions = balances.follow();
        continueLoads(zones, RECORDS_AT_ONCE, beginSlice(clock, 1));
        expiries.follow(zones.loaded);
        writer.compact(beginSlice(clock, 1));
      }),
    hasWork: () => isBehind || hasTransitions || zones.loading.size > 0 || held.isAnyDue() || writer.isRenewing(),
    appliedChange: () => applied,
    loadingZones: () =>
      [...zones.loading].map(([zone, { cause }]) => ({ zone, change: cause[0]?.sequence ?? applied })),
    heldZones: held.list,
    zoneCount: () => zones.loaded.size,
    close: held.close,
  };
}

/** Zones that are loaded anew and are not begun yet, and the change that they have then. Later changes come afterwards. */
interface ZonesAnew {
  readonly last: number;
  readonly rest: Set<number>;
}

/** Old changes are pruned. A follower that was away longer loads every zone again. */
function zonesAnew({ source, loaded, loading, held }: PublishedZones): ZonesAnew {
  const last = source.lastChange();
  // For a zone that is no longer stored, loading finds nothing and removes it.
  const known = [...loaded.keys(), ...loading.keys(), ...held.list().map(({ zone }) => zone)];
  return { last, rest: new Set([...source.servedZones(), ...known]) };
}

/** Begins zones until a time is over, or very many are being loaded. Returns whether all are begun. */
function beginSome(zones: PublishedZones, { last, rest }: ZonesAnew, isOver: IsOver): boolean {
  for (const zone of rest) {
    if (zones.loading.size >= MOST_BEGUN) return false;
    publishChanges(zones, zone, [{ sequence: last, zone, complete: false }]);
    rest.delete(zone);
    if (isOver()) break;
  }
  return rest.size === 0;
}

/** Publishes changes in their order until a time is over. Returns how many. */
function publishSome(zones: PublishedZones, changes: readonly Change[], isOver: IsOver): number {
  for (let at = 0; at < changes.length; ) {
    const some = changes.slice(at, at + CHANGES_AT_ONCE);
    for (const [zone, list] of groupByZone(some)) {
      if (zones.held.isResting(zone)) zones.held.add(zone, list);
      else publishChanges(zones, zone, list, isOver);
    }
    at += some.length;
    if (isOver()) return at;
  }
  return changes.length;
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
