/** What a kind of job is: its handler, and how much of it may happen at once. */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Store } from '../store/driver.js';

/** What a handler is given beside its subject. */
export interface JobContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Failures in a row before this run. */
  readonly attempt: number;
  /** Aborted when somebody else has the job, or when it has taken too long: nothing that is done afterwards counts. */
  readonly signal: AbortSignal;
  /**
   * To be called inside each write of the handler: throws a {@link LeaseLost} when somebody else has the job by now, so that
   * nothing of it is written.
   */
  requireLease(): void;
}

/** Done: the job goes. Again: it stays, and runs at that time, milliseconds since 1970. */
export type JobOutcome = { readonly done: true } | { readonly againAtMs: number };

/**
 * Reads how things are (the job may be out of date, or may have been done before), does what is needed, and may do it twice
 * without harm. What it throws is an error that nobody expected: the job is tried again later, and the text is kept.
 */
export type JobHandler = (context: JobContext, subject: string) => Promise<JobOutcome>;

/** How long to wait after failures in a row, milliseconds: the first time, doubled each time, up to the most. */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

export interface JobKind {
  readonly handler: JobHandler;
  /** How many run at the same time. */
  readonly atOnce?: number;
  readonly backoff?: Backoff;
  /** Jobs that should have run while nothing ran are started at this rate. */
  readonly overduePerSecond?: number;
  /** A run that takes longer is given up, milliseconds. */
  readonly limitMs?: number;
}

export type JobKinds = Readonly<Record<string, JobKind>>;

/** The job was given to somebody else, because its holder had not been heard of. */
export class LeaseLost extends Error {
  constructor() {
    super('the job has been given to somebody else');
    this.name = 'LeaseLost';
  }
}

const KIND_DEFAULTS = {
  atOnce: 4,
  backoff: { firstMs: 5_000, mostMs: 3_600_000 },
  overduePerSecond: 10,
  limitMs: 600_000,
} as const;

/** A kind with what it leaves open. */
export function completeKind(kind: JobKind): Required<JobKind> {
  return { ...KIND_DEFAULTS, ...kind };
}

/**
 * Milliseconds to wait after so many failures in a row; none after none. Up to a tenth is taken off by the job's number, so
 * that jobs that failed together do not come back together.
 */
export function backoffMs({ firstMs, mostMs }: Backoff, failures: number, seq: number): number {
  if (failures === 0) return 0;
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.round(full * (1 - (seq % 16) / 160));
}

/** The backoff of jobs whose kind this program does not know. */
export const DEFAULT_BACKOFF: Backoff = KIND_DEFAULTS.backoff;
