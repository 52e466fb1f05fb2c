/** Invitations into accounts: open ones, and what became of earlier ones. */
import { perStore, type SqlValue, type Store } from '../driver.js';

export interface InvitationRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store numbers. */
  readonly account: number;
  readonly user: number;
  /** Identifier of the membership, which may be gone. */
  readonly member: Uint8Array;
  /** E-mail address of a user, or identifier of a token that belongs to the account. */
  readonly invited_by: string;
  readonly invited_at: number;
  readonly expires_at: number;
  readonly status: 'pending' | 'accepted' | 'rejected';
}

const statements = perStore((store) => ({
  ofUser: store.prepare<[user: number], InvitationRow>('SELECT * FROM invitations WHERE user = ? ORDER BY seq'),
  byId: store.prepare<[id: Uint8Array], InvitationRow>('SELECT * FROM invitations WHERE id = ?'),
  openOf: store.prepare<[member: Uint8Array], InvitationRow>(
    "SELECT * FROM invitations WHERE member = ? AND status = 'pending' ORDER BY seq DESC LIMIT 1",
  ),
  countSince: store.prepareTuples<[account: number, since: number], [number]>(
    'SELECT count(*) FROM invitations WHERE account = ? AND invited_at > ?',
  ),
  insert: store.prepare<SqlValue[]>(
    'INSERT INTO invitations (id, account, user, member, invited_by, invited_at, expires_at, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  ),
  settle: store.prepare<[status: string, seq: number]>('UPDATE invitations SET status = ? WHERE seq = ?'),
  dropOpen: store.prepare<[member: Uint8Array]>("DELETE FROM invitations WHERE member = ? AND status = 'pending'"),
  dropOld: store.prepare<[account: number, before: number]>(
    'DELETE FROM invitations WHERE account = ? AND expires_at < ? AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.id = member)',
  ),
}));

export function invitationsOfUser(store: Store, user: number): InvitationRow[] {
  return statements(store).ofUser.all(user);
}

export function findInvitation(store: Store, id: Uint8Array): InvitationRow | undefined {
  return statements(store).byId.get(id);
}

/** The invitation that a pending member has not answered. */
export function openInvitationOf(store: Store, member: Uint8Array): InvitationRow | undefined {
  return statements(store).openOf.get(member);
}

/** How many were sent since then, in microseconds since 1970. */
export function countInvitationsSince(store: Store, account: number, since: number): number {
  return statements(store).countSince.get(account, since)![0];
}

export function insertInvitation(store: Store, row: Omit<InvitationRow, 'seq'>): void {
  const { id, account, user, member, invited_by, invited_at, expires_at, status } = row;
  statements(store).insert.run(id, account, user, member, invited_by, invited_at, expires_at, status);
}

export function settleInvitation(store: Store, seq: number, status: 'accepted' | 'rejected'): void {
  statements(store).settle.run(status, seq);
}

/** What a member has not answered is withdrawn. */
export function dropOpenInvitation(store: Store, member: Uint8Array): void {
  statements(store).dropOpen.run(member);
}

/** Forgets old invitations of members who have gone. */
export function dropOldInvitations(store: Store, account: number, before: number): void {
  statements(store).dropOld.run(account, before);
}
