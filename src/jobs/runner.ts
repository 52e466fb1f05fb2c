/**
 * Runs what is due. One timer: it rings when the next job is due, when one is planned sooner, and once a second for what other
 * processes have planned.
 */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { MetricSample } from '../base/metrics.js';
import type { Store } from '../store/driver.js';
import {
  countJobs,
  countOverdue,
  dueJobs,
  type Held,
  type JobRow,
  leaseDueJobs,
  leases,
  nextJobAt,
  putJobsBack,
  spreadOverdue,
} from '../store/jobs.js';
import { attempt, type Result, type Running } from './attempt.js';
import { completeKind, type JobKind, type JobKinds, LeaseLost } from './kind.js';
import { freeLeases, LEASE_MS, type LeaseWatch, RENEWAL_MS, renewAll, watchLeases } from './leases.js';
import { onSchedule } from './schedule.js';

export interface RunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** A name that no other process has, and that is the same after a restart. */
  readonly owner: string;
  readonly kinds: JobKinds;
}

export interface Runner {
  samples(): MetricSample[];
  /** Starts nothing more; resolves when what is running has ended. */
  stop(): Promise<void>;
}

/** Milliseconds between two looks at most. */
const LONGEST_REST_MS = 1000;
/** After the store could not be written to, or a bug, milliseconds. */
const TROUBLE_MS = 5000;
/** A clock that differs by more from one that is never put back was set, milliseconds. */
const CLOCK_SET_MS = 10_000;
/** A clock that is ahead by more has missed that time: the machine slept, milliseconds. */
const SLEPT_MS = 60_000;
/** Overdue jobs are spread over this at most, milliseconds. */
const LONGEST_SPREAD_MS = 1_800_000;

interface State extends RunnerOptions {
  readonly known: ReadonlyMap<string, Required<JobKind>>;
  /** What runs here, by number. */
  readonly running: Map<number, Running & { readonly ended: Promise<void> }>;
  readonly watch: LeaseWatch;
  /** Runs that ended, by kind and result. */
  readonly results: Map<string, Map<Result, number>>;
  stopped: boolean;
  turning: Promise<void> | undefined;
  cancelTimer: () => void;
  /** When the timer rings, by the wall clock. */
  ringsMs: number;
  /** By how much the wall clock differed from the steady one, milliseconds; undefined before the first look. */
  offsetMs: number | undefined;
  renewedMs: number;
}

/** Starts it; what was overdue is spread, and what an earlier process of this name had begun is taken up again. */
export function startRunner(options: RunnerOptions): Runner {
  const { store, clock, kinds } = options;
  const state: State = {
    ...options,
    known: new Map(Object.entries(kinds).map(([name, kind]) => [name, completeKind(kind)])),
    running: new Map(),
    watch: watchLeases(store),
    results: new Map(),
    stopped: false,
    turning: undefined,
    cancelTimer: () => {},
    ringsMs: Number.POSITIVE_INFINITY,
    offsetMs: undefined,
    renewedMs: steadyMs(clock),
  };
  const endListening = onSchedule(store, (runAtMs) => ringAt(state, runAtMs));
  turn(state);
  return {
    samples: () => samples(state),
    async stop() {
      state.stopped = true;
      state.cancelTimer();
      endListening();
      await state.turning;
      await Promise.all([...state.running.values()].map(({ ended }) => ended));
    },
  };
}

/** A clock that is never put back, milliseconds. */
function steadyMs(clock: Clock): number {
  return clock.nowUs() / 1000;
}

/** Sees to it that the next look is no later. */
function ringAt(state: State, atMs: number): void {
  const { clock } = state;
  const nowMs = clock.nowMs();
  const delayMs = Math.max(atMs - nowMs, 0);
  if (state.stopped || state.ringsMs <= nowMs + delayMs) return;
  state.ringsMs = nowMs + delayMs;
  // One that is under way sets the timer at its end.
  if (state.turning) return;
  state.cancelTimer();
  state.cancelTimer = clock.after(delayMs, () => turn(state));
}

function turn(state: State): void {
  const { clock, log } = state;
  state.ringsMs = Number.POSITIVE_INFINITY;
  state.turning = look(state)
    .catch((error: unknown) => {
      log.error({ err: error }, 'jobs could not be looked through; this is tried again');
      return clock.nowMs() + TROUBLE_MS;
    })
    .then((nextMs) => {
      state.turning = undefined;
      const ringsMs = Math.min(state.ringsMs, nextMs);
      state.ringsMs = Number.POSITIVE_INFINITY;
      ringAt(state, ringsMs);
    });
}

/** Resolves to when to look again, milliseconds since 1970. */
async function look(state: State): Promise<number> {
  const { store, clock, running } = state;
  const steady = steadyMs(clock);
  await noticeClock(state, steady);
  for (const { startedMs, kind, abort } of running.values()) {
    if (steady - startedMs > kind.limitMs) abort.abort(new Error(`it took longer than ${kind.limitMs / 1000} s`));
  }
  await renewOwn(state, steady);
  const gone = state.watch.expired(heldBy(state), steady);
  if (gone.length > 0)
    await freeLeases(store, gone, state.kinds, clock.nowMs(), 'its runner was not heard of any more');
  await startDue(state);
  const next = kindsWithRoom(state).flatMap(([name]) => nextJobAt(store, name) ?? []);
  return Math.min(clock.nowMs() + LONGEST_REST_MS, ...next);
}

/** The start, a clock that was set, and a machine that slept: jobs are moved so that they are neither late nor all at once. */
async function noticeClock(state: State, steady: number): Promise<void> {
  const { store, clock, owner, log } = state;
  const nowMs = clock.nowMs();
  const movedMs = state.offsetMs === undefined ? undefined : nowMs - steady - state.offsetMs;
  if (movedMs !== undefined && movedMs >= -CLOCK_SET_MS && movedMs <= SLEPT_MS) return;
  if (movedMs === undefined) {
    const own = leases(store).filter(({ lease_owner }) => lease_owner === owner);
    if (own.length > 0) await freeLeases(store, own, state.kinds, nowMs, 'the process ended while it ran');
  } else log.warn({ seconds: Math.round(movedMs / 1000) }, 'the clock was set, or the machine slept; jobs are moved');
  if (movedMs === undefined || movedMs < 0) await store.write(() => putJobsBack(store, nowMs, CLOCK_SET_MS));
  if (movedMs === undefined || movedMs > 0) await spread(state, nowMs);
  state.offsetMs = nowMs - steady;
}

async function spread({ store, known, log }: State, nowMs: number): Promise<void> {
  for (const [kind, { overduePerSecond }] of known) {
    const overdue = countOverdue(store, kind, nowMs);
    if (overdue < 2) continue;
    const windowMs = Math.min(Math.ceil((overdue * 1000) / overduePerSecond), LONGEST_SPREAD_MS);
    await store.write(() => spreadOverdue(store, kind, nowMs, windowMs));
    log.info({ kind, overdue, seconds: Math.ceil(windowMs / 1000) }, 'overdue jobs are spread');
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
    // One that has ended meanwhile is not lost.
    if (now?.row.fence === fence) now.abort.abort(new LeaseLost());
  }
}

function kindsWithRoom({ known, running }: State): (readonly [name: string, room: number])[] {
  const rooms = [...known].map(([name, { atOnce }]) => {
    const busy = [...running.values()].filter(({ row }) => row.kind === name).length;
    return [name, atOnce - busy] as const;
  });
  return rooms.filter(([, room]) => room > 0);
}

async function startDue(state: State): Promise<void> {
  const { store, clock, owner, running } = state;
  const due = kindsWithRoom(state).filter(([name]) => dueJobs(store, name, clock.nowMs(), 1).length > 0);
  if (due.length === 0) return;
  const rows = await store.write(() => {
    const nowMs = clock.nowMs();
    const lease = { owner, untilMs: nowMs + LEASE_MS };
    return due.flatMap(([name, room]) => leaseDueJobs(store, name, room, nowMs, lease));
  });
  if (running.size === 0) state.renewedMs = steadyMs(clock);
  for (const row of rows) start(state, row);
}

function start(state: State, row: JobRow): void {
  const { store, clock, log, running } = state;
  const kind = state.known.get(row.kind)!;
  const begun: Running = { row, kind, abort: new AbortController(), startedMs: steadyMs(clock) };
  const ended = attempt(begun, { store, clock, log })
    .then((result) => count(state, row.kind, result))
    .catch((error: unknown) => {
      log.error(
        { err: error, kind: row.kind, subject: row.subject },
        'what came of a job was not written; it runs again',
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

function samples({ store, results }: State): MetricSample[] {
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
  return [...planned, ...ended];
}
