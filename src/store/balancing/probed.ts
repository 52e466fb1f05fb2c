/** What the probing process reads of pools and monitors. */

import { theValue } from '../columns.js';
import { perStore, type Store } from '../driver.js';

const mark = (table: string): string =>
  `(SELECT count(*) || ' ' || coalesce(sum(seq), 0) || ' ' || coalesce(sum(modified_at % 1000000007), 0) FROM ${table})`;

const statements = perStore((store) => ({
  any: store.prepareTuples<[], [number]>(
    'SELECT EXISTS (SELECT 1 FROM pools WHERE targets > 0 AND (monitor IS NOT NULL OR monitor_group IS NOT NULL))',
  ),
}));

/** A text that is another one after each change of pools, monitors and groups. */
export const probedMark = theValue<[], string>(
  `SELECT ${mark('pools')} || ' ' || ${mark('monitors')} || ' ' || ${mark('monitor_groups')}`,
);

/** Whether anything is to be probed. */
export function isProbingNeeded(store: Store): boolean {
  return statements(store).any.get()![0] === 1;
}
