/** Accounts, users, and which user belongs to which account. */
import { perStore } from '../driver.js';

export interface AccountRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly name: string;
  readonly type: 'standard' | 'enterprise';
  readonly created_at: number;
}

export interface UserRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly email: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly super_administrator: number;
  readonly created_at: number;
  readonly modified_at: number;
}

export interface MembershipRow {
  readonly id: Uint8Array;
  readonly user: number;
  readonly account: number;
  readonly created_at: number;
}

export const accountStatements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array], AccountRow>('SELECT * FROM accounts WHERE id = ?'),
  bySeq: store.prepare<[seq: number], AccountRow>('SELECT * FROM accounts WHERE seq = ?'),
  all: store.prepare<[], AccountRow>('SELECT * FROM accounts ORDER BY seq'),
  insert: store.prepare<[id: Uint8Array, name: string, type: string, createdAt: number]>(
    'INSERT INTO accounts (id, name, type, created_at) VALUES (?, ?, ?, ?)',
  ),
}));

export const userStatements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array], UserRow>('SELECT * FROM users WHERE id = ?'),
  bySeq: store.prepare<[seq: number], UserRow>('SELECT * FROM users WHERE seq = ?'),
  byEmail: store.prepare<[email: string], UserRow>('SELECT * FROM users WHERE email = ?'),
  all: store.prepare<[], UserRow>('SELECT * FROM users ORDER BY seq'),
  insert: store.prepare<[id: Uint8Array, email: string, superAdministrator: number, at: number, at2: number]>(
    'INSERT INTO users (id, email, super_administrator, created_at, modified_at) VALUES (?, ?, ?, ?, ?)',
  ),
}));

export const membershipStatements = perStore((store) => ({
  ofUser: store.prepare<[user: number], MembershipRow>(
    'SELECT id, user, account, created_at FROM memberships WHERE user = ? ORDER BY seq',
  ),
  /** Identifiers of the accounts a user belongs to, the first joined first. */
  accountsOfUser: store.prepareTuples<[user: number], [id: Uint8Array]>(
    'SELECT a.id FROM memberships m JOIN accounts a ON a.seq = m.account WHERE m.user = ? ORDER BY m.seq',
  ),
  insert: store.prepare<[id: Uint8Array, user: number, account: number, createdAt: number]>(
    'INSERT INTO memberships (id, user, account, created_at) VALUES (?, ?, ?, ?)',
  ),
}));
