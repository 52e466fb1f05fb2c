/** Stores the result of a step. */
import { commit } from '../../control/kernel/commit.js';
import type { OrderUnderWay } from '../../store/certs/orders.js';
import { findRequestById, type RequestChange, type RequestRow, updateRequest } from '../../store/certs/requests.js';
import { removeOrder, serviceContext } from './challenge-places.js';
import type { CertificateContext } from './context.js';
import type { ProblemMeaning } from './problems.js';
import { authorityDelayMs } from './schedule.js';

/** An authority that accepts no order for this time is given up until a client asks again. */
const GIVE_UP_MS = 15 * 60_000;

/** Stores the result of a step, unless the request has changed meanwhile. */
export function note({ store }: CertificateContext, row: RequestRow, change: RequestChange): Promise<void> {
  return store.write(() => {
    if (findRequestById(store, row.id)?.version === row.version) updateRequest(store, row.seq, change);
  });
}

/** Deletes an order with its challenges. The next check creates another one. */
export async function discardOrder(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay,
  change: RequestChange,
): Promise<void> {
  const { store } = ctx;
  await commit(serviceContext(ctx), (draft) => {
    removeOrder(store, draft, order);
    if (Object.keys(change).length > 0 && findRequestById(store, row.id)?.version === row.version) {
      updateRequest(store, row.seq, change);
    }
  });
}

/** Stores the consequence of a problem, and when to continue. */
export async function noteMeaning(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay | undefined,
  { kind, error, waitMs }: ProblemMeaning,
): Promise<void> {
  const nowMs = ctx.clock.nowMs();
  const failures = row.failures + 1;
  const name = order?.authority ?? row.chosen;
  if (kind === 'caa') {
    const refused = JSON.stringify([...new Set([...(JSON.parse(row.refused) as string[]), name])]);
    const change = { refused, errors: JSON.stringify([error]) };
    return order ? discardOrder(ctx, row, order, change) : note(ctx, row, change);
  }
  const errors = JSON.stringify([error]);
  if (kind === 'trouble' && !order?.url && row.renewal === 0 && nowMs - row.started_at > GIVE_UP_MS) {
    return note(ctx, row, { status: 'initializing_timed_out', errors, failures, next_at: null });
  }
  const change = { errors, failures, next_at: nowMs + (waitMs ?? authorityDelayMs(failures)) };
  return kind === 'anew' && order ? discardOrder(ctx, row, order, change) : note(ctx, row, change);
}
