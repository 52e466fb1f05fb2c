/**
 * Checks customers' names in our own zones as soon as those zones change, in addition to the schedule. A customer who adds the
 * CNAME sees the hostname become active at once, and so does an operator who makes the record of the fallback origin.
 */
import { inWrites } from '../base/slices.js';
import { HOSTNAME_JOB, hostnamesHearing } from '../control/certificates/drop.js';
import type { ContextBase } from '../control/kernel/context.js';
import { schedule } from '../jobs/schedule.js';
import type { Store } from '../store/driver.js';
import { hostnamesProvedBy } from '../store/hostnames/hostnames.js';
import { changesAfter, lastChange } from '../store/log/changes.js';
import { findZone } from '../store/zones/zones.js';
import { hostnamesAwaitingFallback } from './fallback-origin.js';

/** Milliseconds from a commit to the look that follows it, so that one look serves many commits. */
const WAKE_MS = 100;
/** Milliseconds between two looks otherwise: a safety net for commits without a wake-up. */
const LOOK_MS = 5000;
/** Changes looked at in one turn. */
const MOST_CHANGES = 1000;

export interface OwnChangesWatch {
  /** Something was committed. */
  wake(): void;
  close(): void;
}

/**
 * The names in a zone, and the names of customers that its fallback origin was missing for. What an unproven zone says, only its own
 * account hears. `seq`: the zone's store number; a deleted zone has planned the checks of its names itself.
 */
function affectedHostnames(store: Store, seq: number): string[] {
  const zone = findZone(store, seq);
  const proved = hostnamesProvedBy(store, seq);
  if (!zone) return proved;
  return [...proved, ...hostnamesHearing(store, zone), ...hostnamesAwaitingFallback(store, zone)];
}

/** The schedule finds changes that were made while no process ran. */
export function watchOwnChanges({ store, clock, log }: ContextBase): OwnChangesWatch {
  let seen = lastChange(store);
  let cancelWake: (() => void) | undefined;
  const look = (): void => {
    cancelWake = undefined;
    const changes = changesAfter(store, seen, MOST_CHANGES);
    const last = changes.at(-1);
    if (!last) return;
    seen = last.seq;
    const zones = new Set(changes.map(({ zone }) => zone));
    const ids = new Set([...zones].flatMap((zone) => affectedHostnames(store, zone)));
    if (ids.size === 0) return;
    const nowMs = clock.nowMs();
    const subjects = [...ids];
    const plan = (at: number): number => {
      schedule(store, { kind: HOSTNAME_JOB, subject: subjects[at]!, runAtMs: nowMs }, nowMs);
      return at + 1;
    };
    inWrites({ store, clock }, 0, (at) => at < subjects.length, plan).catch((error: unknown) => {
      log.warn({ err: error }, 'hostnames in zones that changed are checked at their usual time');
    });
    // There may be more.
    if (changes.length === MOST_CHANGES) wake();
  };
  const wake = (): void => {
    cancelWake ??= clock.after(WAKE_MS, look);
  };
  const cancel = clock.inStep(LOOK_MS, look);
  return {
    wake,
    close() {
      cancel();
      cancelWake?.();
    },
  };
}
