/** Large zone files are read in turns by account: each needs a thread, and the memory for what waits to be stored. */
import { createTurns, type Leave, type TurnLimits, type Turns } from '../../base/turns.js';
import { perStore } from '../../store/driver.js';
import { accountOf } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { zoneFailure } from '../rules/zone-failures.js';

/** Whoever waits has its file in memory. */
const LIMITS: TurnLimits = {
  all: { places: 4, waiting: 64, beyond: 4 },
  each: [{ places: 2, waiting: 16 }],
  waitMs: 30_000,
};
const RETRY_SECONDS = 5;

const known = perStore((): { turns?: Turns } => ({}));

export function turnsOfImports({ store, clock }: Pick<ContextBase, 'store' | 'clock'>): Turns {
  const own = known(store);
  own.turns ??= createTurns(LIMITS, clock);
  return own.turns;
}

/** Waits for a place. Throws 429 when too many files of the account wait, or none was free in time. */
export async function enterImport(ctx: Context, signal: AbortSignal | undefined): Promise<Leave> {
  const leave = await turnsOfImports(ctx).enter([accountOf(ctx)], signal && { signal });
  if (typeof leave !== 'string') return leave;
  signal?.throwIfAborted();
  throw zoneFailure('importsBusy', {}, { retryAfterSeconds: RETRY_SECONDS });
}
