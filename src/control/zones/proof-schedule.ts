/** When the proof of a zone is looked for (proof-job.ts). */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';

/** The job that looks; its subject is the zone's identifier. */
export const PROOF_JOB = 'zone_proof';

/** Milliseconds from the creation of a zone to the first look. */
export const FIRST_LOOK_MS = 60_000;

/** Lets the job look at a zone that was just made. Inside a write. */
export function lookForProofSoon(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  { id }: Pick<ZoneRow, 'id'>,
): void {
  const nowMs = clock.nowMs();
  schedule(store, { kind: PROOF_JOB, subject: toHex(id), runAtMs: nowMs + FIRST_LOOK_MS }, nowMs);
}
