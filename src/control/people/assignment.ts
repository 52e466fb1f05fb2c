/** Roles and policies as clients assign them: what is valid, and what the actor may pass on. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { AccountRow } from '../../store/access/accounts.js';
import { findResourceGroup, zonesOfResourceGroup } from '../../store/access/groups.js';
import { type MemberRow, membersOfAccount, type StoredPolicy } from '../../store/access/members.js';
import { findUser } from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { grantsOfMember, grantsOfPolicies, grantsOfRoles } from '../access/rights.js';
import { parseId, requireGivable } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { isRestricted } from '../guard/decision.js';
import { type Area, ZONE_AREAS } from '../guard/permissions.js';
import { findRole, type Grant, giveEverything } from '../guard/roles.js';
import type { Context } from '../kernel/context.js';
import { peopleFailure } from './errors.js';
import type { Assignment, PolicyInput, PolicyItem, ResourceGroupItem } from './item.js';

const MOST_ROLES = 20;
const MOST_POLICIES = 100;
const MOST_GROUPS = 100;

/** What clients send; one of both is enough, and policies count where both are sent. */
export interface AssignmentInput {
  readonly roles?: readonly (string | { readonly id: string })[] | null | undefined;
  readonly policies?: readonly PolicyInput[] | null | undefined;
}

/** `before`: policies that keep their identifiers if they are sent unchanged. Throws 400/1001. */
export function readAssignment(
  ctx: Context,
  account: AccountRow,
  { roles, policies }: AssignmentInput,
  before: readonly StoredPolicy[] = [],
): Assignment {
  if (policies && policies.length > 0) {
    return { roles: [], policies: readPolicies(ctx, account, policies, before) };
  }
  if (!roles || roles.length === 0) throw peopleFailure('nothingAssigned');
  const ids = [...new Set(roles.map((entry) => (typeof entry === 'string' ? entry : entry.id)))];
  const isUsable = (id: string): boolean => findRole(id)?.scope === 'account';
  if (ids.length > MOST_ROLES || !ids.every(isUsable)) throw peopleFailure('badAssignment', {}, { pointer: '/roles' });
  return { roles: ids, policies: null };
}

/** The same for policies alone, which may be none. */
export function readPolicies(
  ctx: Context,
  account: AccountRow,
  policies: readonly PolicyInput[],
  before: readonly StoredPolicy[],
): StoredPolicy[] {
  if (policies.length > MOST_POLICIES) throw tooMany(MOST_POLICIES, 'policies', '/policies');
  const known = new Map(before.map((policy) => [contentOf(policy), policy.id]));
  return policies.map((policy, i) => {
    const read = readPolicy(ctx, account, policy, `/policies/${i}`);
    const content = contentOf(read);
    const id = known.get(content);
    known.delete(content);
    return id === undefined ? read : { ...read, id };
  });
}

function readPolicy(ctx: Context, account: AccountRow, policy: PolicyInput, at: string): StoredPolicy {
  const permissionGroups = idsOf(policy.permission_groups, `${at}/permission_groups`);
  const resourceGroups = idsOf(policy.resource_groups, `${at}/resource_groups`);
  if (!permissionGroups.every(findRole)) {
    throw peopleFailure('badAssignment', {}, { pointer: `${at}/permission_groups` });
  }
  const isOwn = (id: string): boolean => resourceGroupOf(ctx.store, account, id) !== undefined;
  if (!resourceGroups.every(isOwn)) {
    const reason = 'The account has no such resource group; GET …/iam/resource_groups lists them.';
    throw peopleFailure('badInput', { reason }, { pointer: `${at}/resource_groups` });
  }
  return { id: toHex(makeId(ctx.clock.nowUs(), ctx.random)), access: policy.access, permissionGroups, resourceGroups };
}

function idsOf(entries: readonly { readonly id: string }[], at: string): string[] {
  const ids = [...new Set(entries.map(({ id }) => id))];
  if (ids.length === 0 || ids.length > MOST_GROUPS) throw tooMany(MOST_GROUPS, 'groups', at);
  return ids;
}

function tooMany(most: number, what: string, pointer: string): Error {
  return peopleFailure('badInput', { reason: `Expected 1 to ${most} ${what}.` }, { pointer });
}

/** What a policy says, whatever its identifier and order. */
function contentOf({ access, permissionGroups, resourceGroups }: StoredPolicy): string {
  return JSON.stringify([access, [...permissionGroups].sort(), [...resourceGroups].sort()]);
}

/** Throws 403/10000 for what the actor could not do itself. */
export function requireGivableAssignment(ctx: Context, account: AccountRow, { roles, policies }: Assignment): void {
  const grants = policies ? grantsOfPolicies(ctx.store, account.seq, policies) : grantsOfRoles(roles);
  requireGivableGrants(ctx, account, grants);
}

/** Nobody takes from others what they do not have themselves. */
export function requireGivableMember(ctx: Context, account: AccountRow, row: MemberRow): void {
  requireGivableGrants(ctx, account, grantsOfMember(ctx.store, row));
}

export function requireGivableGrants({ actor }: Context, { id }: AccountRow, grants: readonly Grant[]): void {
  if (!isRestricted(actor)) return;
  const account = toHex(id);
  for (const { access, role, zones } of grants) {
    if (access === 'deny') continue;
    for (const [area, level] of Object.entries(findRole(role)?.levels ?? {}) as [Area, 'read' | 'write'][]) {
      const ofZone = ZONE_AREAS.includes(area);
      if (zones && !ofZone) continue;
      const places = ofZone ? (zones ?? ['*']).map((zone) => ({ zone })) : [{ bucket: '*' }];
      for (const place of places) requireGivable(actor, area, level, { account, ...place });
    }
  }
}

/** Whether the actor may do everything in an account that it sees. */
export function isHeadOf({ policies, grants }: Actor, { id }: AccountRow): boolean {
  const known = grants?.[toHex(id)];
  return policies === undefined && (known === undefined || giveEverything(known));
}

/** Runs a change after which the account still has a super administrator who can sign in, if it had one. Throws 400/1004 otherwise. */
export function keepingAdministrator<T>(store: Store, account: number, change: () => T): T {
  const had = hasAdministrator(store, account);
  const result = change();
  if (had && !hasAdministrator(store, account)) throw peopleFailure('lastAdministrator');
  return result;
}

function hasAdministrator(store: Store, account: number): boolean {
  return membersOfAccount(store, account).some(
    (row) =>
      row.status === 'accepted' &&
      giveEverything(grantsOfMember(store, row)) &&
      findUser(store, row.user)?.suspended === 0,
  );
}

export function policyItems(store: Store, account: AccountRow, policies: readonly StoredPolicy[]): PolicyItem[] {
  return policies.map(({ id, access, permissionGroups, resourceGroups }) => ({
    id,
    access,
    permissionGroups,
    resourceGroups: resourceGroups.flatMap((group) => resourceGroupOf(store, account, group) ?? []),
  }));
}

/** The resource group of an account with this identifier. */
export function resourceGroupOf(store: Store, account: AccountRow, id: string): ResourceGroupItem | undefined {
  const octets = parseId(id);
  const row = octets && findResourceGroup(store, octets);
  if (row?.account !== account.seq) return undefined;
  const zones = row.whole === 1 ? undefined : zonesOfResourceGroup(store, row.seq).map(toHex);
  return { id, name: row.name, accountId: toHex(account.id), zones };
}
