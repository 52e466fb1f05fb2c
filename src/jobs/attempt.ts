/** One run of one job: its handler, its time limit and its result. */
import { messageOf } from '../base/errors.js';
import { nameTurns } from '../base/long-turns.js';
import { failJob, finishJob, holdsLease, type JobRow, repeatJob } from '../store/jobs.js';
import { backoffMs, type JobContext, type JobKind, type JobOutcome, LeaseLost } from './kind.js';

/** A job that this process runs. */
export interface Running {
  readonly row: JobRow;
  readonly kind: Required<JobKind>;
  readonly abort: AbortController;
  /** Milliseconds on a monotonic clock. */
  readonly startedMs: number;
}

export type Result = 'done' | 'again' | 'failed' | 'lost';

type Failed = { readonly error: unknown };

/** The process stops. The lease stays, so that the job goes on after the next start. */
export class Stopping extends Error {}

/** The longest part of an error text that is kept, in characters. */
const MOST_TEXT = 500;

/** Runs a job and writes the result. Throws only errors of the store; the lease then expires by itself. */
export async function attempt(running: Running, base: Pick<JobContext, 'store' | 'clock' | 'log'>): Promise<Result> {
  const { row } = running;
  const outcome = await runHandler(running, base);
  const log = { kind: row.kind, subject: row.subject };
  if ('error' in outcome && outcome.error instanceof LeaseLost) {
    base.log.warn(log, 'another process took over a job while it ran here');
    return 'lost';
  }
  if ('error' in outcome && outcome.error instanceof Stopping) return 'lost';
  if ('error' in outcome) base.log.error({ ...log, attempt: row.attempt + 1, err: outcome.error }, 'a job failed');
  const kept = await base.store.write(() => settle(running, outcome, base));
  if (!kept) base.log.warn(log, 'the result of a job came too late and was discarded');
  if (!kept) return 'lost';
  if ('error' in outcome) return 'failed';
  return 'done' in outcome ? 'done' : 'again';
}

async function runHandler(
  { row, kind, abort }: Running,
  base: Pick<JobContext, 'store' | 'clock' | 'log'>,
): Promise<JobOutcome | Failed> {
  const { signal } = abort;
  const context: JobContext = {
    ...base,
    attempt: row.attempt,
    signal,
    requireLease() {
      if (signal.aborted || !holdsLease(base.store, row)) throw new LeaseLost();
    },
  };
  let giveUp = (): void => {};
  const aborted = new Promise<Failed>((resolve) => {
    giveUp = () => resolve({ error: signal.reason });
    signal.addEventListener('abort', giveUp, { once: true });
  });
  try {
    const handled = nameTurns(`job ${row.kind}`, () => kind.handler(context, row.subject));
    return await Promise.race([handled, aborted]);
  } catch (error) {
    return { error };
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function settle(
  { row, kind }: Running,
  outcome: JobOutcome | Failed,
  { store, clock }: Pick<JobContext, 'store' | 'clock'>,
): boolean {
  const nowMs = clock.nowMs();
  if ('error' in outcome) {
    const text = messageOf(outcome.error).slice(0, MOST_TEXT);
    const runAtMs = nowMs + backoffMs(kind.backoff, row.attempt + 1, row.seq);
    return failJob(store, row, { text, runAtMs }, nowMs);
  }
  if ('done' in outcome) return finishJob(store, row, nowMs);
  const kept = repeatJob(store, row, outcome.againAtMs, nowMs);
  if (kept) outcome.write?.();
  return kept;
}
