/** Users, and the accounts they belong to. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const USER = columns({
  id: column<Uint8Array>(),
  email: column<string>(),
  first_name: column<string | null>(),
  last_name: column<string | null>(),
  super_administrator: column<number>(),
  created_at: column<number>(),
  modified_at: column<number>(),
  /** 1: nothing of this user is accepted. */
  suspended: column<number>(),
});

export interface UserRow extends RowOf<typeof USER> {
  readonly seq: number;
}

const NEW = USER.without('suspended');

export type NewUserRow = RowOf<typeof NEW>;

export interface MembershipRow {
  readonly id: Uint8Array;
  readonly user: number;
  readonly account: number;
  readonly created_at: number;
}

const statements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array], UserRow>('SELECT * FROM users WHERE id = ?'),
  bySeq: store.prepare<[seq: number], UserRow>('SELECT * FROM users WHERE seq = ?'),
  byEmail: store.prepare<[email: string], UserRow>('SELECT * FROM users WHERE email = ?'),
  any: store.prepareTuples<[], [1]>('SELECT 1 FROM users LIMIT 1'),
  insert: store.prepare<SqlValue[]>(insertion('users', NEW)),
  rename: store.prepare<[first: string | null, last: string | null, now: number, seq: number]>(
    'UPDATE users SET first_name = ?, last_name = ?, modified_at = ? WHERE seq = ?',
  ),
  membershipsOf: store.prepare<[user: number], MembershipRow>(
    'SELECT id, user, account, created_at FROM memberships WHERE user = ? ORDER BY seq',
  ),
  accountsOf: store.prepareTuples<[user: number], [id: Uint8Array]>(
    'SELECT a.id FROM memberships m JOIN accounts a ON a.seq = m.account WHERE m.user = ? ORDER BY m.seq',
  ),
  insertMembership: store.prepare<[id: Uint8Array, user: number, account: number, createdAt: number]>(
    'INSERT INTO memberships (id, user, account, created_at) VALUES (?, ?, ?, ?)',
  ),
}));

export function findUser(store: Store, seq: number): UserRow | undefined {
  return statements(store).bySeq.get(seq);
}

export function findUserById(store: Store, id: Uint8Array): UserRow | undefined {
  return statements(store).byId.get(id);
}

export function renameUser(store: Store, { seq, first_name, last_name, modified_at }: UserRow): void {
  statements(store).rename.run(first_name, last_name, modified_at, seq);
}

/** The schema compares addresses without regard to case. */
export function findUserByEmail(store: Store, email: string): UserRow | undefined {
  return statements(store).byEmail.get(email);
}

export function hasUsers(store: Store): boolean {
  return statements(store).any.get() !== undefined;
}

/** Returns the row number of the new user. */
export function insertUser(store: Store, row: NewUserRow): number {
  return statements(store).insert.run(...NEW.values(row)).lastInsertRowid;
}

/** In the order in which the user joined the accounts. */
export function membershipsOfUser(store: Store, user: number): MembershipRow[] {
  return statements(store).membershipsOf.all(user);
}

/** Identifiers of the user's accounts, in the order in which the user joined them. */
export function accountIdsOfUser(store: Store, user: number): Uint8Array[] {
  return statements(store)
    .accountsOf.all(user)
    .map(([id]) => id);
}

export function insertMembership(store: Store, { id, user, account, created_at }: MembershipRow): void {
  statements(store).insertMembership.run(id, user, account, created_at);
}
