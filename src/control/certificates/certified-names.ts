/**
 * Keeps the names that a zone's certificates cover in the zone, because its HTTPS records depend on them. So these
 * records change in the write that changes the certificates, or when one expires.
 */
import { fromHex, toHex } from '../../base/bytes.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { certifiedNames } from '../../serving/certified-names.js';
import { findZone, findZoneById } from '../../store/zones/zones.js';
import { commit, type Draft } from '../write/commit.js';
import { type Context, type ContextBase, OPERATOR } from '../write/context.js';

/** Looks again when a certificate begins or ends to be valid. The subject is the zone's identifier. */
export const CERTIFIED_NAMES_JOB = 'certified_names';

/** Call inside a commit, after certificates of the zone were added or removed. `zone`: store number. */
export function updateCertifiedNames({ store, clock }: Pick<Context, 'store' | 'clock'>, draft: Draft, zone: number) {
  const row = findZone(store, zone);
  if (!row) return;
  const nowMs = clock.nowMs();
  const { names, changesAtMs } = certifiedNames(store, zone, nowMs);
  draft.setCertifiedNames(zone, names);
  if (changesAtMs === undefined) return;
  schedule(store, { kind: CERTIFIED_NAMES_JOB, subject: toHex(row.id), runAtMs: changesAtMs }, nowMs);
}

export function certifiedNamesJobs(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      await commit(ctx, (draft) => {
        requireLease();
        const zone = findZoneById(ctx.store, fromHex(subject)!);
        if (zone) updateCertifiedNames(ctx, draft, zone.seq);
      });
      return { done: true };
    },
  };
}
