/** Removes records at the time at which they expire, a few in each write. */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { betweenWrites } from '../../base/slices.js';
import type { JobContext, JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { findAccount } from '../../store/access/accounts.js';
import { endedRecords, endOf, nextEnd } from '../../store/records/indexed-settings.js';
import type { RecordRow } from '../../store/records/records.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { type Actor, OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import type { Participant } from '../kernel/participant.js';
import { deleteRow } from './write.js';

/** Removes the records of a zone that have ended. The subject is the store number of the zone. */
export const ENDED_RECORDS_JOB = 'ended_records';

/** Records that are removed in one write; in a signed zone each needs some signatures. */
const PART = 50;
/** How long until records that nobody may remove now, such as those of a bucket, are tried again: an hour, in milliseconds. */
const LATER_MS = 3_600_000;

/** Schedules the job in each write of a zone, because any write may add records that expire, or bring them back. */
export const endings: Participant<Context> = {
  after({ store, clock }, { row: { seq } }) {
    const end = nextEnd(store, seq, 0);
    if (end === undefined) return;
    schedule(store, { kind: ENDED_RECORDS_JOB, subject: String(seq), runAtMs: end / 1000 }, clock.nowMs());
  },
};

export function endedRecordsJob(base: ContextBase): JobKind {
  return {
    async handler(job, subject) {
      const zone = findZone(base.store, Number(subject));
      if (!zone) return { done: true };
      const left = await removeEnded(contextOf(base, zone), job, zone.seq);
      const nowMs = base.clock.nowMs();
      if (job.signal.aborted) return { againAtMs: nowMs };
      const next = nextEnd(base.store, zone.seq, nowMs * 1000);
      const times = [...(left > 0 ? [nowMs + LATER_MS] : []), ...(next === undefined ? [] : [next / 1000])];
      return times.length === 0 ? { done: true } : { againAtMs: Math.min(...times) };
    },
  };
}

/** The service takes the turns of the account whose records they are. */
function contextOf(base: ContextBase, { account }: ZoneRow): Context {
  const accountIds = [toHex(findAccount(base.store, account)!.id)];
  const actor: Actor = { ...OPERATOR, email: 'end of records', superAdministrator: false, accountIds };
  return { ...base, actor, requestId: base.random.uuid(), source: 'service' };
}

/** Returns the number of those that cannot be removed. */
async function removeEnded(ctx: Context, { requireLease, signal }: JobContext, zone: number): Promise<number> {
  const { store, clock, log } = ctx;
  let left = 0;
  // The clock may be set back meanwhile.
  const us = clock.nowUs();
  for (;;) {
    const rows = endedRecords(store, zone, { us, limit: PART, offset: left });
    if (rows.length === 0 || signal.aborted) return left;
    const refused = await removeRows(ctx, requireLease, rows, us);
    for (const { row, reason } of refused) log.warn({ record: toHex(row.id), reason }, 'an ended record stays');
    left += refused.length;
    await betweenWrites();
  }
}

interface Refused {
  readonly row: RecordRow;
  readonly reason: string;
}

async function removeRows(
  ctx: Context,
  requireLease: () => void,
  rows: readonly RecordRow[],
  us: number,
): Promise<readonly Refused[]> {
  const { value } = await commit(ctx, (draft) => {
    requireLease();
    return rows.flatMap((row): Refused[] => {
      const zone = findZone(ctx.store, row.zone);
      const now = zone && draft.find(zone, row.id);
      // Somebody may have given it another end, or none.
      if (!now || (endOf(now) ?? Number.POSITIVE_INFINITY) > us) return [];
      try {
        deleteRow(draft, zone, now);
        return [];
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return [{ row, reason: error.message }];
      }
    });
  });
  return value;
}
