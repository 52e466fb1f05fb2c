/**
 * Zones whose changes could not be published: each rests after a failure, longer every time, while all others go on. Queries see such
 * a zone as it was before; it is named in the log once when that begins and once when it is over.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Change } from './source.js';

/** Rest after the first failure and at most, milliseconds; it doubles in between. */
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 60_000;
/** Changes remembered for a zone; with more to do it is loaded as a whole. */
const MOST_CHANGES = 1000;

/** A zone that is not served as it is stored. */
export interface HeldZone {
  /** Store number. */
  readonly zone: number;
  /** Without a final dot; its store number when the name is not known. */
  readonly name: string;
  /** Number of the first change that queries do not see. */
  readonly change: number;
  readonly attempts: number;
  /** Why the latest attempt failed. */
  readonly error: unknown;
}

export interface HeldZones {
  list(): readonly HeldZone[];
  /** Whether a zone has rested long enough. */
  isAnyDue(): boolean;
  /** Zones that have rested long enough. */
  due(): readonly number[];
  isResting(zone: number): boolean;
  /** The changes to be made up for, those given included. */
  pending(zone: number, changes: readonly Change[]): readonly Change[];
  /** More changes for a zone that rests. */
  add(zone: number, changes: readonly Change[]): void;
  /** The attempt to publish these changes failed. */
  hold(zone: number, name: string, pending: readonly Change[], error: unknown): void;
  /** The zone is served as it is stored. */
  release(zone: number): void;
  close(): void;
}

interface Entry extends HeldZone {
  pending: readonly Change[];
  readonly cancel: () => void;
  resting: boolean;
}

export function createHeldZones(clock: Clock, log: Logger): HeldZones {
  const entries = new Map<number, Entry>();

  function hold(zone: number, name: string, pending: readonly Change[], error: unknown): void {
    const known = entries.get(zone);
    known?.cancel();
    const attempts = (known?.attempts ?? 0) + 1;
    const change = known?.change ?? pending[0]?.sequence ?? 0;
    const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(attempts - 1, 16));
    const cancel = clock.after(restMs, () => {
      entry.resting = false;
    });
    const entry: Entry = {
      zone,
      name,
      change,
      attempts,
      error,
      pending: bounded(zone, pending),
      cancel,
      resting: true,
    };
    entries.set(zone, entry);
    if (!known) log.error({ zone: name, change, err: error }, 'a zone cannot be published, queries see it as it was');
  }

  return {
    list: () => [...entries.values()],
    isAnyDue() {
      for (const { resting } of entries.values()) if (!resting) return true;
      return false;
    },
    due: () => [...entries.values()].filter(({ resting }) => !resting).map(({ zone }) => zone),
    isResting: (zone) => entries.get(zone)?.resting ?? false,
    pending: (zone, changes) => [...(entries.get(zone)?.pending ?? []), ...changes],
    add(zone, changes) {
      const entry = entries.get(zone);
      if (entry) entry.pending = bounded(zone, [...entry.pending, ...changes]);
    },
    hold,
    release(zone) {
      const entry = entries.get(zone);
      if (!entry) return;
      entry.cancel();
      entries.delete(zone);
      log.info({ zone: entry.name, attempts: entry.attempts }, 'the zone is published again');
    },
    close() {
      for (const { cancel } of entries.values()) cancel();
      entries.clear();
    },
  };
}

function bounded(zone: number, pending: readonly Change[]): readonly Change[] {
  if (pending.length <= MOST_CHANGES) return pending;
  return [{ sequence: pending[0]!.sequence, zone, complete: false }];
}
