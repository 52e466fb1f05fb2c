/** The job that corrects all PTR records kept in an account, a part at a time. */
import { fromHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { nextSlice } from '../../base/slices.js';
import type { JobKind } from '../../jobs/kind.js';
import { findAccountById } from '../../store/access/accounts.js';
import { linkedRecordsAfter } from '../../store/records/indexed-settings.js';
import type { RecordRow } from '../../store/records/records.js';
import { findZone } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { isAddress, pointerState, sourceOf } from '../rules/pointers.js';
import { keepPointer, removePointer } from './follow.js';

/** The subject of the job is the identifier of an account. */
export const POINTERS_JOB = 'pointers';

/** Records examined and edited in one turn. */
const PART = 50;

export function pointersJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease, signal }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      const account = findAccountById(ctx.store, fromHex(subject)!)?.seq;
      let refused = 0;
      for (let after = 0; account !== undefined && !signal.aborted; ) {
        const rows = linkedRecordsAfter(ctx.store, after, PART);
        if (rows.length === 0) break;
        after = rows.at(-1)!.seq;
        const wrong = rows.filter((row) => isWrong(ctx, account, row));
        // The loop visits the linked records of all accounts, which may be many.
        await nextSlice();
        if (wrong.length === 0) continue;
        await commit(ctx, (draft) => {
          requireLease();
          for (const row of wrong) refused += mend(ctx, draft, account, row) ? 0 : 1;
        });
      }
      if (refused > 0)
        base.log.warn({ account: subject, records: refused }, 'PTR records were not added: the zone is full');
      return signal.aborted ? { againAtMs: base.clock.nowMs() } : { done: true };
    },
  };
}

function isWrong({ store }: Context, account: number, row: RecordRow): boolean {
  if (findZone(store, row.zone)?.account !== account) return false;
  if (!isAddress(row.type)) return sourceOf(store, account, row) === undefined;
  const { status, reverse } = pointerState(store, account, row);
  return status !== 'kept' && reverse !== undefined;
}

/** False when there is no room for the PTR record: that of another zone may still be kept. */
function mend(ctx: Context, edits: RecordEdits, account: number, row: RecordRow): boolean {
  const zone = isWrong(ctx, account, row) ? findZone(ctx.store, row.zone) : undefined;
  const now = zone && edits.find(zone, row.id);
  if (!now) return true;
  try {
    if (isAddress(now.type)) keepPointer(ctx, edits, zone, now);
    else removePointer(edits, zone, now);
    return true;
  } catch (error) {
    // Nothing was edited yet when the quota refuses the record.
    if (error instanceof AppError) return false;
    throw error;
  }
}
