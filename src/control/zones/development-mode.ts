/** Development mode: the cache of the edge is left out, and comes back by itself after three hours (v4: zone settings). */
import { fromHex, toHex } from '../../base/bytes.js';
import type { JobKind, JobOutcome } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import type { Store } from '../../store/driver.js';
import { findZoneSetting, putZoneSetting } from '../../store/zones/settings.js';
import { findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';

/** Ends development mode. The subject is the zone's identifier. */
export const DEVELOPMENT_MODE_JOB = 'development_mode';

const NAME = 'development_mode';
const LASTS_MS = 3 * 3_600_000;
const DONE: JobOutcome = { done: true };

/** Call inside the write that switches it on. */
export function planDevelopmentModeEnd({ store, clock }: Pick<Context, 'store' | 'clock'>, { id }: ZoneRow): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: DEVELOPMENT_MODE_JOB, subject: toHex(id), runAtMs: nowMs + LASTS_MS }, nowMs);
}

/**
 * Seconds until it ends, rounded up. Negative: so many seconds ago it ended or was switched off; 0: it was never on.
 */
export function developmentModeSeconds(store: Store, zone: number, nowMs: number): number {
  const row = findZoneSetting(store, zone, NAME);
  if (!row) return 0;
  const sinceMs = Math.floor(row.modified_at / 1000);
  if (JSON.parse(row.value) === 'on') return Math.max(1, Math.ceil((sinceMs + LASTS_MS - nowMs) / 1000));
  return Math.min(-1, Math.floor((sinceMs - nowMs) / 1000));
}

export function developmentModeJobs(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      const { value } = await commit(ctx, (draft): JobOutcome => {
        requireLease();
        const zone = findZoneById(ctx.store, fromHex(subject)!);
        const row = zone && findZoneSetting(ctx.store, zone.seq, NAME);
        if (!zone || !row || JSON.parse(row.value) !== 'on') return DONE;
        // It may have been switched off and on again.
        const endsMs = Math.floor(row.modified_at / 1000) + LASTS_MS;
        if (ctx.clock.nowMs() < endsMs) return { againAtMs: endsMs };
        putZoneSetting(ctx.store, zone.seq, { name: NAME, value: '"off"', modified_at: draft.now });
        const audited = { before: { [NAME]: 'on' }, after: { [NAME]: 'off' } };
        draft.event({ kind: 'zone_settings.edit', zone, name: NAME, ...audited });
        return DONE;
      });
      return value;
    },
  };
}
