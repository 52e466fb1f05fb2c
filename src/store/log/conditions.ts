/** What needed somebody at the last look: one row for each kind and zone. */

import { allRows } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface ConditionRow {
  readonly kind: string;
  /** Identifier of the zone; empty for what is of no zone. */
  readonly zone: Uint8Array;
  /** Microseconds since 1970. */
  readonly since: number;
  readonly text: string;
}

const statements = perStore((store) => ({
  open: store.prepare<[kind: string, zone: Uint8Array, since: number, text: string]>(
    'INSERT INTO open_conditions (kind, zone, since, text) VALUES (?, ?, ?, ?)',
  ),
  close: store.prepare<[kind: string, zone: Uint8Array]>('DELETE FROM open_conditions WHERE kind = ? AND zone = ?'),
}));

export const openConditions = allRows<[], ConditionRow>(
  'SELECT kind, zone, since, text FROM open_conditions ORDER BY kind, zone',
);

export function openCondition(store: Store, { kind, zone, since, text }: ConditionRow): void {
  statements(store).open.run(kind, zone, since, text);
}

export function closeCondition(store: Store, { kind, zone }: Pick<ConditionRow, 'kind' | 'zone'>): void {
  statements(store).close.run(kind, zone);
}
