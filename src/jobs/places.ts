/**
 * Which jobs of a kind begin: accounts take turns at its places. An account that is alone has all of them; while it holds them,
 * each account that comes gets one of as many further places, so that nobody waits for what others began. The targets of
 * flattened names are such jobs, too.
 */
import { byTurn, hasRoomFor, type TurnState } from '../base/turn-classes.js';
import type { Store } from '../store/driver.js';
import { dueJobs, type JobRow, nextJobAt, type WaitingAccount, waitingAccounts } from '../store/jobs.js';

/** Jobs of a kind that run, by account. */
export type RunningJobs = ReadonlyMap<number, number>;

/** Where jobs of a kind are stored. */
export interface DueJobs<Job> {
  /** When the first one is due that nobody runs. */
  nextAtMs(): number | undefined;
  /** The accounts after this number that have jobs, no more than `limit`, in the order of their numbers. */
  accounts(after: number, limit: number): readonly WaitingAccount[];
  /** Due jobs of an account that nobody runs, no more than `limit`, in the order in which they should run. */
  due(account: number, nowMs: number, limit: number): readonly Job[];
}

export interface JobPlaces<Job> {
  /** When the next job that may begin beside those that run is due; undefined: none may, or none is planned. */
  nextAtMs(running: RunningJobs): number | undefined;
  /** Whether an account that runs none waits although all places are taken. */
  isWanted(running: RunningJobs, nowMs: number): boolean;
  /** The due jobs that begin now, in turns. */
  choose(running: RunningJobs, nowMs: number): Job[];
}

/** The rows of a kind. */
export function rowsOfKind(store: Store, kind: string): DueJobs<JobRow> {
  return {
    nextAtMs: () => nextJobAt(store, kind),
    accounts: (after, limit) => waitingAccounts(store, kind, after, limit),
    due: (account, nowMs, limit) => dueJobs(store, { kind, account, nowMs, limit }),
  };
}

/** Accounts looked at at once; where more have jobs, the next look begins behind them. */
const MOST_ACCOUNTS = 1000;
/** Accounts whose last turn is remembered. */
const MOST_REMEMBERED = 10_000;

interface Candidate<Job> extends TurnState {
  readonly account: number;
  readonly rows: readonly Job[];
  held: number;
  began: number;
}

/** `atOnce`: how many jobs of the kind one account may run. */
export function createJobPlaces<Job>(jobs: DueJobs<Job>, atOnce: number): JobPlaces<Job> {
  const places = { places: atOnce, beyond: atOnce };
  /** When each account had its last turn: greater is later. */
  const turns = new Map<number, number>();
  let turn = 0;
  let after = -1;

  const takeTurn = (account: number): void => {
    turns.delete(account);
    turns.set(account, ++turn);
    if (turns.size > MOST_REMEMBERED) turns.delete(turns.keys().next().value!);
  };

  const someAccounts = (): readonly WaitingAccount[] => {
    const some = jobs.accounts(after, MOST_ACCOUNTS);
    const before = after < 0 ? [] : jobs.accounts(-1, MOST_ACCOUNTS - some.length);
    after = some.length < MOST_ACCOUNTS ? -1 : some.at(-1)!.account;
    return [...some, ...before];
  };

  return {
    nextAtMs(running) {
      const held = totalOf(running);
      if (hasRoomFor(1, held, places)) return jobs.nextAtMs();
      if (!hasRoomFor(0, held, places)) return undefined;
      const times = someAccounts().flatMap(({ account, runAtMs }) => (running.has(account) ? [] : [runAtMs]));
      return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
    },
    isWanted(running, nowMs) {
      if (hasRoomFor(0, totalOf(running), places)) return false;
      return someAccounts().some(({ account, runAtMs }) => runAtMs <= nowMs && !running.has(account));
    },
    choose(running, nowMs) {
      let held = totalOf(running);
      const due = someAccounts().filter(({ runAtMs }) => runAtMs <= nowMs);
      const candidates = due
        .sort((a, b) => a.runAtMs - b.runAtMs)
        .map(({ account }) => ({ account, held: running.get(account) ?? 0, turn: turns.get(account) ?? 0, began: 0 }))
        .sort(byTurn)
        .slice(0, places.places + places.beyond)
        .map((one): Candidate<Job> => ({ ...one, rows: jobs.due(one.account, nowMs, atOnce) }));
      const chosen: Job[] = [];
      for (;;) {
        const [first] = candidates
          .filter((one) => one.began < one.rows.length && hasRoomFor(one.held, held, places))
          .sort(byTurn);
        if (!first) return chosen;
        chosen.push(first.rows[first.began++]!);
        first.held++;
        held++;
        takeTurn(first.account);
      }
    },
  };
}

function totalOf(running: RunningJobs): number {
  return [...running.values()].reduce((sum, count) => sum + count, 0);
}
