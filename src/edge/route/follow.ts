/** Reads changes from the store in commit order, and makes the edge forget what depends on them. */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { Store } from '../../store/driver.js';
import { edgeChangesAfter, KEPT_EDGE_CHANGES, lastEdgeChange } from '../../store/edge/changes.js';
import { changesAfter, firstChange, lastChange } from '../../store/log/changes.js';
import { findZone } from '../../store/zones/zones.js';
import type { RoutingTable } from './table.js';

/** Milliseconds between two polls, each of which takes 2 µs. Commits are noticed within this time. */
const POLL_MS = 10;
/** Changes read at once. */
const BATCH = 1000;

export interface Dependents {
  readonly table: RoutingTable;
  /** Forgets addresses of origins that came from our own zones. */
  readonly forgetAddresses: () => void;
  readonly forgetCertificates: () => void;
  /** Reads purges; returns whether there may be more. */
  readonly readPurges: () => boolean;
}

export interface FollowOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly dependents: Dependents;
  /** Called with the last row of `edge_changes` that was read, when that is another one. */
  readonly onRead?: ((change: number) => void) | undefined;
}

export interface StoreFollower {
  /** The last row of `edge_changes` that was read. */
  lastRead(): number;
  close(): void;
}

export function followStore({ store, clock, log, dependents, onRead }: FollowOptions): StoreFollower {
  let version = store.dataVersion();
  let [zones, others] = store.snapshot(() => [lastChange(store), lastEdgeChange(store)]);
  let failed = false;

  /** Returns whether there may be more. */
  function readZones(): boolean {
    if (firstChange(store) > zones + 1) {
      dependents.table.forgetAll();
      dependents.forgetAddresses();
      zones = lastChange(store);
      return false;
    }
    const changes = changesAfter(store, zones, BATCH);
    for (const { zone, kind } of changes) {
      // A new or deleted zone changes which zone decides about its names.
      if (kind === 'zone-added' || kind === 'zone-removed' || !findZone(store, zone)) dependents.table.forgetAll();
      dependents.table.forgetZone(zone);
    }
    if (changes.length > 0) dependents.forgetAddresses();
    zones = changes.at(-1)?.seq ?? zones;
    return changes.length === BATCH;
  }

  function readOthers(): boolean {
    const last = lastEdgeChange(store);
    if (last - others >= KEPT_EDGE_CHANGES) {
      dependents.table.forgetAll();
      dependents.forgetCertificates();
      others = last;
      return false;
    }
    const changes = edgeChangesAfter(store, others, BATCH);
    for (const { kind, subject } of changes) {
      if (kind === 'hostname') dependents.table.forgetHostname(subject);
      else if (kind === 'zone') dependents.table.forgetZone(Number(subject));
      else dependents.forgetCertificates();
    }
    others = changes.at(-1)?.seq ?? others;
    return changes.length === BATCH;
  }

  const close = clock.every(POLL_MS, () => {
    try {
      const now = store.dataVersion();
      if (now === version) return;
      const before = others;
      const more = store.snapshot(() => [readZones(), readOthers(), dependents.readPurges()]);
      if (!more.includes(true)) version = now;
      if (others !== before) onRead?.(others);
      failed = false;
    } catch (error) {
      // The next poll reads the same changes again.
      if (!failed) log.error({ err: error }, 'the edge cannot read what changed');
      failed = true;
    }
  });
  return { lastRead: () => others, close };
}
