/**
 * The only write path. Everything that changes zones, records, accounts or credentials goes through {@link commit}: one
 * transaction that takes the write lock first, lets the use case check its rules on the current rows and edit them
 * through a draft (draft.ts), then updates the serials, appends to the change log and the outbox, and commits.
 * Nothing is visible before it is durable, and a failure at any step leaves nothing behind.
 *
 * Writes requested in the same turn of the event loop share a transaction, because syncing the disk takes most of the
 * time and then happens once for all of them. Each is refused or done by itself. Accounts take turns.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { steadyMs } from '../../base/clock.js';
import { AppError } from '../../base/errors.js';
import { createTurnQueue, type TurnQueue } from '../../base/lists/turn-queue.js';
import { nameOfTurn, nameTurns } from '../../base/long-turns.js';
import type { MetricSample } from '../../base/metrics.js';
import { beginShared, finished } from '../../base/slices.js';
import { turnSamples } from '../../base/turns.js';
import { perStore, type Store } from '../../store/driver.js';
import { LogUnavailable, mayHaveWritten } from '../../store/failures.js';
import { requireWriter } from '../guard/access.js';
import { ownTurn } from '../guard/actor.js';
import type { Context } from './context.js';
import { type Draft, type OpenDraft, openDraft } from './draft.js';
import { type SharedEnds, shareEnds, Unfinished } from './ends/shared-ends.js';
import { temporaryFailure } from './errors.js';
import { noteStored, Outdated, requireCurrent } from './read-point.js';
import type { ZoneOutcome } from './zone-outcome.js';

export type { Draft } from './draft.js';

export interface Committed<T> {
  readonly value: T;
  /** Touched zones, including those whose answers did not change. */
  readonly zones: readonly ZoneOutcome[];
}

/** Edits of up to this many records, or names, are made in the write itself: each takes up to 0.3 ms there, and others wait. */
export const FEW_EDITS = 60;

/** Thrown by a write that turns out to take too long for others. */
export class TooLargeAtOnce extends Error {}

/** The largest number of writes that share a transaction. */
const MOST_TOGETHER = 100;

/** Writes that were requested within so many milliseconds have the same patience. */
const AT_ONCE_MS = 300;

interface Job {
  readonly ctx: Context;
  /** When it was requested, on a monotonic clock. */
  readonly sinceMs: number;
  /** The name of the turn that requested it. */
  readonly turn: string;
  /** Whether it edits nothing but single records. */
  readonly sharesEnds: boolean;
  /** `shared`: the zones that it edits may end together with those of other writes, before anybody reads what it returns. */
  readonly run: (shared?: SharedEnds) => Committed<unknown>;
  /** The same in steps, of a write that takes long and shares its transaction with none. */
  readonly inSteps: InSteps<unknown> | undefined;
  readonly resolve: (committed: Committed<never>) => void;
  readonly reject: (error: unknown) => void;
}

type InSteps<T> = (store: Store) => Generator<undefined, Committed<T>>;

/** Accounts take turns, so that the many writes of one do not keep those of another waiting. */
interface Queue {
  readonly jobs: TurnQueue<Job>;
  draining: boolean;
  /** Writes of the transaction that runs. */
  running: number;
  /** From the request of each until it was done or refused. */
  waitedMs: number;
  /** Until then, on a monotonic clock, each write can be undone by itself. */
  undoesUntilMs: number;
}

/**
 * Nearly all refusals come before anything has been written, and then nothing has to be undone. After one that comes later, each write
 * can be undone by itself for this many milliseconds, so that few run again because of others.
 */
const UNDOES_MS = 10_000;

const queues = perStore((): Queue => {
  return {
    jobs: createTurnQueue(({ ctx }) => accountOf(ctx)),
    draining: false,
    ...{ running: 0, waitedMs: 0 },
    undoesUntilMs: Number.NEGATIVE_INFINITY,
  };
});

/** The account whose turns a write takes; the service itself is one of its own. */
export function accountOf({ actor, turnOf }: Pick<Context, 'actor' | 'turnOf'>): string {
  return turnOf ?? ownTurn(actor);
}

/**
 * Runs one write; see the head of this file. Resolves when it is durable. Throws the errors of `work`, or 503 when the
 * store stays locked. `work` may run more than once, but takes effect once; a dry run leaves nothing behind. A request with a
 * read point gets {@link Outdated} when other nodes have written since.
 */
export async function commit<T>(ctx: Context, work: (draft: Draft) => T): Promise<Committed<T>> {
  return commitAndRead(ctx, work, (value) => value);
}

/**
 * A {@link commit} whose result is read after everything is written, serials included; so a dry run can return what it
 * would leave.
 */
export async function commitAndRead<T, Result>(
  ctx: Context,
  work: (draft: Draft) => T,
  read: (value: T, own: Context) => Result,
): Promise<Committed<Result>> {
  requireWriter(ctx.actor);
  const run = (): Committed<Result> => draftAndFinish(ctx, work, read);
  return noteOutcome(ctx, await (ctx.dryRun ? runDry(ctx, run) : enqueue(ctx, run)));
}

/** A {@link commit} that edits single records and nothing else; those of a signed zone may be one change together (shared-ends.ts). */
export async function commitRecords<T>(ctx: Context, work: (draft: Draft) => T): Promise<Committed<T>> {
  requireWriter(ctx.actor);
  const run = (shared?: SharedEnds): Committed<T> => draftAndFinish(ctx, work, (value) => value, shared);
  return noteOutcome(ctx, await (ctx.dryRun ? runDry(ctx, run) : enqueue(ctx, run, { sharesEnds: true })));
}

/** Edits that take long, step by step. They read and write through the context that they are given. */
export type StepsOfEdits<T> = (draft: Draft, own: Context) => Generator<undefined, T>;

/** The same for a write that takes long: others get their turn between its steps. */
export async function commitInSteps<T, Result>(
  ctx: Context,
  work: StepsOfEdits<T>,
  read: (value: T, own: Context) => Result,
): Promise<Committed<Result>> {
  requireWriter(ctx.actor);
  const inSteps: InSteps<Result> = (store) => draftInSteps({ ...ctx, store }, work, read);
  const run = (): Committed<Result> => finished(inSteps(ctx.store));
  return noteOutcome(ctx, await (ctx.dryRun ? runDry(ctx, run) : enqueue(ctx, run, { inSteps })));
}

function enqueue<T>(
  ctx: Context,
  run: (shared?: SharedEnds) => Committed<T>,
  { sharesEnds = false, inSteps }: { readonly sharesEnds?: boolean; readonly inSteps?: InSteps<T> } = {},
): Promise<Committed<T>> {
  return new Promise((resolve, reject) => {
    const queue = queues(ctx.store);
    const request = { ctx, sinceMs: steadyMs(ctx.clock), turn: nameOfTurn(), sharesEnds, run, inSteps };
    queue.jobs.add({ ...request, resolve: resolve as Job['resolve'], reject });
    if (queue.draining) return;
    queue.draining = true;
    setImmediate(() => void drain(ctx.store, queue));
  });
}

async function runDry<T>(ctx: Context, run: () => Committed<T>): Promise<Committed<T>> {
  const { runAndCompare } = await import('./dry-run.js');
  return orUnavailable(
    ctx,
    ctx.store.dryRun(() => runAndCompare(ctx, run)),
  );
}

function noteOutcome<T>(ctx: Context, committed: Committed<T>): Committed<T> {
  if (ctx.readPoint) noteStored(ctx.store, ctx.readPoint);
  if (ctx.outcome) ctx.outcome.zones = [...ctx.outcome.zones, ...committed.zones];
  return committed;
}

/** A {@link commit} with its own transaction, for work so large that undoing a part would need too much memory. */
export async function commitAlone<T>(ctx: Context, work: (draft: Draft) => T): Promise<Committed<T>>;
export async function commitAlone<T, Result>(
  ctx: Context,
  work: (draft: Draft) => T,
  read: (value: T, own: Context) => Result,
): Promise<Committed<Result>>;
export async function commitAlone<T, Result>(
  ctx: Context,
  work: (draft: Draft) => T,
  read: (value: T, own: Context) => T | Result = (value) => value,
): Promise<Committed<T | Result>> {
  requireWriter(ctx.actor);
  const run = (): Committed<T | Result> => draftAndFinish(ctx, work, read);
  return noteOutcome(ctx, await (ctx.dryRun ? runDry(ctx, run) : runJob(ctx, run)));
}

/** Of the turns at writes. No write that waits for one is refused. */
export function samplesOfWrites(store: Store): MetricSample[] {
  const { running, jobs, waitedMs } = queues(store);
  return turnSamples('writes', { held: running, waiting: jobs.size, waitedMs });
}

async function drain(store: Store, queue: Queue): Promise<void> {
  for (let jobs = queue.jobs.take(MOST_TOGETHER); jobs.length > 0; jobs = queue.jobs.take(MOST_TOGETHER)) {
    queue.running = jobs.length;
    queue.jobs.putBack(await runTogether(store, queue, jobs));
    queue.running = 0;
    // Otherwise all waiting writes would run in one turn of the event loop, in which nobody else is answered.
    if (queue.jobs.size > 0) await nextTurn();
  }
  queue.draining = false;
}

/** Runs one job and settles it; never throws. */
async function runOne(queue: Queue, job: Job): Promise<void> {
  noteWaits(queue, [job]);
  const { ctx, turn, run, inSteps, resolve, reject } = job;
  const written = (): Promise<Committed<unknown>> =>
    inSteps ? orUnavailable(ctx, ctx.store.writeInSteps(ctx.clock, inSteps)) : runJob(ctx, run, waitedMs(job));
  await nameTurns(turn, written).then((committed) => resolve(committed as Committed<never>), reject);
}

/**
 * Runs and settles as many of the first jobs as one transaction takes in time, and returns the others; never throws. What is
 * requested while they wait for the lock, or for the turn of this node in a cluster, joins them.
 */
async function runTogether(store: Store, queue: Queue, taken: readonly Job[]): Promise<readonly Job[]> {
  const first = taken[0]!;
  if (first.inSteps) {
    queue.running = 1;
    await runOne(queue, first);
    return taken.slice(1);
  }
  const oldest = taken.reduce((a, b) => (b.sinceMs < a.sinceMs ? b : a));
  let jobs = taken;
  let ran: (() => void)[] = [];
  try {
    const work = (): void => {
      jobs = [...jobs, ...queue.jobs.take(MOST_TOGETHER - jobs.length)];
      queue.running = jobs.length;
      ran = runParts(store, queue, jobs);
    };
    await store.write(work, undefined, waitedMs(oldest));
    noteWaits(queue, jobs.slice(0, ran.length));
    for (const settle of ran) settle();
    return jobs.slice(ran.length);
  } catch (error) {
    if (error instanceof Unfinished) {
      queue.undoesUntilMs = steadyMs(first.ctx.clock) + UNDOES_MS;
      return jobs;
    }
    const told = unavailable(first.ctx, error);
    if (!told) {
      // Nothing was written: a job failed, and will fail again when it runs alone.
      await runOne(queue, first);
      return jobs.slice(1);
    }
    const isRefused = mayHaveWritten(error) ? isAmong(jobs.slice(0, ran.length)) : isWithoutPatience(oldest, error);
    noteWaits(queue, jobs.filter(isRefused));
    for (const job of jobs) if (isRefused(job)) job.reject(told);
    return jobs.filter((job) => !isRefused(job));
  }
}

function isAmong(jobs: readonly Job[]): (job: Job) => boolean {
  return (job) => jobs.includes(job);
}

/** The writes that the log has let wait as long as the oldest one. Nothing of them was stored; the others still have time. */
function isWithoutPatience(oldest: Job, error: unknown): (job: Job) => boolean {
  return ({ sinceMs }) => !(error instanceof LogUnavailable) || sinceMs <= oldest.sinceMs + AT_ONCE_MS;
}

const waitedMs = ({ ctx, sinceMs }: Job): number => steadyMs(ctx.clock) - sinceMs;

/** Must be called when they have been done or refused. */
function noteWaits(queue: Queue, jobs: readonly Job[]): void {
  for (const job of jobs) queue.waitedMs += waitedMs(job);
}

function runParts(store: Store, { undoesUntilMs }: Queue, jobs: readonly Job[]): (() => void)[] {
  const settlers: (() => void)[] = [];
  const { clock } = jobs[0]!.ctx;
  const isOver = beginShared(clock);
  const undoes = steadyMs(clock) < undoesUntilMs;
  const shared = undoes || jobs.length === 1 ? undefined : shareEnds();
  for (const job of jobs) {
    if (job.inSteps) break;
    if (!job.sharesEnds) shared?.end();
    settlers.push(runPart(store, job, undoes, job.sharesEnds ? shared : undefined));
    if (isOver()) break;
  }
  shared?.end();
  return settlers;
}

function runPart(
  store: Store,
  { turn, run, resolve, reject }: Job,
  undoes: boolean,
  shared: SharedEnds | undefined,
): () => void {
  const writes = store.writes();
  try {
    // To be able to undo it, SQLite copies every page that it touches.
    const committed = nameTurns(turn, () => (undoes ? store.part(() => run()) : run(shared)));
    return () => resolve(committed as Committed<never>);
  } catch (error) {
    if (!isOfOneJob(error)) throw error;
    if (!undoes && store.writes() !== writes) throw new Unfinished();
    return () => reject(error);
  }
}

/** Whether the others of the transaction go on. */
function isOfOneJob(error: unknown): boolean {
  return error instanceof AppError || error instanceof Outdated || error instanceof TooLargeAtOnce;
}

function runJob<T>(ctx: Context, run: () => Committed<T>, waitedMs?: number): Promise<Committed<T>> {
  return orUnavailable(ctx, ctx.store.write(run, undefined, waitedMs));
}

function draftAndFinish<T, Result>(
  ctx: Context,
  work: (draft: Draft) => T,
  read: (value: T, own: Context) => Result,
  shared?: SharedEnds,
): Committed<Result> {
  const draft = beginDraft(ctx, shared);
  const value = work(draft);
  const zones = finished(draft.finish());
  return { value: read(value, ctx), zones };
}

function* draftInSteps<T, Result>(
  ctx: Context,
  work: StepsOfEdits<T>,
  read: (value: T, own: Context) => Result,
): Generator<undefined, Committed<Result>> {
  const draft = beginDraft(ctx);
  const value = yield* work(draft, ctx);
  const zones = yield* draft.finish();
  yield;
  return { value: read(value, ctx), zones };
}

function beginDraft(ctx: Context, shared?: SharedEnds): OpenDraft {
  if (ctx.readPoint) requireCurrent(ctx.store, ctx.readPoint);
  ctx.requireStill?.();
  return openDraft(ctx, shared);
}

/** Turns temporary failures of the store into 503. */
export async function orUnavailable<T>(ctx: Pick<Context, 'log'>, written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (error) {
    throw unavailable(ctx, error) ?? error;
  }
}

function unavailable({ log }: Pick<Context, 'log'>, error: unknown): AppError | undefined {
  if (error instanceof LogUnavailable) log.error({ reason: error.message }, 'a write was refused');
  return temporaryFailure(error);
}
