/** Has the primaries of a zone asked. */
import { schedule } from '../../jobs/schedule.js';
import { noteIncoming } from '../../store/secondary/incoming.js';
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
