/** A kind of job: its handler, and its limits. */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Store } from '../store/driver.js';

/** What a handler receives besides its subject. */
export interface JobContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Consecutive failures before this run. */
  readonly attempt: number;
  /**
   * Aborted when another process has taken over the job, or when the job has exceeded its time limit. Work done
   * afterwards does not count.
   */
  readonly signal: AbortSignal;
  /**
   * Call inside each write of the handler. Throws a {@link LeaseLost} when another process has taken over the job, so
   * that nothing is written.
   */
  requireLease(): void;
}

/**
 * `done`: the job is removed. `againAtMs`: the job stays and runs at that time, in milliseconds since 1970. `write` stores what
 * belongs to the result in the same write, for jobs that are so frequent that another one matters.
 */
export type JobOutcome = { readonly done: true } | { readonly againAtMs: number; readonly write?: () => void };

/**
 * Reads the current state (the job may be outdated or already done) and does what is needed; it must be idempotent. An
 * error it throws is unexpected: the error text is kept and the job is retried later.
 */
export type JobHandler = (context: JobContext, subject: string) => Promise<JobOutcome>;

/** Milliseconds to wait after consecutive failures: the first delay, doubled each time, up to the longest delay. */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

export interface JobKind {
  readonly handler: JobHandler;
  /**
   * The largest number of concurrent runs of one account, and of all while nobody waits. As many more are begun for accounts of
   * which none runs (places.ts).
   */
  readonly atOnce?: number;
  readonly backoff?: Backoff;
  /** Jobs started each second after downtime, for jobs that became overdue. */
  readonly overduePerSecond?: number;
  /** Time limit of a run, in milliseconds. */
  readonly limitMs?: number;
  /**
   * Brings times forward that rows hold beside their jobs, after jobs were moved because the clock was set back. Called
   * inside that write, and at each start, because the clock may have been set meanwhile.
   */
  readonly followJobs?: (store: Store) => void;
}

export type JobKinds = Readonly<Record<string, JobKind>>;

/** Another process took over the job, because this process did not renew the lease in time. */
export class LeaseLost extends Error {
  constructor() {
    super('another process has taken over the job');
    this.name = 'LeaseLost';
  }
}

const KIND_DEFAULTS = {
  atOnce: 4,
  backoff: { firstMs: 5_000, mostMs: 3_600_000 },
  overduePerSecond: 10,
  limitMs: 600_000,
  followJobs: () => {},
} as const;

/** A kind with defaults for its optional members. */
export function completeKind(kind: JobKind): Required<JobKind> {
  return { ...KIND_DEFAULTS, ...kind };
}

/**
 * Milliseconds to wait after this many consecutive failures; 0 after none. The job's number shortens the wait by up to
 * a tenth, so that jobs that failed together are not retried together.
 */
export function backoffMs({ firstMs, mostMs }: Backoff, failures: number, seq: number): number {
  if (failures === 0) return 0;
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.round(full * (1 - (seq % 16) / 160));
}

/** The backoff for jobs of kinds that this program does not know. */
export const DEFAULT_BACKOFF: Backoff = KIND_DEFAULTS.backoff;
