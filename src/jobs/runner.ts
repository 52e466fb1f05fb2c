/**
 * Runs due jobs. One timer fires when the next job is due, when an earlier one is scheduled, once a second while jobs run
 * anywhere, within a second of each commit for jobs that other processes have scheduled, and otherwise every ten seconds.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { MetricSample } from '../base/metrics.js';
import { turnSamples } from '../base/turns.js';
import type { Store } from '../store/driver.js';
import {
  countJobs,
  countOverdue,
  type Held,
  type JobRow,
  leaseJob,
  leases,
  putJobsBack,
  spreadOverdue,
} from '../store/jobs.js';
import { boundTimes } from '../store/put-back.js';
import { attempt, type Result, type Running, Stopping } from './attempt.js';
import { completeKind, type JobKind, type JobKinds, LeaseLost } from './kind.js';
import { freeLeases, LEASE_MS, type LeaseWatch, RENEWAL_MS, renewAll, watchLeases } from './leases.js';
import { createJobPlaces, type JobPlaces, type RunningJobs, rowsOfKind } from './places.js';
import { onSchedule } from './schedule.js';

export interface RunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** A name that no other process uses and that survives a restart. */
  readonly owner: string;
  readonly kinds: JobKinds;
}

export interface Runner {
  samples(): MetricSample[];
  /** Something was committed: another process may have scheduled a job. */
  wake(): void;
  /** Starts no further jobs; resolves when the running ones have ended. Those that take long go on after the next start. */
  stop(): Promise<void>;
}

/** The longest time between two polls while jobs run, and from a commit to a poll; milliseconds. */
const BUSY_REST_MS = 1000;
/** The longest time between two polls otherwise. */
const LONGEST_REST_MS = 10_000;
/** Milliseconds to wait after the store could not be written, or after a bug. */
const TROUBLE_MS = 5000;
/** When the wall clock moves by more than this against the monotonic clock, it was set; milliseconds. */
const CLOCK_SET_MS = 10_000;
/** When the wall clock moves ahead by more than this, the machine slept; milliseconds. */
const SLEPT_MS = 60_000;
/** A job that has run for longer ends when others wait and all places are taken; milliseconds. */
const YIELD_MS = 30_000;
/** How long jobs may take to end when the process stops, milliseconds. */
const STOP_MS = 2000;
/** The longest time over which overdue jobs are spread, in milliseconds. */
const LONGEST_SPREAD_MS = 1_800_000;

interface State extends RunnerOptions {
  readonly known: ReadonlyMap<string, Required<JobKind>>;
  /** By kind. */
  readonly places: ReadonlyMap<string, JobPlaces<JobRow>>;
  /** Jobs that run here, by number. */
  readonly running: Map<number, Running & { readonly ended: Promise<void> }>;
  readonly watch: LeaseWatch;
  /** Ended runs, by kind and result. */
  readonly results: Map<string, Map<Result, number>>;
  /** How long jobs have waited after they were due, by kind; milliseconds. */
  readonly waitedMs: Map<string, number>;
  stopped: boolean;
  turning: Promise<void> | undefined;
  cancelTimer: () => void;
  /** When the timer fires, on the wall clock. */
  ringsMs: number;
  /** Difference between the wall clock and the monotonic clock, milliseconds; undefined before the first poll. */
  offsetMs: number | undefined;
  /** How often the clock had been put back at the last poll. */
  timesPutBack: number;
  renewedMs: number;
}

/** Starts the runner. Overdue jobs are spread, and jobs that an earlier process of this name had begun are resumed. */
export function startRunner(options: RunnerOptions): Runner {
  const { store, clock, kinds } = options;
  const known = new Map(Object.entries(kinds).map(([name, kind]) => [name, completeKind(kind)]));
  const state: State = {
    ...options,
    known,
    places: new Map([...known].map(([name, { atOnce }]) => [name, createJobPlaces(rowsOfKind(store, name), atOnce)])),
    running: new Map(),
    watch: watchLeases(store),
    results: new Map(),
    waitedMs: new Map(),
    stopped: false,
    turning: undefined,
    cancelTimer: () => {},
    ringsMs: Number.POSITIVE_INFINITY,
    offsetMs: undefined,
    timesPutBack: clock.timesPutBack(),
    renewedMs: steadyMs(clock),
  };
  const endListening = onSchedule(store, (runAtMs) => ringAt(state, runAtMs));
  turn(state);
  return {
    samples: () => samples(state),
    wake: () => ringAt(state, clock.nowMs() + BUSY_REST_MS),
    async stop() {
      state.stopped = true;
      state.cancelTimer();
      endListening();
      await state.turning;
      // Others may never answer what a job has asked them.
      const cancel = clock.after(STOP_MS, () => {
        for (const { abort } of state.running.values()) abort.abort(new Stopping());
      });
      await Promise.all([...state.running.values()].map(({ ended }) => ended));
      cancel();
    },
  };
}

/** Ensures that the next poll is no later than this. */
function ringAt(state: State, atMs: number): void {
  const { clock } = state;
  const nowMs = clock.nowMs();
  const delayMs = Math.max(atMs - nowMs, 0);
  if (state.stopped || state.ringsMs <= nowMs + delayMs) return;
  state.ringsMs = nowMs + delayMs;
  // A poll in progress sets the timer when it ends.
  if (state.turning) return;
  state.cancelTimer();
  state.cancelTimer = clock.after(delayMs, () => turn(state));
}

function turn(state: State): void {
  const { clock, log } = state;
  state.ringsMs = Number.POSITIVE_INFINITY;
  state.turning = look(state)
    .catch((error: unknown) => {
      log.error({ err: error }, 'jobs could not be polled; trying again');
      return clock.nowMs() + TROUBLE_MS;
    })
    .then((nextMs) => {
      state.turning = undefined;
      const ringsMs = Math.min(state.ringsMs, nextMs);
      state.ringsMs = Number.POSITIVE_INFINITY;
      ringAt(state, ringsMs);
    });
}

/** Resolves to the time of the next poll, in milliseconds since 1970. */
async function look(state: State): Promise<number> {
  const { store, clock, running } = state;
  const steady = steadyMs(clock);
  await noticeClock(state, steady);
  for (const { startedMs, kind, abort } of running.values()) {
    if (steady - startedMs > kind.limitMs) abort.abort(new Error(`the job took longer than ${kind.limitMs / 1000} s`));
  }
  endLongest(state, steady);
  await renewOwn(state, steady);
  const gone = state.watch.expired(heldBy(state), steady);
  if (gone.length > 0)
    await freeLeases(store, gone, state.kinds, clock.nowMs(), 'its runner stopped renewing the lease');
  let waiting = waitingKinds(state);
  const due = waiting.filter(({ atMs }) => atMs <= clock.nowMs());
  if (due.length > 0) {
    await start(state, due);
    waiting = waitingKinds(state);
  }
  const restMs = running.size > 0 || state.watch.isWatching() ? BUSY_REST_MS : LONGEST_REST_MS;
  return Math.min(clock.nowMs() + restMs, ...waiting.map(({ atMs }) => atMs));
}

interface WaitingKind {
  readonly name: string;
  /** When its next job that may begin is due. */
  readonly atMs: number;
}

/** Kinds with a job that could run here. In one transaction: locks for each statement would cost most of an idle second. */
function waitingKinds(state: State): WaitingKind[] {
  const { store, places } = state;
  return store.snapshot(() =>
    [...places].flatMap(([name, of]) => {
      const atMs = of.nextAtMs(runningOf(state, name));
      return atMs === undefined ? [] : [{ name, atMs }];
    }),
  );
}

/** Where all places are taken and an account that has none waits, the job that has run longest ends after {@link YIELD_MS}. */
function endLongest(state: State, steady: number): void {
  const { clock, places } = state;
  const long = [...state.running.values()].filter(
    ({ startedMs, abort }) => steady - startedMs > YIELD_MS && !abort.signal.aborted,
  );
  for (const name of new Set(long.map(({ row }) => row.kind))) {
    if (!places.get(name)!.isWanted(runningOf(state, name), clock.nowMs())) continue;
    const [oldest] = long.filter(({ row }) => row.kind === name).sort((a, b) => a.startedMs - b.startedMs);
    oldest!.abort.abort(
      new Error(`the job had run for more than ${YIELD_MS / 1000} s and others waited for its place`),
    );
  }
}

function runningOf({ running }: State, kind: string): RunningJobs {
  const counts = new Map<number, number>();
  for (const { row } of running.values()) {
    if (row.kind === kind) counts.set(row.account, (counts.get(row.account) ?? 0) + 1);
  }
  return counts;
}

/**
 * Handles a start, a clock that was set, and a machine that slept: jobs are moved so that they are neither late nor all
 * due at once.
 */
async function noticeClock(state: State, steady: number): Promise<void> {
  const { store, clock, owner, log } = state;
  const nowMs = clock.nowMs();
  const movedMs = state.offsetMs === undefined ? undefined : nowMs - steady - state.offsetMs;
  const timesPutBack = clock.timesPutBack();
  // It may have been ahead between two polls.
  const wasPutBack = timesPutBack !== state.timesPutBack || (movedMs ?? 0) < -CLOCK_SET_MS;
  if (movedMs !== undefined && !wasPutBack && movedMs <= SLEPT_MS) return;
  if (movedMs === undefined) {
    const own = leases(store).filter(({ lease_owner }) => lease_owner === owner);
    if (own.length > 0) await freeLeases(store, own, state.kinds, nowMs, 'the process ended while it ran');
  } else
    log.warn({ seconds: Math.round(movedMs / 1000) }, 'the clock was set, or the machine slept; jobs are rescheduled');
  if (movedMs === undefined || wasPutBack) await putBack(state, nowMs);
  if (movedMs === undefined || movedMs > 0) await spread(state, nowMs);
  state.offsetMs = nowMs - steady;
  state.timesPutBack = timesPutBack;
}

function putBack({ store, known }: State, nowMs: number): Promise<void> {
  return store.write(() => {
    putJobsBack(store, nowMs, CLOCK_SET_MS);
    boundTimes(store, nowMs, CLOCK_SET_MS);
    for (const { followJobs } of known.values()) followJobs(store);
  });
}

async function spread({ store, known, log }: State, nowMs: number): Promise<void> {
  for (const [kind, { overduePerSecond }] of known) {
    const overdue = countOverdue(store, kind, nowMs);
    if (overdue < 2) continue;
    const windowMs = Math.min(Math.ceil((overdue * 1000) / overduePerSecond), LONGEST_SPREAD_MS);
    await store.write(() => spreadOverdue(store, kind, nowMs, windowMs));
    log.debug(
      { kind, overdue, seconds: Math.ceil(windowMs / 1000) },
      'jobs that came due while nothing ran are done one after the other',
    );
  }
}

function heldBy({ running }: State): Map<number, Held> {
  return new Map([...running].map(([seq, { row }]) => [seq, row]));
}

async function renewOwn(state: State, steady: number): Promise<void> {
  const { store, clock, running } = state;
  if (running.size === 0 || steady - state.renewedMs < RENEWAL_MS) return;
  const lost = await renewAll(store, [...heldBy(state).values()], clock.nowMs());
  state.renewedMs = steady;
  for (const { seq, fence } of lost) {
    const now = running.get(seq);
    // A job that has ended meanwhile is not lost.
    if (now?.row.fence === fence) now.abort.abort(new LeaseLost());
  }
}

async function start(state: State, due: readonly WaitingKind[]): Promise<void> {
  const { store, clock, owner, running, places } = state;
  const rows = await store.write(() => {
    const nowMs = clock.nowMs();
    const lease = { owner, untilMs: nowMs + LEASE_MS };
    const chosen = due.flatMap(({ name }) => places.get(name)!.choose(runningOf(state, name), nowMs));
    return chosen.map((row) => leaseJob(store, row, lease));
  });
  if (running.size === 0) state.renewedMs = steadyMs(clock);
  for (const row of rows) {
    state.waitedMs.set(row.kind, (state.waitedMs.get(row.kind) ?? 0) + Math.max(0, clock.nowMs() - row.run_at));
    begin(state, row);
  }
}

function begin(state: State, row: JobRow): void {
  const { store, clock, log, running } = state;
  const kind = state.known.get(row.kind)!;
  const begun: Running = { row, kind, abort: new AbortController(), startedMs: steadyMs(clock) };
  const ended = attempt(begun, { store, clock, log })
    .then((result) => count(state, row.kind, result))
    .catch((error: unknown) => {
      log.error(
        { err: error, kind: row.kind, subject: row.subject },
        'the result of a job was not written; the job runs again',
      );
    })
    .finally(() => {
      running.delete(row.seq);
      ringAt(state, clock.nowMs());
    });
  running.set(row.seq, { ...begun, ended });
}

function count({ results }: State, kind: string, result: Result): void {
  const counts = results.get(kind) ?? new Map<Result, number>();
  results.set(kind, counts);
  counts.set(result, (counts.get(result) ?? 0) + 1);
}

function samples(state: State): MetricSample[] {
  const { store, clock, results, known, waitedMs } = state;
  const turns = [...known.keys()].flatMap((kind) =>
    turnSamples(`job_${kind}`, {
      held: [...state.running.values()].filter(({ row }) => row.kind === kind).length,
      waiting: countOverdue(store, kind, clock.nowMs()),
      waitedMs: waitedMs.get(kind) ?? 0,
    }),
  );
  const planned = countJobs(store).flatMap(({ kind, jobs, failing, running }) =>
    Object.entries({ planned: jobs, failing, running }).map(
      ([state, value]): MetricSample => ({
        name: 'jobs',
        type: 'gauge',
        help: 'Jobs, by kind and state',
        labels: { kind, state },
        value,
      }),
    ),
  );
  const ended = [...results].flatMap(([kind, counts]) =>
    [...counts].map(
      ([result, value]): MetricSample => ({
        name: 'job_runs_total',
        type: 'counter',
        help: 'Runs of jobs, by kind and result',
        labels: { kind, result },
        value,
      }),
    ),
  );
  return [...planned, ...ended, ...turns];
}
