/**
 * Delivers events to destinations. Each destination gets its events one by one and in order; the next is sent only once the previous was
 * accepted. Destinations do not wait for each other: accounts take turns at the connections. Deliveries are reported in batches, so
 * after a crash the last events are sent again, with the same identifiers.
 */
import { toHex } from '../base/bytes.js';
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';
import { createTurns, type TurnLimits, type Turns } from '../base/turns.js';
import { findAccount } from '../store/access/accounts.js';
import { DELIVERIES_KEPT } from '../store/alerts/deliveries.js';
import { allDestinations, destinationsOfAccount } from '../store/alerts/destinations.js';
import { alertPoliciesOfAccount } from '../store/alerts/policies.js';
import type { Store } from '../store/driver.js';
import {
  accountsWithEvents,
  type BriefEvent,
  type EventStates,
  findEvent,
  newestEvent,
  statesOfEvent,
} from '../store/log/events-query.js';
import { type Alert, alertOf } from './message.js';
import { RecentEvents } from './recent-events.js';
import { beginningOf, type Delivered, type Report } from './record.js';
import type { Attempt } from './send.js';
import { createTarget, type Due, LONGEST_MS, pauseMs, type Target, type Told, type ToldPolicy } from './target.js';
import { findAlertType, isToldOf, type Judged } from './types.js';

export interface DelivererParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Sends one message: a webhook gets one event, a mail may contain several. Rejects only for a fault of ours. */
  readonly send: (target: Target, alerts: readonly Alert[], signal: AbortSignal) => Promise<Attempt>;
  /** Resolves when the reports are stored. Called again when it rejects. */
  readonly report: (reports: readonly Report[]) => Promise<void>;
  /** Called with a fault of ours during a delivery. */
  readonly onFault: (error: unknown) => void;
}

export interface Deliverer {
  /** To be called after a commit. */
  look(): void;
  /** Reads all destinations again. */
  reloadAll(): void;
  readonly turns: Turns;
  /** Number of attempts by outcome. */
  readonly counts: Readonly<Record<'delivered' | 'failed' | 'switchedOff', number>>;
  close(): void;
}

/** Each destination has one connection; one that does not answer keeps its place until the attempt times out. */
const LIMITS: TurnLimits = {
  all: { places: 256, waiting: 100_000 },
  each: [
    { places: 128, waiting: 10_000 },
    { places: 1, waiting: 1 },
  ],
  waitMs: 600_000,
  patienceMs: 300,
};
const REPORT_MS = 100;
const REPORT_RETRY_MS = 1_000;
/** Deliveries that are not stored yet would be repeated after a crash. */
const MOST_UNREPORTED = 5_000;
/** The position is stored after this many events that no policy selects. */
const PASSED_UNSTORED = 1_000;
/** A destination that has failed for this long is switched off. */
const OFF_AFTER_US = 86_400_000_000;
/** It must also have failed this often: the clock may have been set forward, or this program may not have run. */
const OFF_AFTER_FAILURES = 12;
const MAILED_AT_ONCE = 50;
/** Time between the first event and its mail, and time between two mails. */
const GATHER_MS = 5_000;
const MAIL_REST_MS = 300_000;

export function createDeliverer(parts: DelivererParts): Deliverer {
  return new EventDeliverer(parts);
}

class EventDeliverer implements Deliverer {
  private seen: number;
  private readonly targets = new Map<number, Map<number, Target>>();
  readonly turns: Turns;
  readonly counts = { delivered: 0, failed: 0, switchedOff: 0 };
  private pending = new Map<number, Report>();
  private unreported = 0;
  private isReporting = false;
  /** A delivery waits until reports are stored. */
  private isHeld = false;
  private readonly recent: RecentEvents;
  private isClosed = false;

  constructor(private readonly parts: DelivererParts) {
    const { store, clock } = parts;
    this.turns = createTurns(LIMITS, clock);
    this.recent = new RecentEvents(store);
    this.seen = newestEvent(store);
    for (const account of new Set(allDestinations(store).map((row) => row.account))) this.reload(account);
    this.pumpAll();
  }

  look(): void {
    const { store } = this.parts;
    const newest = newestEvent(store);
    if (this.isClosed || newest <= this.seen) return;
    const touched = accountsWithEvents(store, this.seen, newest);
    this.seen = newest;
    for (const { account, isAboutAlerts } of touched) if (isAboutAlerts && account !== null) this.reload(account);
    const accounts = new Set(touched.map(({ account }) => account));
    for (const [account, targets] of this.targets) {
      const isTouched = accounts.has(account);
      for (const target of targets.values()) {
        if (isTouched || (accounts.has(null) && target.seesInstallation)) this.pump(target);
      }
    }
  }

  reloadAll(): void {
    for (const account of [...this.targets.keys()]) this.reload(account);
  }

  close(): void {
    this.isClosed = true;
    for (const targets of this.targets.values()) for (const target of targets.values()) target.abort?.abort();
  }

  /** Reads the destinations and policies of an account again. */
  private reload(account: number): void {
    const { store } = this.parts;
    const before = this.targets.get(account) ?? new Map<number, Target>();
    const policies: ToldPolicy[] = alertPoliciesOfAccount(store, account)
      .filter(({ enabled }) => enabled === 1)
      .flatMap((row) => {
        const type = findAlertType(row.alert_type);
        return type ? [{ row, type, filters: JSON.parse(row.filters), named: JSON.parse(row.mechanisms) }] : [];
      });
    const id = findAccount(store, account)?.id;
    const now = new Map<number, Target>();
    for (const row of id ? destinationsOfAccount(store, account) : []) {
      const own = policies.filter(({ named }) => named.includes(toHex(row.id)));
      if (row.disabled_at !== null || own.length === 0) continue;
      now.set(row.seq, createTarget(row, own, toHex(id!), before.get(row.seq)));
    }
    for (const [seq, target] of before) {
      if (now.get(seq) === target) continue;
      target.isGone = true;
      target.cancelWait?.();
    }
    if (now.size === 0) this.targets.delete(account);
    else this.targets.set(account, now);
    for (const target of now.values()) this.pump(target);
  }

  /** Begins the next attempt, unless the destination is busy or has to wait. */
  private pump(target: Target): void {
    if (this.isClosed || target.isBusy || target.isGone || target.cancelWait) return;
    if (this.unreported >= MOST_UNREPORTED) {
      this.isHeld = true;
      return;
    }
    const nowUs = this.parts.clock.nowUs();
    if (target.retryAt !== undefined && target.retryAt > nowUs) {
      // A longer pause means that the clock was set back.
      target.retryAt = Math.min(target.retryAt, nowUs + LONGEST_MS * 1000);
      this.wait(target, (target.retryAt - nowUs) / 1000);
      return;
    }
    if (!this.fill(target)) return;
    if (target.row.kind === 'email' && !target.isGathered) {
      target.isGathered = true;
      this.wait(target, GATHER_MS);
      return;
    }
    target.isBusy = true;
    const abort = new AbortController();
    target.abort = abort;
    const classes = [String(target.row.account), String(target.row.seq)];
    this.turns.ask(classes, { holder: { giveBack: () => abort.abort() } }, (turn) => {
      if (typeof turn === 'string') {
        target.isBusy = false;
        this.wait(target, REPORT_RETRY_MS);
      } else void this.attempt(target, abort).finally(turn);
    });
  }

  private wait(target: Target, ms: number): void {
    target.cancelWait ??= this.parts.clock.after(Math.max(1, Math.ceil(ms)), () => {
      target.cancelWait = undefined;
      this.pump(target);
    });
  }

  private pumpAll(): void {
    for (const targets of this.targets.values()) for (const target of targets.values()) this.pump(target);
  }

  /** Judges events until there are enough for a message; false when nothing is to be delivered yet. */
  private fill(target: Target): boolean {
    const most = mostOf(target);
    if (target.queue.length >= most) return true;
    const seen = { account: target.row.account, installation: target.seesInstallation };
    const { events, upTo } = this.recent.behind(seen, Math.max(target.position, target.judged), this.seen);
    target.judged = upTo;
    let passed = target.position;
    for (const event of events) {
      const policy = policyFor(this.parts.store, target, event);
      if (policy) target.queue.push({ seq: event.seq, policy: policy.row });
      else if (target.queue.length === 0) passed = event.seq;
    }
    this.pass(target, passed);
    if (target.queue.length === 0) target.isGathered = false;
    const isRead = upTo >= this.seen;
    if (target.queue.length >= (isRead ? 1 : most)) return true;
    // Many events may concern others only; other destinations get their turns in between.
    if (!isRead) this.wait(target, 1);
    return false;
  }

  private pass(target: Target, seq: number): void {
    target.position = seq;
    if (seq - target.storedPosition < PASSED_UNSTORED) return;
    target.storedPosition = seq;
    this.note(target, []);
  }

  /** The events of the next message. They are read only here, so that destinations that wait hold no events in memory. */
  private take(target: Target): readonly Told[] {
    const due = target.queue.slice(0, mostOf(target));
    // Some may have been removed from the log meanwhile.
    const told = due.flatMap(({ seq, policy }) => {
      const event = findEvent(this.parts.store, seq);
      return event ? [{ event, policy }] : [];
    });
    target.queue.splice(0, due.length, ...told.map(({ event, policy }): Due => ({ seq: event.seq, policy })));
    return told;
  }

  private async attempt(target: Target, abort: AbortController): Promise<void> {
    const { clock } = this.parts;
    const taken = target.isGone ? [] : this.take(target);
    // While it waited for its turn, its owner may have changed it, or its predecessor may have delivered the event.
    if (taken.length === 0) {
      target.isBusy = false;
      target.abort = undefined;
      this.pump(target);
      return;
    }
    const alerts = taken.map(({ event, policy }) => alertOf(event, policy, target));
    const atUs = clock.nowUs();
    const result = await this.send(target, alerts, abort.signal);
    target.isBusy = false;
    target.abort = undefined;
    if (this.isClosed) return;
    // Its place was needed for another; that does not count as a failure.
    if (!result.delivered && abort.signal.aborted && !target.isGone) {
      this.wait(target, pauseMs(0, this.parts.random));
      return;
    }
    const attempt = target.failures + 1;
    if (result.delivered) this.succeed(target, taken.length, taken.at(-1)!.event.seq);
    else this.fail(target, result);
    this.note(
      target,
      alerts.map((alert) => deliveredOf(alert, result, atUs, attempt)),
    );
    this.pump(target);
  }

  /** A fault of ours counts as a failure of this destination and affects no other. */
  private async send(target: Target, alerts: readonly Alert[], signal: AbortSignal): Promise<Attempt> {
    try {
      return await this.parts.send(target, alerts, signal);
    } catch (error) {
      this.parts.onFault(error);
      const reason = 'the server could not make the message; its log says why';
      return { delivered: false, reason, status: undefined, answer: undefined, durationMs: 0, isGone: false };
    }
  }

  private succeed(target: Target, count: number, seq: number): void {
    this.counts.delivered += count;
    target.queue.splice(0, count);
    target.position = Math.max(target.position, seq);
    target.storedPosition = target.position;
    Object.assign(target, { failures: 0, failingSince: undefined, retryAt: undefined, isGathered: false });
    target.lastSuccess = this.parts.clock.nowUs();
    if (target.row.kind === 'email') this.wait(target, MAIL_REST_MS);
    // Its owner changed it meanwhile: its successor continues after this event.
    const current = target.isGone ? this.targets.get(target.row.account)?.get(target.row.seq) : undefined;
    if (current && current.position < seq) {
      current.position = seq;
      current.queue = current.queue.filter((one) => one.seq > seq);
    }
  }

  private fail(target: Target, { isGone, reason }: Attempt): void {
    const now = this.parts.clock.nowUs();
    this.counts.failed++;
    target.failures++;
    target.failingSince = Math.min(target.failingSince ?? now, now);
    target.lastFailure = now;
    target.retryAt = now + pauseMs(target.failures, this.parts.random) * 1000;
    const isLasting = now - target.failingSince >= OFF_AFTER_US && target.failures >= OFF_AFTER_FAILURES;
    if (!isGone && !isLasting) return;
    this.counts.switchedOff++;
    target.off = `${isGone ? '' : 'it failed for a day: '}${reason ?? ''}`;
    target.isGone = true;
    this.targets.get(target.row.account)?.delete(target.row.seq);
  }

  /** Adds deliveries to the next report. */
  private note(target: Target, delivered: readonly Delivered[]): void {
    const { row } = target;
    const earlier = this.pending.get(row.seq)?.delivered ?? [];
    this.unreported += delivered.length;
    this.pending.set(row.seq, {
      ...{ destination: row.seq, edition: row.edition, position: target.position, failures: target.failures },
      ...{ failingSince: target.failingSince ?? null, retryAt: target.retryAt ?? null, off: target.off },
      ...{ lastSuccess: target.lastSuccess, lastFailure: target.lastFailure },
      delivered: [...earlier, ...delivered].slice(-DELIVERIES_KEPT),
    });
    if (this.isReporting) return;
    this.isReporting = true;
    this.parts.clock.after(REPORT_MS, () => void this.reportAll());
  }

  private async reportAll(): Promise<void> {
    while (this.pending.size > 0 && !this.isClosed) {
      const [reports, count] = [this.pending, this.unreported];
      this.pending = new Map();
      try {
        await this.parts.report([...reports.values()]);
        this.unreported -= count;
        const isHeld = this.isHeld;
        this.isHeld = false;
        if (isHeld) this.pumpAll();
      } catch {
        // The process that stores reports has logged the reason. Reports that came meanwhile are newer.
        this.pending = joined(reports, this.pending);
        await new Promise<void>((resolve) => void this.parts.clock.after(REPORT_RETRY_MS, resolve));
      }
      await new Promise<void>((resolve) => void this.parts.clock.after(REPORT_MS, resolve));
    }
    this.isReporting = false;
  }
}

/** Events of one message. */
function mostOf({ row }: Target): number {
  return row.kind === 'email' ? MAILED_AT_ONCE : 1;
}

function policyFor(store: Store, { policies, row }: Target, event: BriefEvent): ToldPolicy | undefined {
  const isOwn = event.account === row.account;
  let read: EventStates | undefined;
  const judged: Judged = { event, states: () => (read ??= statesOfEvent(store, event.seq)) };
  return policies.find((policy) => {
    return (isOwn || policy.row.sees_installation === 1) && isToldOf(policy.type, policy.filters, judged);
  });
}

function joined(earlier: ReadonlyMap<number, Report>, later: ReadonlyMap<number, Report>): Map<number, Report> {
  const all = new Map(earlier);
  for (const [seq, report] of later) {
    const before = earlier.get(seq)?.delivered ?? [];
    all.set(seq, { ...report, delivered: [...before, ...report.delivered].slice(-DELIVERIES_KEPT) });
  }
  return all;
}

function deliveredOf(
  { event, policy, alertType, message, body }: Alert,
  { delivered, status, reason, answer, durationMs }: Attempt,
  atUs: number,
  attempt: number,
): Delivered {
  return {
    ...{ policy: policy ? toHex(policy.id) : null, alertType, event: event?.seq ?? null, message, atUs, attempt },
    ...{ delivered, status: status ?? null, reason: reason ?? null, answer: answer ?? null, durationMs },
    body: beginningOf(body),
  };
}
