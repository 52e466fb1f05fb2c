/**
 * Keeps the names that a zone's certificates cover in the zone, because its HTTPS records depend on them. So these
 * records change in a write like all others: when certificates go, when edges use a new one, and when one expires.
 */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import { certifiedNames } from '../../serving/certified-names.js';
import { findZone } from '../../store/zones/zones.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';

/** Looks at the certificates of a zone again. The subject is the zone's identifier. */
export const CERTIFIED_NAMES_JOB = 'certified_names';

type WriteContext = Pick<Context, 'store' | 'clock'>;

/** Call inside a commit, after certificates of the zone were dropped. `zone`: store number. */
export function updateCertifiedNames(ctx: WriteContext, draft: Draft, zone: number): void {
  if (!findZone(ctx.store, zone)) return;
  const { names, changesAtMs } = certifiedNames(ctx.store, zone, ctx.clock.nowMs());
  draft.setCertifiedNames(zone, names);
  if (changesAtMs !== undefined) planCertifiedNames(ctx, zone, changesAtMs);
}

/** Schedules the update, inside the write that adds a certificate: at once, but edges must read it first. */
export function planCertifiedNames({ store, clock }: WriteContext, zone: number, runAtMs = clock.nowMs()): void {
  const row = findZone(store, zone);
  if (row) schedule(store, { kind: CERTIFIED_NAMES_JOB, subject: toHex(row.id), runAtMs }, clock.nowMs());
}
