/** Notification policies: which alerts are sent to which destinations. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const POLICY = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  name: column<string>(),
  description: column<string>(),
  alert_type: column<string>(),
  enabled: column<number>(),
  /** JSON: lists of values by the names of filters. */
  filters: column<string>(),
  /** JSON list of identifiers of destinations. */
  mechanisms: column<string>(),
  /** 1: it also covers events that belong to no account. */
  sees_installation: column<number>(),
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface AlertPolicyRow extends RowOf<typeof POLICY> {
  readonly seq: number;
}

const CHANGED = POLICY.without('id', 'account', 'created_at');

const statements = perStore((store) => ({
  update: store.prepare<SqlValue[]>(`UPDATE alert_policies SET ${CHANGED.assignments} WHERE seq = ?`),
  isAny: store.prepareTuples<[], [number]>('SELECT EXISTS (SELECT 1 FROM alert_policies WHERE enabled = 1)'),
}));

export const findAlertPolicy = oneRow<[id: Uint8Array], AlertPolicyRow>('SELECT * FROM alert_policies WHERE id = ?');

/** The oldest first. */
export const alertPoliciesOfAccount = allRows<[account: number], AlertPolicyRow>(
  'SELECT * FROM alert_policies WHERE account = ? ORDER BY seq',
);

export const insertAlertPolicy = inserts('alert_policies', POLICY);

export function updateAlertPolicy(store: Store, row: AlertPolicyRow): void {
  statements(store).update.run(...CHANGED.values(row), row.seq);
}

export const removeAlertPolicy = runs<[seq: number]>('DELETE FROM alert_policies WHERE seq = ?');

/** Whether any policy is enabled. */
export function hasAlertPolicies(store: Store): boolean {
  return statements(store).isAny.get()![0] === 1;
}
