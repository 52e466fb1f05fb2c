/** What the memberships of a user give at this moment: its accounts, and what its roles and policies say about each. */
import { toHex } from '../../base/bytes.js';
import { findResourceGroup, userGroupsOfMember, zonesOfResourceGroup } from '../../store/access/groups.js';
import { type MemberRow, membersOfUser, type StoredPolicy } from '../../store/access/members.js';
import type { UserRow } from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { zoneIdsOfAccount } from '../../store/zones/zones.js';
import { parseId } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { type Grant, giveEverything, grantsShowZone, SUPER_ADMINISTRATOR } from '../guard/roles.js';

export type Rights = Pick<Actor, 'accountIds' | 'grants' | 'zonesIn'>;

/** Roles of members who were there before there were roles, and of those who are made without any. */
export const ALL_ROLES = JSON.stringify([SUPER_ADMINISTRATOR]);

/** The accounts of a user; roles do not restrict an administrator of the installation. */
export function rightsOfPerson(store: Store, { seq, super_administrator: isSuper }: UserRow): Rights {
  const rights = rightsOfUser(store, seq);
  return isSuper === 1 ? { accountIds: rights.accountIds } : rights;
}

/** The accounts that the user belongs to, the first one joined first, with what it may do there unless that is everything. */
function rightsOfUser(store: Store, user: number): Rights {
  const accountIds: string[] = [];
  const grants: Record<string, readonly Grant[]> = {};
  const zonesIn: Record<string, readonly string[]> = {};
  for (const row of membersOfUser(store, user)) {
    if (row.status !== 'accepted') continue;
    const account = toHex(row.account_id);
    accountIds.push(account);
    const given = grantsOfMember(store, row);
    if (giveEverything(given)) continue;
    grants[account] = given;
    const zones = zonesShown(store, account, given);
    if (zones) zonesIn[account] = zones;
  }
  if (Object.keys(grants).length === 0) return { accountIds };
  return { accountIds, grants, ...(Object.keys(zonesIn).length > 0 && { zonesIn }) };
}

/** What the roles or policies of a member give, and the policies of its user groups. */
export function grantsOfMember(store: Store, row: Pick<MemberRow, 'seq' | 'account' | 'roles' | 'policies'>): Grant[] {
  const own = row.policies === null ? grantsOfRoles(JSON.parse(row.roles)) : grantsOf(store, row.account, row.policies);
  const shared = userGroupsOfMember(store, row.seq).flatMap(({ policies }) => grantsOf(store, row.account, policies));
  return [...own, ...shared];
}

export function grantsOfRoles(roles: readonly string[]): Grant[] {
  return roles.map((role) => ({ access: 'allow', role }));
}

function grantsOf(store: Store, account: number, policies: string): Grant[] {
  return grantsOfPolicies(store, account, JSON.parse(policies) as StoredPolicy[]);
}

/** A resource group that is gone, or empty, grants nothing. */
export function grantsOfPolicies(store: Store, account: number, policies: readonly StoredPolicy[]): Grant[] {
  return policies.flatMap(({ access, permissionGroups, resourceGroups }) => {
    const places = resourceGroups.flatMap((id) => placeOf(store, account, id));
    return permissionGroups.flatMap((role) => places.map((place): Grant => ({ access, role, ...place })));
  });
}

function placeOf(store: Store, account: number, id: string): Pick<Grant, 'zones'>[] {
  const octets = parseId(id);
  const group = octets && findResourceGroup(store, octets);
  if (group?.account !== account) return [];
  return [group.whole === 1 ? {} : { zones: zonesOfResourceGroup(store, group.seq).map(toHex) }];
}

/** The zones of an account that the grants show; undefined: all of them. */
function zonesShown(store: Store, account: string, grants: readonly Grant[]): readonly string[] | undefined {
  const showsAll = grantsShowZone(grants, { account, zone: '*' });
  const denies = grants.some(({ access }) => access === 'deny');
  if (showsAll && !denies) return undefined;
  const named = (): string[] => grants.flatMap(({ zones = [] }) => zones);
  const known = showsAll ? zoneIdsOfAccount(store, parseId(account)!).map(toHex) : [...new Set(named())];
  return known.filter((zone) => grantsShowZone(grants, { account, zone }));
}
