/** Reads changes from the store in commit order, and makes the edge forget what depends on them. */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import { versionWith } from '../../serving/health-source.js';
import { certificateOwners } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { edgeChangesAfter, KEPT_EDGE_CHANGES, lastEdgeChange } from '../../store/edge/changes.js';
import { changesAfter, firstChange, lastChange } from '../../store/log/changes.js';
import { findZone } from '../../store/zones/zones.js';
import type { RoutingTable } from './table.js';

/** Milliseconds between two polls without a wake-up: a safety net, for commits of which nobody could tell. */
const POLL_MS = 500;
/** Milliseconds until the next read after one that was woken, so that commits in quick succession are read together. */
const SETTLE_MS = 4;
/** Changes read at once. */
const BATCH = 1000;

const WHOLE: ReadonlySet<string> = new Set(['zone-added', 'zone-removed', 'zone-replaced']);

export interface Dependents {
  readonly table: RoutingTable;
  /** Forgets addresses of origins that came from our own zones. */
  readonly forgetAddresses: () => void;
  readonly forgetCertificates: () => void;
  /** Whether the certificates of an owner, `kind:id`, can be used. */
  readonly isUsable: (owner: string) => boolean;
  /** Reads purges; returns whether there may be more. */
  readonly readPurges: () => boolean;
  /** Reads the health of pools; returns whether there may be more. */
  readonly readHealth: () => boolean;
  /** Changes when there is new health to read that is not stored. */
  readonly healthVersion: () => number;
}

export interface FollowOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly dependents: Dependents;
  /** Called with each new state of what was read. */
  readonly onRead?: ((progress: Progress) => void) | undefined;
}

/** How far the store was read. */
export interface Progress {
  /** The last row of `edge_changes` that was read. */
  readonly change: number;
  /** Owners, as `kind:id`, whose certificates were read but cannot be used. */
  readonly unusable: readonly string[];
}

export interface StoreFollower {
  progress(): Progress;
  /** Whether something was committed that was not read yet. */
  isBehind(): boolean;
  /** Reads at once after a commit. Costs little when nothing was committed. */
  wake(): void;
  close(): void;
}

export function followStore({ store, clock, log, dependents, onRead }: FollowOptions): StoreFollower {
  const versionOf = (): number => versionWith(store.dataVersion(), { version: dependents.healthVersion });
  let version = versionOf();
  let [zones, others] = store.snapshot(() => [lastChange(store), lastEdgeChange(store)]);
  let failed = false;
  const unusable = new Set(certificateOwners(store).filter((owner) => !dependents.isUsable(owner)));
  const progress = (): Progress => ({ change: others, unusable: [...unusable] });

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
      // Zones that come, go, or begin to be served change which zone decides about their names.
      if (WHOLE.has(kind) || !findZone(store, zone)) dependents.table.forgetAll();
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
      else {
        dependents.forgetCertificates();
        if (dependents.isUsable(subject)) unusable.delete(subject);
        else unusable.add(subject);
      }
    }
    others = changes.at(-1)?.seq ?? others;
    return changes.length === BATCH;
  }

  /** Returns whether there may be more. */
  function read(): boolean {
    try {
      const now = versionOf();
      if (now === version) return false;
      const before = others;
      const { readPurges, readHealth } = dependents;
      const more = store.snapshot(() => [readZones(), readOthers(), readPurges(), readHealth()]).includes(true);
      if (!more) version = now;
      if (others !== before) onRead?.(progress());
      failed = false;
      return more;
    } catch (error) {
      // The next poll reads the same changes again.
      if (!failed) log.error({ err: error }, 'the edge cannot read what changed');
      failed = true;
      return false;
    }
  }

  const timer = startReading(clock, read);
  return { progress, isBehind: () => versionOf() !== version, ...timer };
}

/** Calls `read` when woken and at intervals, and again soon while it returns that there may be more. */
function startReading(clock: Clock, read: () => boolean): Pick<StoreFollower, 'wake' | 'close'> {
  let cancel = (): void => {};
  let isSettling = false;

  function plan(delayMs: number): void {
    cancel();
    cancel = clock.after(delayMs, () => {
      isSettling = false;
      plan(read() ? SETTLE_MS : POLL_MS);
    });
  }

  plan(POLL_MS);
  return {
    wake() {
      // Further calls do not postpone a read that is due soon.
      if (isSettling) return;
      isSettling = true;
      read();
      plan(SETTLE_MS);
    },
    close: () => cancel(),
  };
}
