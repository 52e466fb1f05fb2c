/** Keeps spools while they are used and a minute longer, so that the transfers of one version share one. */
import type { Clock } from '../../base/clock.js';
import { Spool } from './spool.js';
import type { SpoolOrder, SpoolThreadData } from './spool-order.js';
import { createSpoolThreads, type SpoolThreads } from './spool-threads.js';

const KEPT_MS = 60_000;
/** Spools that are kept although nobody reads them. */
const MOST_KEPT = 16;

export interface SpoolerOptions extends SpoolThreadData {
  readonly clock: Clock;
}

/** What a zone is at present; `account`: whose turn it takes. */
export interface SpooledState {
  readonly version: number;
  readonly serial: number;
  readonly account: number;
}

export interface Spooler {
  /**
   * The spool of this state of a zone: a new one, or one that other transfers use. The serial alone would not do, because a
   * replacement may keep it; nor would the version, which signatures and flattened addresses do not move.
   */
  spool(order: SpoolOrder, state: SpooledState): Spool;
  close(): Promise<void>;
}

/** `threads`: fill them. */
export function createSpooler(
  { dataDir, serving, clock }: SpoolerOptions,
  threads: SpoolThreads = createSpoolThreads({ dataDir, serving }, clock),
): Spooler {
  const known = new Map<string, Spool>();
  let closed = false;

  const forget = (key: string, spool: Spool): void => {
    if (known.get(key) === spool) known.delete(key);
    spool.close();
  };

  /** A spool that is still read is looked at again later. */
  const expire = (key: string, spool: Spool): void => {
    if (closed || known.get(key) !== spool) return;
    if (spool.isIdle) forget(key, spool);
    else clock.after(KEPT_MS, () => expire(key, spool));
  };

  const forgetUnused = (): void => {
    const unused = [...known].filter(([, { isIdle, isDone }]) => isIdle && isDone);
    const idle = [...unused.filter(([, { isEmpty }]) => isEmpty), ...unused.filter(([, { isEmpty }]) => !isEmpty)];
    for (const [key, spool] of idle.slice(0, Math.max(0, idle.length - MOST_KEPT + 1))) forget(key, spool);
  };

  const spoolOf: Spooler['spool'] = (order, state) => {
    const { version, serial, account } = state;
    const key = `${order.zone} ${version} ${serial} ${order.from ?? 'whole'}`;
    const shared = known.get(key);
    if (shared?.isUsable) return shared;
    if (shared) forget(key, shared);
    forgetUnused();
    const spool = new Spool(() => spoolOf({ zone: order.zone, from: undefined }, state));
    known.set(key, spool);
    threads.fill({ order, spool, account });
    clock.after(KEPT_MS, () => expire(key, spool));
    return spool;
  };

  return {
    spool: spoolOf,
    async close() {
      closed = true;
      for (const [key, spool] of [...known]) forget(key, spool);
      await threads.close();
    },
  };
}
