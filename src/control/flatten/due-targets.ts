/**
 * The targets of flattened names that are due and not asked for yet: of each zone of an account in turn, so that neither the
 * dead targets of one zone nor those that failed last time keep others of the account waiting.
 */
import type { DueJobs } from '../../jobs/places.js';
import type { Store } from '../../store/driver.js';
import {
  accountsOfTargets,
  type DueTargetRow,
  dueTargets,
  nextDueAt,
  zonesOfTargets,
} from '../../store/flatten/targets.js';

/** Targets that an account may have asked for at once, while no other account has any. */
export const MOST_AT_ONCE = 64;
/** Those of one zone, and those that failed last time. What several zones need counts for none of them. */
const MOST_OF_ZONE = 16;
const MOST_FAILING = 32;
/** Zones looked at at once; where more of an account have targets, the next look begins behind them. */
const MOST_ZONES = 64;
/** Targets at rest that are passed over in one look. */
const MOST_PASSED = 200;

/** A target that is being asked for. */
export interface TargetUnderWay {
  readonly account: number;
  readonly zone: number;
  readonly isFailing: boolean;
}

export interface TargetsUnderWay {
  readonly underWay: ReadonlyMap<string, TargetUnderWay>;
  /** Whether a target is not to be asked for now. */
  rests(key: string): boolean;
  /** How many rest. */
  resting(): number;
}

export const keyOfTarget = (name: Uint8Array): string => Buffer.from(name).toString('latin1');

export function createDueTargets(store: Store, state: TargetsUnderWay): DueJobs<DueTargetRow> {
  /** The zone at which the next look begins, of accounts with more zones than are looked at. */
  const begins = new Map<number, number>();

  const zonesOf = (account: number, nowMs: number): readonly number[] => {
    const after = begins.get(account) ?? -1;
    const some = zonesOfTargets(store, account, after, MOST_ZONES);
    const before = after < 0 ? [] : zonesOfTargets(store, account, -1, MOST_ZONES - some.length);
    if (some.length < MOST_ZONES) begins.delete(account);
    else begins.set(account, some.at(-1)!.zone);
    return [...some, ...before].filter(({ dueMs }) => dueMs <= nowMs).map(({ zone }) => zone);
  };

  const ofZone = (account: number, zone: number, nowMs: number): readonly DueTargetRow[] => {
    const most = zone === 0 ? MOST_AT_ONCE : MOST_OF_ZONE;
    const running = countOf(state, (one) => one.account === account && one.zone === zone);
    if (running >= most) return [];
    const limit = most + Math.min(state.resting(), MOST_PASSED);
    const mayBegin = ({ name }: DueTargetRow): boolean => {
      const key = keyOfTarget(name);
      return !state.underWay.has(key) && !state.rests(key);
    };
    return dueTargets(store, { account, zone, nowMs, limit })
      .filter(mayBegin)
      .slice(0, most - running);
  };

  return {
    nextAtMs: () => nextDueAt(store),
    accounts: (after, limit) => accountsOfTargets(store, after, limit),
    due(account, nowMs, limit) {
      let failing = countOf(state, (one) => one.account === account && one.isFailing);
      const zones = zonesOf(account, nowMs).map((zone) => ofZone(account, zone, nowMs));
      return inTurn(zones)
        .filter(({ failures }) => failures === 0 || failing++ < MOST_FAILING)
        .slice(0, limit);
    },
  };
}

function countOf({ underWay }: TargetsUnderWay, counts: (one: TargetUnderWay) => boolean): number {
  return [...underWay.values()].filter(counts).length;
}

/** The first of each list, then the second of each, and so on. */
function inTurn<Item>(lists: readonly (readonly Item[])[]): Item[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list.slice(i, i + 1))).flat();
}
