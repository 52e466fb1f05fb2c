/** Users. */

import { allRows, column, columns, hasRow, insertion, oneRow, type RowOf, theValue } from '../columns.js';
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
});

const DETAILS = USER.only('first_name', 'last_name', 'country', 'telephone', 'zipcode', 'modified_at');

/** What users say about themselves. */
export type UserDetails = Omit<RowOf<typeof DETAILS>, 'modified_at'>;

export interface UserRow extends RowOf<typeof USER> {
  readonly seq: number;
}

const NEW = USER.without('suspended');

export type NewUserRow = RowOf<typeof NEW>;

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

export const hasUsers = hasRow<[]>('SELECT 1 FROM users LIMIT 1');

/** Returns the row number of the new user. */
export function insertUser(store: Store, row: NewUserRow): number {
  return statements(store).insert.run(...NEW.values(row)).lastInsertRowid;
}
