/**
 * Leases: while the holder of a job renews its lease, no other process takes the job. A lease expires when its row has
 * not changed for the lease's length on the observer's own clock. Other clocks, and a clock that is set back, do not
 * matter.
 */
import type { Store } from '../store/driver.js';
import { type Failure, type Held, type LeaseRow, leases, renewLease, takeLease } from '../store/jobs.js';
import { backoffMs, DEFAULT_BACKOFF, type JobKinds } from './kind.js';

export const LEASE_MS = 30_000;
export const RENEWAL_MS = 10_000;

/** The first observation of another process's lease. */
interface Sight {
  readonly fence: number;
  readonly until: number;
  readonly sinceMs: number;
}

export interface LeaseWatch {
  /**
   * Leases of other processes that have not changed for their length. `steadyMs`: milliseconds on a monotonic clock.
   */
  expired(mine: ReadonlyMap<number, Held>, steadyMs: number): readonly LeaseRow[];
  /** Whether other processes had leases then. */
  isWatching(): boolean;
}

export function watchLeases(store: Store): LeaseWatch {
  let seen = new Map<number, Sight>();
  return {
    expired(mine, steadyMs) {
      const others = leases(store).filter(({ seq, fence }) => mine.get(seq)?.fence !== fence);
      const before = seen;
      seen = new Map(
        others.map(({ seq, fence, lease_until }) => {
          const sight = before.get(seq);
          const same = sight?.fence === fence && sight.until === lease_until;
          return [seq, same ? sight : { fence, until: lease_until, sinceMs: steadyMs }];
        }),
      );
      return others.filter(({ seq }) => steadyMs - seen.get(seq)!.sinceMs >= LEASE_MS);
    },
    isWatching: () => seen.size > 0,
  };
}

/** Renews all leases of this process; returns those that are lost. */
export function renewAll(store: Store, held: readonly Held[], nowMs: number): Promise<readonly Held[]> {
  return store.write(() => held.filter((lease) => !renewLease(store, lease, nowMs + LEASE_MS)));
}

/** Frees jobs whose holders are gone: at once the first time, then with growing delays. */
export function freeLeases(
  store: Store,
  gone: readonly LeaseRow[],
  kinds: JobKinds,
  nowMs: number,
  text: string,
): Promise<void> {
  return store.write(() => {
    for (const lease of gone) {
      const backoff = kinds[lease.kind]?.backoff ?? DEFAULT_BACKOFF;
      const failure: Failure = { text, runAtMs: nowMs + backoffMs(backoff, lease.attempt, lease.seq) };
      takeLease(store, lease, failure, nowMs);
    }
  });
}
