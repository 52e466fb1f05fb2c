/** How many zones each account may have counted, so that an account with many zones takes none of the room of others. */
import type { Store } from '../store/driver.js';
import { HOUR, zonesWithQueries } from '../store/zones/queries.js';
import type { Pending } from './detail.js';

/** Zones of one account that have rows in an hour. What its further zones are asked is not kept. */
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

/** Drops the least asked zone of the account with most zones, where the one that comes would still have fewer. */
export function roomFor(account: number, pending: Map<string, Pending>): boolean {
  const counts = new Map<number, number>();
  for (const one of pending.values()) counts.set(one.account, (counts.get(one.account) ?? 0) + 1);
  const [largest, most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
  if ((counts.get(account) ?? 0) + 1 >= most) return false;
  const [key] = [...pending]
    .filter(([, one]) => one.account === largest)
    .reduce((a, b) => (b[1].detail.total < a[1].detail.total ? b : a));
  return pending.delete(key);
}
