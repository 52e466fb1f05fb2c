/** Writing down what became of a step. */
import { commit } from '../../control/write/commit.js';
import type { OrderUnderWay } from '../../store/certs/orders.js';
import { findRequestById, type RequestChange, type RequestRow, updateRequest } from '../../store/certs/requests.js';
import { removeOrder, serviceContext } from './challenge-places.js';
import type { CertificateContext } from './context.js';
import type { ProblemMeaning } from './problems.js';
import { authorityDelayMs } from './schedule.js';

/** An authority that takes no order for so long is given up, until somebody asks again. */
const GIVE_UP_MS = 15 * 60_000;

/** Writes down what became of a step, unless something else is wanted meanwhile. */
export function note({ store }: CertificateContext, row: RequestRow, change: RequestChange): Promise<void> {
  return store.write(() => {
    if (findRequestById(store, row.id)?.version === row.version) updateRequest(store, row.seq, change);
  });
}

/** Forgets an order with its challenges. Another one is made when the request is next looked at. */
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

/** Writes down what a problem means, and when to go on. */
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
  if (kind === 'trouble' && !order && row.renewal === 0 && nowMs - row.started_at > GIVE_UP_MS) {
    return note(ctx, row, { status: 'initializing_timed_out', errors, failures, next_at: null });
  }
  const change = { errors, failures, next_at: nowMs + (waitMs ?? authorityDelayMs(failures)) };
  return kind === 'anew' && order ? discardOrder(ctx, row, order, change) : note(ctx, row, change);
}
