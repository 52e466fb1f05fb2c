/** The jobs of zones with primaries: checks that are due, and those that NOTIFY or a person asked for. */
import { inWrites } from '../../base/slices.js';
import { NOTIFIED_JOB, REFRESH_JOB } from '../../control/schedule/refresh.js';
import type { JobHandler, JobKinds } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { allIncoming } from '../../store/secondary/incoming.js';
import { checkZone, type RefreshParts } from './refresh.js';

/** Checks and transfers at once; those asked for have places of their own, so that they do not wait behind the others. */
const AT_ONCE = 10;
/** Milliseconds until a zone whose other job is running gets its turn. */
const BUSY_MS = 2000;
/** Longer than any transfer. */
const LIMIT_MS = 7_500_000;
/** Unexpected errors, such as a store that is full. */
const BACKOFF = { firstMs: 60_000, mostMs: 3_600_000 };

/** Zones that are checked in a second after a start. */
const STARTED_PER_SECOND = 50;

/** NOTIFY that came while nothing ran here is lost, so all zones are checked after a start, one after the other. */
export async function checkAfterStart({ base: { store, clock } }: Pick<RefreshParts, 'base'>): Promise<void> {
  const zones = allIncoming(store);
  if (zones.length === 0) return;
  const nowMs = clock.nowMs();
  await inWrites(
    { clock, store },
    0,
    (index) => index < zones.length,
    (index) => {
      const runAtMs = nowMs + (index * 1000) / STARTED_PER_SECOND;
      schedule(store, { kind: REFRESH_JOB, subject: String(zones[index]!.zone), runAtMs }, nowMs);
      return index + 1;
    },
  );
}

export function incomingJobs(parts: RefreshParts): JobKinds {
  const { store, clock } = parts.base;
  const running = new Set<string>();

  const handler =
    (isNotified: boolean): JobHandler =>
    async ({ signal }, subject) => {
      if (running.has(subject)) return { againAtMs: clock.nowMs() + BUSY_MS };
      running.add(subject);
      try {
        const checked = await checkZone(parts, Number(subject), isNotified, signal);
        if (!checked) return { done: true };
        const { nextMs, write } = checked;
        if (!isNotified) return { againAtMs: nextMs, write };
        await store.write(() => {
          write();
          schedule(store, { kind: REFRESH_JOB, subject, runAtMs: nextMs }, clock.nowMs());
        });
        return { done: true };
      } finally {
        running.delete(subject);
      }
    };

  const common = { atOnce: AT_ONCE, limitMs: LIMIT_MS, backoff: BACKOFF };
  return {
    [REFRESH_JOB]: { ...common, handler: handler(false), overduePerSecond: 50 },
    [NOTIFIED_JOB]: { ...common, handler: handler(true), overduePerSecond: 50 },
  };
}
