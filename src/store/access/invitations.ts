/**
 * Invitations into accounts: open ones, and what became of earlier ones. The newest of a member counts; those that it replaced are only
 * remembered because each of a day counts.
 */

import { allRows, oneRow, runs, theValue } from '../columns.js';
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

/** About an invitation `i`: no other of the same member replaced it. */
const IS_NEWEST = 'NOT EXISTS (SELECT 1 FROM invitations n WHERE n.member = i.member AND n.seq > i.seq)';

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(
    'INSERT INTO invitations (id, account, user, member, invited_by, invited_at, expires_at, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  ),
  withdraw: store.prepare<[now: number, member: Uint8Array]>(
    "UPDATE invitations SET expires_at = min(expires_at, ?) WHERE member = ? AND status = 'pending'",
  ),
  settle: store.prepare<[status: string, seq: number]>('UPDATE invitations SET status = ? WHERE seq = ?'),
}));

export const invitationsOfUser = allRows<[user: number], InvitationRow>(
  `SELECT * FROM invitations i WHERE user = ? AND ${IS_NEWEST} ORDER BY seq`,
);

/** Undefined for one that another has replaced. */
export const findInvitation = oneRow<[id: Uint8Array], InvitationRow>(
  `SELECT * FROM invitations i WHERE id = ? AND ${IS_NEWEST}`,
);

/** The invitation that a pending member has not answered. */
export const openInvitationOf = oneRow<[member: Uint8Array], InvitationRow>(
  "SELECT * FROM invitations WHERE member = ? AND status = 'pending' ORDER BY seq DESC LIMIT 1",
);

/** How many were sent since then, in microseconds since 1970. */
export const countInvitationsSince = theValue<[account: number, since: number], number>(
  'SELECT count(*) FROM invitations WHERE account = ? AND invited_at > ?',
);

export function insertInvitation(store: Store, row: Omit<InvitationRow, 'seq'>): void {
  const { id, account, user, member, invited_by, invited_at, expires_at, status } = row;
  statements(store).insert.run(id, account, user, member, invited_by, invited_at, expires_at, status);
}

export function settleInvitation(store: Store, seq: number, status: 'accepted' | 'rejected'): void {
  statements(store).settle.run(status, seq);
}

/** What a member has not answered is withdrawn. */
export const dropOpenInvitation = runs<[member: Uint8Array]>(
  "DELETE FROM invitations WHERE member = ? AND status = 'pending'",
);

/** Withdrawn with its member, or renewed, it is over but not forgotten: each of a day counts. */
export function withdrawInvitation(store: Store, member: Uint8Array, now: number): void {
  statements(store).withdraw.run(now, member);
}

/** Forgets old invitations of members who have gone, and those that were replaced. */
export const dropOldInvitations = runs<[account: number, before: number]>(
  `DELETE FROM invitations AS i WHERE account = ? AND expires_at < ?
     AND (NOT EXISTS (SELECT 1 FROM memberships m WHERE m.id = i.member) OR NOT (${IS_NEWEST}))`,
);
