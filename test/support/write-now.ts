/** Writes of tests that prepare or damage data: synchronous, in their own transaction, not logged. */
import type { Store } from '../../src/store/driver.js';

export function writeNow<T>(store: Store, work: () => T): T {
  return store.alter(work);
}

/** Any SQL. */
export function runSql(store: Store, sql: string): void {
  store.alter((run) => run(sql));
}
