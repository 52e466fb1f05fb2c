/**
 * Which jobs of a kind begin: accounts take turns at its places. An account that is alone has all of them; while it holds them,
 * each account that comes gets one of as many further places, so that nobody waits for what others began.
 */
import { byTurn, hasRoomFor, type TurnState } from '../base/turn-classes.js';
import type { Store } from '../store/driver.js';
import { dueJobs, type JobRow, nextJobAt, type WaitingAccount, waitingAccounts } from '../store/jobs.js';

/** Jobs of a kind that run, by account. */
export type RunningJobs = ReadonlyMap<number, number>;

export interface JobPlaces {
  /** When the next job that may begin beside those that run is due; undefined: none may, or none is planned. */
  nextAtMs(running: RunningJobs): number | undefined;
  /** Whether an account that runs none waits although all places are taken. */
  isWanted(running: RunningJobs, nowMs: number): boolean;
  /** The due jobs that begin now, in turns. */
  choose(running: RunningJobs, nowMs: number): JobRow[];
}

/** Accounts looked at at once; where more have jobs, the next look begins behind them. */
const MOST_ACCOUNTS = 1000;
/** Accounts whose last turn is remembered. */
const MOST_REMEMBERED = 10_000;

interface Candidate extends TurnState {
  readonly account: number;
  readonly rows: readonly JobRow[];
  held: number;
  began: number;
}

/** `atOnce`: how many jobs of the kind one account may run. */
export function createJobPlaces(store: Store, kind: string, atOnce: number): JobPlaces {
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
    const some = waitingAccounts(store, kind, after, MOST_ACCOUNTS);
    const before = after < 0 ? [] : waitingAccounts(store, kind, -1, MOST_ACCOUNTS - some.length);
    after = some.length < MOST_ACCOUNTS ? -1 : some.at(-1)!.account;
    return [...some, ...before];
  };

  return {
    nextAtMs(running) {
      const held = totalOf(running);
      if (hasRoomFor(1, held, places)) return nextJobAt(store, kind);
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
        .map(
          (one): Candidate => ({ ...one, rows: dueJobs(store, { kind, account: one.account, nowMs, limit: atOnce }) }),
        );
      const chosen: JobRow[] = [];
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
