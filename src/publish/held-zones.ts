/**
 * Zones whose changes could not be published. Each rests after a failure, longer every time, while the other zones
 * continue. Queries see such a zone in its former state. The log names it once when the hold begins and once when it
 * ends.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Change } from './source.js';

/** Milliseconds of the first and of the longest rest; the rest doubles in between. */
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 60_000;
/** Changes remembered for a zone; beyond this number the whole zone is loaded. */
const MOST_CHANGES = 1000;

/** A zone that is not served as it is stored. */
export interface HeldZone {
  /** Store number. */
  readonly zone: number;
  /** Without the final dot; the store number when the name is not known. */
  readonly name: string;
  /** Number of the first change that is not published. */
  readonly change: number;
  readonly attempts: number;
  /** Why the latest attempt failed. */
  readonly error: unknown;
}

export interface HeldZones {
  list(): readonly HeldZone[];
  /** Whether the rest of any zone is over. */
  isAnyDue(): boolean;
  /** Zones whose rest is over. */
  due(): readonly number[];
  isResting(zone: number): boolean;
  /** The changes still to be published, including those given. */
  pending(zone: number, changes: readonly Change[]): readonly Change[];
  /** Adds changes for a held zone. */
  add(zone: number, changes: readonly Change[]): void;
  /** Notes that publishing these changes failed. */
  hold(zone: number, name: string, pending: readonly Change[], error: unknown): void;
  /** Notes that the zone is served as it is stored. */
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
    if (!known)
      log.error({ zone: name, change, err: error }, 'a zone cannot be published, queries see its former state');
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
