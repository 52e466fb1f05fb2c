/** Writes of tests that prepare or damage things: synchronous, in a transaction of their own, past any log. */
import type { Store } from '../../src/store/driver.js';

export function writeNow<T>(store: Store, work: () => T): T {
  return store.alter(work);
}

/** Any SQL. */
export function runSql(store: Store, sql: string): void {
  store.alter((run) => run(sql));
}
