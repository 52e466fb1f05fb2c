/** The jobs of signed zones (job.ts, watch.ts): what they are called, and when they have something to do. */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';

/** The job that signs, refreshes and unsigns a zone; its subject is the zone's identifier. */
export const SIGNING_JOB = 'dnssec';

/** The job that asks the parent and takes the steps of rollovers; its subject is the zone's identifier. */
export const PARENT_JOB = 'dnssec-parent';

/** Zones with up to this many records are signed, and unsigned, in one commit. */
export const MOST_AT_ONCE = 500;

/** Lets the job look at a zone now. Inside a write. */
export function runSigningSoon({ store, clock }: Pick<Context, 'store' | 'clock'>, { id }: Pick<ZoneRow, 'id'>): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: SIGNING_JOB, subject: toHex(id), runAtMs: nowMs }, nowMs);
}

/** Lets the job look at the parent now. Inside a write. */
export function lookAtParentSoon(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  { id }: Pick<ZoneRow, 'id'>,
): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: PARENT_JOB, subject: toHex(id), runAtMs: nowMs }, nowMs);
}
