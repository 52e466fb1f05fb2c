/** Rows of jobs: what is to be done, when, and who holds the lease (jobs/). All times are milliseconds since 1970. */

import { allRows, runs, theValue, valueIfAny } from './columns.js';
import { perStore, type Store } from './driver.js';
import { ACCOUNT_OF_SUBJECT } from './subject-account.js';

export interface JobRow {
  readonly seq: number;
  readonly kind: string;
  /** The subject of the job; empty for jobs without one. */
  readonly subject: string;
  /** Store number of the account whose turn the job takes; 0: the installation itself. */
  readonly account: number;
  readonly run_at: number;
  /** Consecutive failures. */
  readonly attempt: number;
  /** Text of the last failure, kept until the job succeeds. */
  readonly last_error: string | null;
  readonly failed_at: number | null;
  readonly lease_owner: string | null;
  readonly lease_until: number | null;
  readonly fence: number;
}

/** Identifies a lease: its row, its fence, and the expiry as of its last renewal. */
export type LeaseRow = Pick<JobRow, 'seq' | 'kind' | 'attempt' | 'fence'> & { readonly lease_until: number };

/** A lease that this process holds. */
export type Held = Pick<JobRow, 'seq' | 'fence'>;

export interface NewJob {
  readonly kind: string;
  readonly subject: string;
  readonly runAtMs: number;
}

export interface Failure {
  readonly text: string;
  readonly runAtMs: number;
}

/** Odd, so that consecutive numbers are scattered over all 32-bit values. */
const SCATTER = 2654435761;

type JobValues = [kind: string, subject: string, runAt: number, setAt: number];

const INSERT = `INSERT INTO jobs (kind, subject, run_at, set_at, account)
     SELECT kind, subject, run_at, set_at, ${ACCOUNT_OF_SUBJECT}
     FROM (SELECT ? AS kind, ? AS subject, ? AS run_at, ? AS set_at) WHERE true ORDER BY kind`;

const statements = perStore((store) => ({
  put: store.prepare<JobValues>(
    `${INSERT}
     ON CONFLICT (kind, subject) DO UPDATE SET
       run_at = CASE WHEN lease_owner IS NULL THEN excluded.run_at ELSE run_at END,
       wanted_at = CASE WHEN lease_owner IS NULL THEN NULL ELSE excluded.run_at END,
       set_at = excluded.set_at, attempt = 0`,
  ),
  ensure: store.prepare<JobValues>(`${INSERT} ON CONFLICT (kind, subject) DO NOTHING`),
  due: store.prepare<[kind: string, account: number, now: number, limit: number], JobRow>(
    `SELECT * FROM jobs INDEXED BY jobs_by_account
     WHERE kind = ? AND account = ? AND run_at <= ? AND lease_owner IS NULL ORDER BY run_at, seq LIMIT ?`,
  ),
  waiting: store.prepareTuples<[kind: string, after: number, limit: number], [account: number, runAt: number]>(
    `WITH RECURSIVE job (kind, after) AS (SELECT ?, ?),
       waiting (account) AS (
         SELECT min(jobs.account) FROM jobs JOIN job WHERE jobs.kind = job.kind AND account > job.after AND lease_owner IS NULL
         UNION ALL
         SELECT (SELECT min(jobs.account) FROM jobs JOIN job
           WHERE jobs.kind = job.kind AND jobs.account > waiting.account AND lease_owner IS NULL)
         FROM waiting WHERE waiting.account IS NOT NULL)
     SELECT account, (SELECT min(run_at) FROM jobs JOIN job
       WHERE jobs.kind = job.kind AND jobs.account = waiting.account AND lease_owner IS NULL)
     FROM waiting WHERE account IS NOT NULL LIMIT ?`,
  ),
  lease: store.prepare<[owner: string, until: number, seq: number]>(
    'UPDATE jobs SET lease_owner = ?, lease_until = ?, fence = fence + 1 WHERE seq = ? AND lease_owner IS NULL',
  ),
  renew: store.prepare<[until: number, seq: number, fence: number]>(
    'UPDATE jobs SET lease_until = ? WHERE seq = ? AND fence = ? AND lease_owner IS NOT NULL',
  ),
  holder: store.prepareTuples<[seq: number, fence: number], [number]>(
    'SELECT 1 FROM jobs WHERE seq = ? AND fence = ? AND lease_owner IS NOT NULL',
  ),
  finish: store.prepare<[seq: number, fence: number]>(
    'DELETE FROM jobs WHERE seq = ? AND fence = ? AND lease_owner IS NOT NULL AND wanted_at IS NULL',
  ),
  rerun: store.prepare<[setAt: number, seq: number, fence: number]>(
    `UPDATE jobs SET run_at = wanted_at, set_at = ?, wanted_at = NULL, attempt = 0, last_error = NULL, failed_at = NULL,
       lease_owner = NULL, lease_until = NULL
     WHERE seq = ? AND fence = ? AND lease_owner IS NOT NULL AND wanted_at IS NOT NULL`,
  ),
  again: store.prepare<[runAt: number, runAt: number, setAt: number, seq: number, fence: number]>(
    `UPDATE jobs SET run_at = min(?, ifnull(wanted_at, ?)), set_at = ?, wanted_at = NULL, attempt = 0, last_error = NULL,
       failed_at = NULL, lease_owner = NULL, lease_until = NULL
     WHERE seq = ? AND fence = ? AND lease_owner IS NOT NULL`,
  ),
  fail: store.prepare<
    [runAt: number, setAt: number, error: string, failedAt: number, seq: number, fence: number, until: number | null]
  >(
    `UPDATE jobs SET run_at = ifnull(wanted_at, ?), set_at = ?, wanted_at = NULL, attempt = attempt + 1, last_error = ?,
       failed_at = ?, lease_owner = NULL, lease_until = NULL
     WHERE seq = ? AND fence = ? AND lease_until = ifnull(?, lease_until)`,
  ),
  spread: store.prepare<[now: number, window: number, now: number, kind: string, now: number]>(
    `UPDATE jobs SET run_at = ? + ((seq * ${SCATTER}) % 4294967296) * CAST(? AS INTEGER) / 4294967296, set_at = ?
     WHERE kind = ? AND run_at < ? AND lease_owner IS NULL`,
  ),
  putBack: store.prepare<[now: number, now: number, now: number, latest: number]>(
    `UPDATE jobs SET run_at = run_at - (set_at - ?), wanted_at = wanted_at - (set_at - ?), set_at = ? WHERE set_at > ?`,
  ),
  list: store.prepare<[limit: number], JobRow>('SELECT * FROM jobs ORDER BY run_at, seq LIMIT ?'),
  listFailing: store.prepare<[limit: number], JobRow>(
    'SELECT * FROM jobs WHERE attempt > 0 ORDER BY run_at, seq LIMIT ?',
  ),
  counts: store.prepareTuples<[], [kind: string, jobs: number, failing: number, leased: number]>(
    'SELECT kind, count(*), total(attempt > 0), count(lease_owner) FROM jobs GROUP BY kind ORDER BY kind',
  ),
}));

/**
 * Schedules a job, or moves it if it is already scheduled; a running job then runs again. Resets its failure count.
 * Call inside a write.
 */
export function putJob(store: Store, { kind, subject, runAtMs }: NewJob, nowMs: number): void {
  statements(store).put.run(kind, subject, Math.ceil(runAtMs), nowMs);
}

/** The same, but a job that is already scheduled stays unchanged. Call inside a write. */
export function ensureJob(store: Store, { kind, subject, runAtMs }: NewJob, nowMs: number): void {
  statements(store).ensure.run(kind, subject, Math.ceil(runAtMs), nowMs);
}

/** A run in progress ends without writing a row again. Call inside a write. */
export const removeJob = runs<[kind: string, subject: string]>('DELETE FROM jobs WHERE kind = ? AND subject = ?');

/** When the next job of a kind without a lease is due; undefined when there is none. */
export const nextJobAt = valueIfAny<[kind: string], number>(
  'SELECT run_at FROM jobs WHERE kind = ? AND lease_owner IS NULL ORDER BY run_at, seq LIMIT 1',
);

/** An account with jobs of a kind that nobody runs, and when the first of them is due. */
export interface WaitingAccount {
  readonly account: number;
  readonly runAtMs: number;
}

/** The accounts after this number that have jobs of a kind, no more than `limit`, in the order of their numbers. */
export function waitingAccounts(store: Store, kind: string, after: number, limit: number): readonly WaitingAccount[] {
  return statements(store)
    .waiting.all(kind, after, limit)
    .map(([account, runAtMs]) => ({ account, runAtMs }));
}

/** Due jobs of an account without a lease, no more than `limit`, in the order in which they should run. */
export function dueJobs(
  store: Store,
  { kind, account, nowMs, limit }: { kind: string; account: number; nowMs: number; limit: number },
): readonly JobRow[] {
  return statements(store).due.all(kind, account, nowMs, limit);
}

/** Takes the lease of a job that nobody runs. Call inside a write. */
export function leaseJob(
  store: Store,
  row: JobRow,
  { owner, untilMs }: { readonly owner: string; readonly untilMs: number },
): JobRow {
  statements(store).lease.run(owner, untilMs, row.seq);
  return { ...row, fence: row.fence + 1, lease_owner: owner, lease_until: untilMs };
}

/** False when another process has taken over the job. Call inside a write. */
export function renewLease(store: Store, { seq, fence }: Held, untilMs: number): boolean {
  return statements(store).renew.run(untilMs, seq, fence).changes > 0;
}

export const leases = allRows<[], LeaseRow & { readonly lease_owner: string }>(
  'SELECT seq, kind, attempt, fence, lease_until, lease_owner FROM jobs WHERE lease_owner IS NOT NULL ORDER BY seq',
);

export function holdsLease(store: Store, { seq, fence }: Held): boolean {
  return statements(store).holder.get(seq, fence) !== undefined;
}

/**
 * Removes a finished job unless it was scheduled again. False when another process has taken it over. Call inside a
 * write.
 */
export function finishJob(store: Store, held: Held, nowMs: number): boolean {
  const { finish, rerun } = statements(store);
  return finish.run(held.seq, held.fence).changes > 0 || rerun.run(nowMs, held.seq, held.fence).changes > 0;
}

/**
 * Schedules the next run of a job that succeeded. False when another process has taken it over. Call inside a write.
 */
export function repeatJob(store: Store, { seq, fence }: Held, runAtMs: number, nowMs: number): boolean {
  return statements(store).again.run(Math.ceil(runAtMs), Math.ceil(runAtMs), nowMs, seq, fence).changes > 0;
}

/** Records a failure and frees the job. False when another process has taken it over. Call inside a write. */
export function failJob(store: Store, held: Held, failure: Failure, nowMs: number): boolean {
  return fail(store, held, failure, nowMs, null);
}

/**
 * The same for a job whose holder seems to be gone. False when the holder has renewed its lease since. Call inside a
 * write.
 */
export function takeLease(store: Store, lease: LeaseRow, failure: Failure, nowMs: number): boolean {
  return fail(store, lease, failure, nowMs, lease.lease_until);
}

function fail(store: Store, { seq, fence }: Held, { text, runAtMs }: Failure, nowMs: number, until: number | null) {
  return statements(store).fail.run(Math.ceil(runAtMs), nowMs, text, nowMs, seq, fence, until).changes > 0;
}

/** Number of overdue jobs of a kind that are not running. */
export const countOverdue = theValue<[kind: string, nowMs: number], number>(
  'SELECT count(*) FROM jobs WHERE kind = ? AND run_at < ? AND lease_owner IS NULL',
);

/** Spreads the overdue jobs of a kind over the next `windowMs`, each by its number. Call inside a write. */
export function spreadOverdue(store: Store, kind: string, nowMs: number, windowMs: number): void {
  statements(store).spread.run(nowMs, windowMs, nowMs, kind, nowMs);
}

/**
 * Corrects jobs after the clock was set back. Jobs that were scheduled later than now by more than `toleranceMs` keep
 * their distance from the time at which they were scheduled. Call inside a write.
 */
export function putJobsBack(store: Store, nowMs: number, toleranceMs: number): void {
  statements(store).putBack.run(nowMs, nowMs, nowMs, nowMs + toleranceMs);
}

/** The next jobs; with `failing`, only those whose last run failed. */
export function listJobs(store: Store, limit: number, which: 'all' | 'failing' = 'all'): readonly JobRow[] {
  const { list, listFailing } = statements(store);
  return (which === 'all' ? list : listFailing).all(limit);
}

export interface JobCounts {
  readonly kind: string;
  readonly jobs: number;
  readonly failing: number;
  readonly running: number;
}

export function countJobs(store: Store): readonly JobCounts[] {
  return statements(store)
    .counts.all()
    .map(([kind, jobs, failing, running]) => ({ kind, jobs, failing, running }));
}
