/** Groups of an account: sets of zones (resource groups), and members who share policies (user groups). */

import { allRows, allTuples, oneRow, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

export interface ResourceGroupRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly account: number;
  readonly name: string;
  /** 1: everything in the account. */
  readonly whole: number;
  readonly created_at: number;
  readonly modified_at: number;
}

export interface UserGroupRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly account: number;
  readonly name: string;
  /** JSON list of policies (members.ts). */
  readonly policies: string;
  readonly created_at: number;
  readonly modified_at: number;
}

const statements = perStore((store) => ({
  insertResourceGroup: store.prepare<SqlValue[]>(
    'INSERT INTO resource_groups (id, account, name, whole, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)',
  ),
  updateResourceGroup: store.prepare<SqlValue[]>(
    'UPDATE resource_groups SET name = ?, whole = ?, modified_at = ? WHERE seq = ?',
  ),
  zones: store.prepareTuples<[group: number], [id: Uint8Array]>(
    `SELECT z.id FROM resource_group_zones m JOIN resource_groups g ON g.seq = m.resource_group
     JOIN zones z ON z.seq = m.zone AND z.account = g.account WHERE m.resource_group = ? ORDER BY z.seq`,
  ),
  clearZones: store.prepare<[group: number]>('DELETE FROM resource_group_zones WHERE resource_group = ?'),
  addZone: store.prepare<[group: number, zone: number]>(
    'INSERT INTO resource_group_zones (resource_group, zone) VALUES (?, ?)',
  ),
  insertUserGroup: store.prepare<SqlValue[]>(
    'INSERT INTO user_groups (id, account, name, policies, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)',
  ),
  updateUserGroup: store.prepare<SqlValue[]>(
    'UPDATE user_groups SET name = ?, policies = ?, modified_at = ? WHERE seq = ?',
  ),
}));

export const resourceGroupsOf = allRows<[account: number], ResourceGroupRow>(
  'SELECT * FROM resource_groups WHERE account = ? ORDER BY seq',
);

export const findResourceGroup = oneRow<[id: Uint8Array], ResourceGroupRow>(
  'SELECT * FROM resource_groups WHERE id = ?',
);

export function insertResourceGroup(store: Store, row: Omit<ResourceGroupRow, 'seq'>): number {
  const { id, account, name, whole, created_at, modified_at } = row;
  return statements(store).insertResourceGroup.run(id, account, name, whole, created_at, modified_at).lastInsertRowid;
}

export function updateResourceGroup(store: Store, { seq, name, whole, modified_at }: ResourceGroupRow): void {
  statements(store).updateResourceGroup.run(name, whole, modified_at, seq);
}

export const removeResourceGroup = runs<[seq: number]>('DELETE FROM resource_groups WHERE seq = ?');

/** Identifiers of the zones of a group that are in its account. */
export function zonesOfResourceGroup(store: Store, seq: number): Uint8Array[] {
  return statements(store)
    .zones.all(seq)
    .map(([id]) => id);
}

/** `zones`: store numbers. */
export function setZonesOfResourceGroup(store: Store, seq: number, zones: readonly number[]): void {
  statements(store).clearZones.run(seq);
  for (const zone of zones) statements(store).addZone.run(seq, zone);
}

export const userGroupsOf = allRows<[account: number], UserGroupRow>(
  'SELECT * FROM user_groups WHERE account = ? ORDER BY seq',
);

export const findUserGroup = oneRow<[id: Uint8Array], UserGroupRow>('SELECT * FROM user_groups WHERE id = ?');

export const userGroupsOfMember = allRows<[membership: number], UserGroupRow>(
  'SELECT g.* FROM user_group_members m JOIN user_groups g ON g.seq = m.user_group WHERE m.membership = ? ORDER BY g.seq',
);

export function insertUserGroup(store: Store, row: Omit<UserGroupRow, 'seq'>): void {
  const { id, account, name, policies, created_at, modified_at } = row;
  statements(store).insertUserGroup.run(id, account, name, policies, created_at, modified_at);
}

export function updateUserGroup(store: Store, { seq, name, policies, modified_at }: UserGroupRow): void {
  statements(store).updateUserGroup.run(name, policies, modified_at, seq);
}

export const removeUserGroup = runs<[seq: number]>('DELETE FROM user_groups WHERE seq = ?');

/** Store numbers of the members of a group, and since when they are in it. */
export const membersOfUserGroup = allTuples<[seq: number], readonly [membership: number, since: number]>(
  'SELECT membership, created_at FROM user_group_members WHERE user_group = ? ORDER BY membership',
);

export const addMemberOfUserGroup = runs<[seq: number, membership: number, now: number]>(
  'INSERT OR IGNORE INTO user_group_members (user_group, membership, created_at) VALUES (?, ?, ?)',
);

export const removeMemberOfUserGroup = runs<[seq: number, membership: number]>(
  'DELETE FROM user_group_members WHERE user_group = ? AND membership = ?',
);
