/** How many zones each account may have counted, so that an account with many zones takes none of the room of others. */
import type { Store } from '../store/driver.js';
import { HOUR, zonesWithQueries } from '../store/zones/queries.js';
import type { Pending } from './detail.js';

/** Zones of one account that have rows in an hour. Queries for its further zones are not kept. */
const MOST_OF_ACCOUNT = 500;

export interface HourShares {
  /** Whether a zone (store numbers) has a row in this hour, or gets one now. */
  admit(zone: { readonly seq: number; readonly account: number }, begins: number): boolean;
}

/** Reads the rows of an hour once. Zones that other nodes of a cluster add later are not seen. */
export function createHourShares(store: Store): HourShares {
  let hour: number | undefined;
  let zones = new Map<number, Set<number>>();
  const zonesOf = (account: number): Set<number> => {
    const known = zones.get(account) ?? new Set();
    zones.set(account, known);
    return known;
  };
  return {
    admit({ seq, account }, begins) {
      if (begins !== hour) {
        zones = new Map();
        for (const [zone, owner] of zonesWithQueries(store, HOUR, begins)) zonesOf(owner).add(zone);
        hour = begins;
      }
      const own = zonesOf(account);
      if (own.size >= MOST_OF_ACCOUNT && !own.has(seq)) return false;
      own.add(seq);
      return true;
    },
  };
}

/**
 * Makes room among what is not stored yet, which nothing else changes meanwhile: drops the least asked zone of the account with the most
 * zones, if the account of the one that comes would still have fewer. Accounts are counted once, because thousands of zones may come at once.
 */
export function createRoom(pending: Map<string, Pending>): (account: number) => boolean {
  let counts: Map<number, number> | undefined;
  return (account) => {
    counts ??= countByAccount(pending);
    const own = counts.get(account) ?? 0;
    const [largest, most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
    if (own + 1 >= most) return false;
    const [key] = [...pending]
      .filter(([, one]) => one.account === largest)
      .reduce((a, b) => (b[1].detail.total < a[1].detail.total ? b : a));
    counts.set(largest, most - 1).set(account, own + 1);
    return pending.delete(key);
  };
}

function countByAccount(pending: ReadonlyMap<string, Pending>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { account } of pending.values()) counts.set(account, (counts.get(account) ?? 0) + 1);
  return counts;
}
