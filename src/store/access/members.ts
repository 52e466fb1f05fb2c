/** Members: users in accounts, with roles or policies. */
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
  'SELECT m.seq, m.id, m.user, m.account, a.id AS account_id, m.created_at, m.status, m.roles, m.policies, m.accepted_at FROM memberships m JOIN accounts a ON a.seq = m.account';

const statements = perStore((store) => ({
  ofUser: store.prepare<[user: number], MemberRow>(
    `${SELECT} WHERE m.user = ? ORDER BY coalesce(m.accepted_at, m.created_at), m.seq`,
  ),
  ofAccount: store.prepare<[account: number], MemberRow>(`${SELECT} WHERE m.account = ? ORDER BY m.seq`),
  count: store.prepareTuples<[account: number], [number]>('SELECT count(*) FROM memberships WHERE account = ?'),
  byId: store.prepare<[id: Uint8Array], MemberRow>(`${SELECT} WHERE m.id = ?`),
  bySeq: store.prepare<[seq: number], MemberRow>(`${SELECT} WHERE m.seq = ?`),
  ofUserIn: store.prepare<[user: number, account: number], MemberRow>(`${SELECT} WHERE m.user = ? AND m.account = ?`),
  insert: store.prepare<SqlValue[]>(
    'INSERT INTO memberships (id, user, account, created_at, status, roles, policies, accepted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  ),
  update: store.prepare<SqlValue[]>(
    'UPDATE memberships SET status = ?, roles = ?, policies = ?, accepted_at = ? WHERE seq = ?',
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM memberships WHERE seq = ?'),
  lastUse: store.prepareTuples<[user: number, again: number], [number | null]>(
    `SELECT max(at) FROM (SELECT max(last_used_at) AS at FROM api_keys WHERE user = ? AND account_owned = 0
      UNION ALL SELECT max(last_used_at) FROM sessions WHERE user = ?)`,
  ),
}));

/** Pending ones included, in the order in which the user joined the accounts. */
export function membersOfUser(store: Store, user: number): MemberRow[] {
  return statements(store).ofUser.all(user);
}

/** The oldest first. */
export function membersOfAccount(store: Store, account: number): MemberRow[] {
  return statements(store).ofAccount.all(account);
}

export function countMembers(store: Store, account: number): number {
  return statements(store).count.get(account)![0];
}

export function findMemberById(store: Store, id: Uint8Array): MemberRow | undefined {
  return statements(store).byId.get(id);
}

export function findMember(store: Store, seq: number): MemberRow | undefined {
  return statements(store).bySeq.get(seq);
}

export function findMemberOf(store: Store, user: number, account: number): MemberRow | undefined {
  return statements(store).ofUserIn.get(user, account);
}

export function insertMember(store: Store, row: NewMemberRow): void {
  const { id, user, account, created_at, status, roles, policies, accepted_at } = row;
  statements(store).insert.run(id, user, account, created_at, status, roles, policies, accepted_at);
}

export function updateMember(store: Store, { seq, status, roles, policies, accepted_at }: MemberRow): void {
  statements(store).update.run(status, roles, policies, accepted_at, seq);
}

export function removeMember(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}

/** When a session, key or token of the user was used last; null: never. */
export function lastUseOfUser(store: Store, user: number): number | null {
  return statements(store).lastUse.get(user, user)![0];
}
