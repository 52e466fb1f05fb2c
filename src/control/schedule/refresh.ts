/** Has the primaries of a zone asked. */

import { schedule } from '../../jobs/schedule.js';
import type { Store } from '../../store/driver.js';
import { removeJob } from '../../store/jobs.js';
import { noteIncoming, removeIncoming } from '../../store/secondary/incoming.js';
import type { Context } from '../kernel/context.js';

/** Jobs of a zone, by its store number: the checks that are due, and those that were announced by NOTIFY or a person. */
export const REFRESH_JOB = 'zone_refresh';
export const NOTIFIED_JOB = 'zone_notified';

/** Has the primaries of a zone (store number) asked at once, before checks that are merely due; inside a write. */
export function refreshSoon({ store, clock }: Pick<Context, 'store' | 'clock'>, zone: number): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: NOTIFIED_JOB, subject: String(zone), runAtMs: nowMs }, nowMs);
}

/** Has a zone transferred as a whole, whatever its serial is; inside a write. */
export function transferAnew(ctx: Pick<Context, 'store' | 'clock'>, zone: number): void {
  noteIncoming(ctx.store, zone, { forced: 1 });
  refreshSoon(ctx, zone);
}

/** Forgets the primaries of a zone, and what was to be asked of them; inside a commit. */
export function dropIncoming(store: Store, zone: number): void {
  removeIncoming(store, zone);
  refreshNoMore(store, zone);
}

/** Takes back what was to be asked of the primaries of a zone; inside a commit. */
export function refreshNoMore(store: Store, zone: number): void {
  for (const kind of [REFRESH_JOB, NOTIFIED_JOB]) removeJob(store, kind, String(zone));
}
