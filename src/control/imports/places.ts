/** Large zone files are read in turns by account: each needs a thread, and the memory for what waits to be stored. */
import type { Leave, TurnLimits } from '../../base/turns.js';
import { perStore } from '../../store/driver.js';
import { accountOf } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { keptTurns } from '../kernel/kept-turns.js';
import { zoneFailure } from '../rules/zone-failures.js';

/** Whoever waits has its file in memory. */
const LIMITS: TurnLimits = {
  all: { places: 4, waiting: 64, beyond: 4 },
  each: [{ places: 2, waiting: 16 }],
  waitMs: 30_000,
};
const RETRY_SECONDS = 5;

/** Octets of files that may wait, of one account and of all. An account may use half of what the others leave, so that room is left. */
const MOST_OCTETS_OF_ACCOUNT = 64 << 20;
const MOST_OCTETS = 256 << 20;

interface Waiting {
  octets: number;
  readonly byAccount: Map<string, number>;
}

const known = perStore((): Waiting => ({ octets: 0, byAccount: new Map() }));

export const turnsOfImports = keptTurns(LIMITS);

/**
 * Waits for a place. `octets`: of the file, as far as it is in memory. Throws 429 when too many files of the account wait, or too much of
 * them, or no place was free in time.
 */
export async function enterImport(ctx: Context, octets: number, signal: AbortSignal | undefined): Promise<Leave> {
  const account = accountOf(ctx);
  const turns = turnsOfImports(ctx);
  signal?.throwIfAborted();
  const atOnce = turns.enterNow([account]);
  if (atOnce) return atOnce;
  const waiting = known(ctx.store);
  if (!hasRoom(waiting, account, octets)) throw busy();
  keep(waiting, account, octets);
  const leave = await turns.enter([account], signal && { signal }).finally(() => keep(waiting, account, -octets));
  if (typeof leave !== 'string') return leave;
  signal?.throwIfAborted();
  throw busy();
}

function hasRoom({ octets: all, byAccount }: Waiting, account: string, octets: number): boolean {
  const own = byAccount.get(account) ?? 0;
  return own + octets <= Math.min(MOST_OCTETS_OF_ACCOUNT, (MOST_OCTETS - (all - own)) / 2);
}

/** `octets`: negative when the file waits no longer. */
function keep(waiting: Waiting, account: string, octets: number): void {
  const own = (waiting.byAccount.get(account) ?? 0) + octets;
  waiting.octets += octets;
  if (own > 0) waiting.byAccount.set(account, own);
  else waiting.byAccount.delete(account);
}

function busy(): Error {
  return zoneFailure('importsBusy', {}, { retryAfterSeconds: RETRY_SECONDS });
}
