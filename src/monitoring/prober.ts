/**
 * Probes what is planned, and tells of transitions. It writes nothing itself. What it knows of an origin at its start is what is
 * stored, so a restart changes nothing until an origin has answered otherwise.
 */

import { afterEdit, afterResult, type Standing, UNKNOWN } from '../balancing/health/origin-state.js';
import { steadyMs } from '../base/clock.js';
import type { MetricSample } from '../base/metrics.js';
import type { Random } from '../base/random.js';
import { createTurns, type Turns } from '../base/turns.js';
import { probedMark } from '../store/balancing/probed.js';
import type { Store } from '../store/driver.js';
import { createProbeCounts } from './counts.js';
import { type PlannedProbe, type Probed, type ProbingNode, planProbes } from './plan.js';
import { NoProbe } from './probes/dial.js';
import { type ProbeParts, probe } from './probes/probe.js';
import type { ProbeResult } from './probes/result.js';
import { createSchedule, fractionOf, nextDue, type Schedule } from './schedule.js';

/** What is told of an origin: a transition, or that its round trips take much longer or shorter than was told. */
export interface Transition extends Probed {
  readonly healthy: boolean;
  readonly reason: string;
  readonly responseCode: number | undefined;
  /** Milliseconds: the moving average. */
  readonly rttMs: number;
}

/** The last result of a probe, for people. */
export interface LastResult extends Probed {
  readonly healthy: boolean;
  readonly reason: string;
  readonly responseCode: number | undefined;
  readonly rttMs: number;
}

export interface ProberOptions extends ProbeParts {
  readonly store: Store;
  readonly random: Random;
  readonly node: ProbingNode;
  /** Called with what has changed since the last call. */
  readonly tell: (transitions: readonly Transition[]) => void;
  /** A fault of this program ended a probe. */
  readonly onFault: (error: unknown) => void;
}

export interface Prober {
  /** Checks whether there is something else to probe. Call it from time to time: it may do nothing. */
  look(): void;
  /** What was last found of the origins of a pool (store number). */
  lastOf(pool: number): readonly LastResult[];
  samples(): readonly MetricSample[];
  close(): void;
}

/** Probes that run at once, of all accounts and of one. */
const LIMITS = { all: { places: 1000, waiting: 200_000 }, each: [{ places: 300, waiting: 2000 }], waitMs: 30_000 };
/** What is new, or was edited, is probed soon, one after the other of each account. */
const SOON_MS = 5;
/** How long transitions are gathered before they are told. */
const GATHER_MS = 20;
/** Round trips: the weight of the newest in the moving average, and what is told of besides transitions. */
const NEWEST_WEIGHT = 0.2;
const RTT_FACTOR = 2;
const RTT_LEAST_MS = 10;
const RTT_PAUSE_MS = 60_000;

/**
 * All is planned anew after an edit, and probes wait meanwhile: it takes no more than a small part of the time, however often somebody
 * edits.
 */
const REST_FACTOR = 5;

interface User extends Probed {
  /** What was told or stored of it. */
  toldHealthy: boolean | undefined;
  toldRttMs: number;
}

interface Running {
  readonly key: string;
  planned: PlannedProbe;
  /** What the settings were, as text. */
  about: string;
  users: User[];
  standing: Standing;
  last: ProbeResult | undefined;
  rttMs: number | undefined;
  rttToldMs: number;
  dueMs: number;
  /** It is probed before its turn, together with others. */
  isSoon: boolean;
  isRunning: boolean;
  isGone: boolean;
}

export function createProber(options: ProberOptions): Prober {
  return new PlannedProber(options);
}

class PlannedProber implements Prober {
  private readonly probes = new Map<string, Running>();
  private readonly byPool = new Map<number, Set<Running>>();
  private readonly schedule: Schedule<Running>;
  private readonly turns: Turns;
  private readonly counts = createProbeCounts();
  private mark: string | undefined;
  private version = -1;
  private restUntilMs = 0;
  private gathered: Transition[] = [];
  private cancelTelling: (() => void) | undefined;
  private isClosed = false;

  constructor(private readonly options: ProberOptions) {
    const { clock } = options;
    this.schedule = createSchedule(clock, (one) => this.begin(one));
    this.turns = createTurns(LIMITS, clock);
    this.look();
  }

  look(): void {
    const { store, clock } = this.options;
    const version = store.dataVersion();
    if (version === this.version || steadyMs(clock) < this.restUntilMs) return;
    const mark = probedMark(store);
    if (mark !== this.mark) {
      const beganMs = steadyMs(clock);
      this.replan();
      const endMs = steadyMs(clock);
      this.restUntilMs = endMs + (endMs - beganMs) * REST_FACTOR;
    }
    this.version = version;
    this.mark = mark;
  }

  private replan(): void {
    const { store, node } = this.options;
    const isStart = this.mark === undefined;
    const planned = planProbes(store, node);
    const gone = [...this.probes.values()].filter(({ key }) => !planned.has(key));
    this.byPool.clear();
    const soon = new Map<number, number>();
    for (const one of planned.values()) this.take(one, isStart, soon);
    for (const one of gone) this.forget(one);
  }

  /** Takes over what is planned: a new probe, or one that is known and perhaps edited. */
  private take(planned: PlannedProbe, isStart: boolean, soon: Map<number, number>): void {
    const { clock, random } = this.options;
    const nowMs = steadyMs(clock);
    const about = JSON.stringify({ ...planned.monitor, description: '' });
    const known = this.probes.get(planned.key);
    const users = planned.users.map((user) => ({
      pool: user.pool,
      origin: user.origin,
      monitor: user.monitor,
      toldHealthy: user.stored === undefined ? undefined : user.stored.healthy === 1,
      toldRttMs: (user.stored?.rtt ?? 0) / 1000,
    }));
    const one: Running = known ?? {
      ...{ key: planned.key, planned, about, users, standing: standingOf(users), last: undefined, rttMs: undefined },
      ...{ rttToldMs: nowMs, dueMs: nowMs, isSoon: false, isRunning: false, isGone: false },
    };
    const isEdited = known !== undefined && known.about !== about;
    Object.assign(one, { planned, about, users });
    if (isEdited) one.standing = afterEdit(one.standing);
    this.probes.set(one.key, one);
    for (const { pool } of users) this.byPool.set(pool, (this.byPool.get(pool) ?? new Set()).add(one));
    if (known && !isEdited) {
      // A pool that shares a probe learns at once what is known.
      this.tellUsers(one);
      return;
    }
    const turn = soon.get(planned.target.account) ?? 0;
    const isSoon = !isStart || one.standing.state === 'unknown';
    one.isSoon = isSoon;
    if (isSoon) soon.set(planned.target.account, turn + 1);
    const intervalMs = planned.monitor.interval * 1000;
    one.dueMs = nowMs + (isSoon ? (turn + fractionOf(random)) * SOON_MS : fractionOf(random) * intervalMs);
    this.schedule.set(one, one.dueMs);
  }

  private forget(one: Running): void {
    one.isGone = true;
    this.probes.delete(one.key);
    this.schedule.remove(one);
  }

  private begin(one: Running): void {
    const { clock, random } = this.options;
    const nowMs = steadyMs(clock);
    const intervalMs = one.planned.monitor.interval * 1000;
    // Origins that were probed together do not stay together.
    one.dueMs = one.isSoon ? nowMs + intervalMs * fractionOf(random) : nextDue(one.dueMs, intervalMs, nowMs, random);
    one.isSoon = false;
    this.schedule.set(one, one.dueMs);
    if (one.isRunning) {
      this.counts.skipped++;
      return;
    }
    one.isRunning = true;
    this.turns.ask([String(one.planned.target.account)], {}, (turn) => {
      if (typeof turn !== 'function' || one.isGone || this.isClosed) {
        if (typeof turn === 'function') turn();
        else this.counts.skipped++;
        one.isRunning = false;
        return;
      }
      void this.run(one).finally(() => {
        one.isRunning = false;
        turn();
      });
    });
  }

  private async run(one: Running): Promise<void> {
    const { about } = one;
    try {
      const result = await probe(this.options, one.planned.target);
      // What was found with other settings says nothing any more.
      if (one.isGone || this.isClosed || one.about !== about) return;
      this.note(one, result);
    } catch (error) {
      if (error instanceof NoProbe) this.counts.skipped++;
      else this.options.onFault(error);
    }
  }

  private note(one: Running, result: ProbeResult): void {
    const { monitor } = one.planned;
    this.counts.count(monitor.type, result);
    one.last = result;
    if (result.pass) {
      one.rttMs = one.rttMs === undefined ? result.rttMs : one.rttMs + NEWEST_WEIGHT * (result.rttMs - one.rttMs);
    }
    one.standing = afterResult(one.standing, result.pass ? 'pass' : 'fail', monitor);
    this.tellUsers(one);
  }

  /** Tells of each origin that is otherwise than was told. */
  private tellUsers(one: Running): void {
    const { standing, last } = one;
    if (standing.state === 'unknown') return;
    const healthy = standing.state === 'healthy';
    const nowMs = steadyMs(this.options.clock);
    const rttMs = one.rttMs ?? last?.rttMs ?? 0;
    const mayTellRtt = healthy && one.rttMs !== undefined && nowMs - one.rttToldMs >= RTT_PAUSE_MS;
    for (const user of one.users) {
      const isTransition = user.toldHealthy !== healthy;
      if (!isTransition && !(mayTellRtt && differsMuch(rttMs, user.toldRttMs))) continue;
      if (isTransition) this.counts.transitions++;
      one.rttToldMs = nowMs;
      Object.assign(user, { toldHealthy: healthy, toldRttMs: rttMs });
      const { pool, origin, monitor } = user;
      // A shared probe may stand where its last result, one of several in a row, does not.
      const isOfLast = last !== undefined && last.pass === healthy;
      const reason = isOfLast ? last.reason : healthy ? 'No failures' : 'Other Failure';
      const responseCode = isOfLast ? last.responseCode : undefined;
      this.gather({ pool, origin, monitor, healthy, reason, responseCode, rttMs });
    }
  }

  private gather(transition: Transition): void {
    this.gathered.push(transition);
    this.cancelTelling ??= this.options.clock.after(GATHER_MS, () => {
      const { gathered } = this;
      this.gathered = [];
      this.cancelTelling = undefined;
      this.options.tell(gathered);
    });
  }

  lastOf(pool: number): readonly LastResult[] {
    return [...(this.byPool.get(pool) ?? [])].flatMap(({ users, last, standing, rttMs }) => {
      if (!last) return [];
      const healthy = standing.state === 'healthy';
      const { reason, responseCode } = last;
      const found = { healthy, reason, responseCode, rttMs: rttMs ?? last.rttMs };
      return users
        .filter((user) => user.pool === pool)
        .map(({ origin, monitor }) => ({ pool, origin, monitor, ...found }));
    });
  }

  samples(): readonly MetricSample[] {
    const states = Map.groupBy(this.probes.values(), ({ standing }) => standing.state);
    const count = (state: Standing['state']): number => states.get(state)?.length ?? 0;
    const nowMs = steadyMs(this.options.clock);
    let late = 0;
    // There may be more of them than a call takes arguments.
    for (const { dueMs } of this.probes.values()) late = Math.max(late, nowMs - dueMs);
    return [
      ...this.counts.samples({ unknown: count('unknown'), healthy: count('healthy'), unhealthy: count('unhealthy') }),
      {
        name: 'probes_late_seconds',
        type: 'gauge',
        help: 'By how much the latest probe is late',
        labels: {},
        value: late / 1000,
      },
      ...this.turns.samples('probes'),
    ];
  }

  close(): void {
    this.isClosed = true;
    this.schedule.close();
    this.cancelTelling?.();
  }
}

function standingOf(users: readonly User[]): Standing {
  const told = users.find(({ toldHealthy }) => toldHealthy !== undefined)?.toldHealthy;
  return told === undefined ? UNKNOWN : { state: told ? 'healthy' : 'unhealthy', against: 0 };
}

function differsMuch(rttMs: number, toldMs: number): boolean {
  const [less, more] = rttMs < toldMs ? [rttMs, toldMs] : [toldMs, rttMs];
  return more - less >= RTT_LEAST_MS && more > less * RTT_FACTOR;
}
