/** Members: users in accounts, with roles or policies. */

import { allRows, oneRow, runs, theValue } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

export interface MemberRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store numbers. */
  readonly user: number;
  readonly account: number;
  readonly account_id: Uint8Array;
  readonly created_at: number;
  readonly status: 'pending' | 'accepted';
  /** JSON list of identifiers. */
  readonly roles: string;
  /** JSON list of {@link StoredPolicy}; null: the roles count. */
  readonly policies: string | null;
  readonly accepted_at: number | null;
  /** 0: in an earlier version, an account that had not proved that the user is its own added the user, who has not accepted it since. */
  readonly agreed: number;
}

/** A policy of a member or of a user group. */
export interface StoredPolicy {
  readonly id: string;
  readonly access: 'allow' | 'deny';
  /** Identifiers of roles. */
  readonly permissionGroups: readonly string[];
  /** Identifiers of resource groups of the same account. */
  readonly resourceGroups: readonly string[];
}

export type NewMemberRow = Omit<MemberRow, 'seq' | 'account_id'>;

const SELECT =
  'SELECT m.seq, m.id, m.user, m.account, a.id AS account_id, m.created_at, m.status, m.roles, m.policies, m.accepted_at, m.agreed FROM memberships m JOIN accounts a ON a.seq = m.account';

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(
    'INSERT INTO memberships (id, user, account, created_at, status, roles, policies, accepted_at, agreed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  ),
  update: store.prepare<SqlValue[]>(
    'UPDATE memberships SET status = ?, roles = ?, policies = ?, accepted_at = ?, agreed = ? WHERE seq = ?',
  ),
  lastUse: store.prepareTuples<[user: number, again: number], [number | null]>(
    `SELECT max(at) FROM (SELECT max(last_used_at) AS at FROM api_keys WHERE user = ? AND account_owned = 0
      UNION ALL SELECT max(last_used_at) FROM sessions WHERE user = ?)`,
  ),
}));

/** Pending ones included, in the order in which the user joined the accounts. */
export const membersOfUser = allRows<[user: number], MemberRow>(
  `${SELECT} WHERE m.user = ? ORDER BY coalesce(m.accepted_at, m.created_at), m.seq`,
);

/** The oldest first. */
export const membersOfAccount = allRows<[account: number], MemberRow>(`${SELECT} WHERE m.account = ? ORDER BY m.seq`);

export const countMembers = theValue<[account: number], number>('SELECT count(*) FROM memberships WHERE account = ?');

export const findMemberById = oneRow<[id: Uint8Array], MemberRow>(`${SELECT} WHERE m.id = ?`);

export const findMember = oneRow<[seq: number], MemberRow>(`${SELECT} WHERE m.seq = ?`);

export const findMemberOf = oneRow<[user: number, account: number], MemberRow>(
  `${SELECT} WHERE m.user = ? AND m.account = ?`,
);

export function insertMember(store: Store, row: NewMemberRow): void {
  const { id, user, account, created_at, status, roles, policies, accepted_at, agreed } = row;
  statements(store).insert.run(id, user, account, created_at, status, roles, policies, accepted_at, agreed);
}

export function updateMember(store: Store, row: MemberRow): void {
  const { seq, status, roles, policies, accepted_at, agreed } = row;
  statements(store).update.run(status, roles, policies, accepted_at, agreed, seq);
}

export const removeMember = runs<[seq: number]>('DELETE FROM memberships WHERE seq = ?');

/** When a session, key or token of the user was used last; null: never. */
export function lastUseOfUser(store: Store, user: number): number | null {
  return statements(store).lastUse.get(user, user)![0];
}
