/** Users. */

import { allRows, column, columns, hasRow, insertion, oneRow, type RowOf, runs, theValue } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { plainAddress } from './mail-address.js';

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
  country: column<string | null>(),
  telephone: column<string | null>(),
  zipcode: column<string | null>(),
  /** Identifier of the account that invited a user who was not here before; it may be gone. Null: nobody did. */
  made_by: column<Uint8Array | null>(),
});

const DETAILS = USER.only('first_name', 'last_name', 'country', 'telephone', 'zipcode', 'modified_at');

/** What users say about themselves. */
export type UserDetails = Omit<RowOf<typeof DETAILS>, 'modified_at'>;

export interface UserRow extends RowOf<typeof USER> {
  readonly seq: number;
}

const NEW = USER.without('suspended');

export type NewUserRow = RowOf<typeof NEW>;

/** About a user `u`: neither password nor passkey nor identity at a provider. */
const HAS_NO_WAY_IN = `(NOT EXISTS (SELECT 1 FROM passwords WHERE user = u.seq)
     AND NOT EXISTS (SELECT 1 FROM passkeys WHERE user = u.seq)
     AND NOT EXISTS (SELECT 1 FROM oidc_identities WHERE user = u.seq))`;

const statements = perStore((store) => ({
  byEmail: store.prepare<[email: string], UserRow>('SELECT * FROM users WHERE email = ?'),
  insert: store.prepare<SqlValue[]>(insertion('users', NEW)),
  describe: store.prepare<SqlValue[]>(`UPDATE users SET ${DETAILS.assignments} WHERE seq = ?`),
  suspend: store.prepare<[suspended: number, now: number, seq: number]>(
    'UPDATE users SET suspended = ?, modified_at = ? WHERE seq = ?',
  ),
}));

export const findUser = oneRow<[seq: number], UserRow>('SELECT * FROM users WHERE seq = ?');

export const findUserById = oneRow<[id: Uint8Array], UserRow>('SELECT * FROM users WHERE id = ?');

export function describeUser(store: Store, row: UserRow): void {
  statements(store).describe.run(...DETAILS.values(row), row.seq);
}

/** The schema compares ASCII without regard to case; other addresses are stored in lower case. */
export function findUserByEmail(store: Store, email: string): UserRow | undefined {
  const { byEmail } = statements(store);
  return byEmail.get(plainAddress(email) ?? email) ?? byEmail.get(email);
}

/** The oldest first. */
export const allUsers = allRows<[], UserRow>('SELECT * FROM users ORDER BY seq');

/** `suspended` 1: nothing of the user is accepted. */
export function setSuspended(store: Store, seq: number, suspended: number, now: number): void {
  statements(store).suspend.run(suspended, now, seq);
}

export const countUsers = theValue<[], number>('SELECT count(*) FROM users');

export const countUsersMadeBy = theValue<[account: Uint8Array], number>('SELECT count(*) FROM users WHERE made_by = ?');

/** Whether the user has a way to sign in. */
export const maySignIn = hasRow<[user: number]>(`SELECT 1 FROM users u WHERE seq = ? AND NOT ${HAS_NO_WAY_IN}`);

/**
 * Users whom an account invited and nobody became, in no account, whose last invitation was before that moment, in microseconds since
 * 1970: at most so many, the oldest first. A suspended user is remembered.
 */
export const abandonedUsers = allRows<[before: number, most: number], UserRow>(
  `SELECT * FROM users u WHERE made_by IS NOT NULL AND super_administrator = 0 AND suspended = 0
     AND NOT EXISTS (SELECT 1 FROM memberships WHERE user = u.seq)
     AND NOT EXISTS (SELECT 1 FROM api_keys WHERE user = u.seq)
     AND NOT EXISTS (SELECT 1 FROM sessions WHERE user = u.seq)
     AND NOT EXISTS (SELECT 1 FROM invitations WHERE user = u.seq AND invited_at > ?)
     AND ${HAS_NO_WAY_IN}
   ORDER BY seq LIMIT ?`,
);

export const removeUser = runs<[seq: number]>('DELETE FROM users WHERE seq = ?');

export const hasUsers = hasRow<[]>('SELECT 1 FROM users LIMIT 1');

/** Returns the row number of the new user. */
export function insertUser(store: Store, row: NewUserRow): number {
  return statements(store).insert.run(...NEW.values(row)).lastInsertRowid;
}
