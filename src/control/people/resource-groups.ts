/** Resource groups: the zones of an account that a policy is about. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { AccountRow } from '../../store/access/accounts.js';
import {
  findResourceGroup,
  insertResourceGroup,
  type ResourceGroupRow,
  removeResourceGroup as removeResourceGroupRow,
  resourceGroupsOf,
  setZonesOfResourceGroup,
  updateResourceGroup,
  userGroupsOf,
} from '../../store/access/groups.js';
import { membersOfAccount, type StoredPolicy } from '../../store/access/members.js';
import { findZoneById } from '../../store/zones/zones.js';
import { grantsOfPolicies } from '../access/rights.js';
import { parseId, requireAccount } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { keepingAdministrator, requireGivableGrants, resourceGroupOf } from './assignment.js';
import { peopleFailure } from './errors.js';
import type { ResourceGroupItem } from './item.js';
import { policiesOf } from './members.js';

export interface ResourceGroupInput {
  readonly name?: string | undefined;
  readonly scope?: { readonly key: string; readonly objects: readonly { readonly key: string }[] } | undefined;
}

const MOST_GROUPS = 100;
const MOST_ZONES = 1000;
const LONGEST_NAME = 100;
const ACCOUNT = 'com.cloudflare.api.account.';
const ZONE = 'com.cloudflare.api.account.zone.';

export async function listResourceGroups(ctx: Context, accountId: string): Promise<readonly ResourceGroupItem[]> {
  const account = requireAccount(ctx, accountId);
  return resourceGroupsOf(ctx.store, account.seq).map(({ id }) => resourceGroupOf(ctx.store, account, toHex(id))!);
}

export async function getResourceGroup(ctx: Context, accountId: string, groupId: string): Promise<ResourceGroupItem> {
  const account = requireAccount(ctx, accountId);
  requireResourceGroup(ctx, account, groupId);
  return resourceGroupOf(ctx.store, account, groupId)!;
}

export async function createResourceGroup(
  ctx: Context,
  accountId: string,
  input: ResourceGroupInput,
): Promise<ResourceGroupItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    if (resourceGroupsOf(ctx.store, account.seq).length >= MOST_GROUPS) throw tooMany();
    const name = readGroupName(input.name ?? '');
    const zones = readScope(ctx, account, input.scope);
    const id = makeId(ctx.clock.nowUs(), ctx.random);
    const times = { created_at: draft.now, modified_at: draft.now };
    const row = { id, account: account.seq, name, whole: zones ? 0 : 1, ...times };
    setZonesOfResourceGroup(ctx.store, insertResourceGroup(ctx.store, row), zones ?? []);
    const item = resourceGroupOf(ctx.store, account, toHex(id))!;
    draft.event({ kind: 'resource_group.create', account: account.seq, id, name, after: described(item) });
    return item;
  });
  return value;
}

/** Absent members stay. The actor must have itself what the policies that use the group give then. */
export async function replaceResourceGroup(
  ctx: Context,
  accountId: string,
  groupId: string,
  input: ResourceGroupInput,
): Promise<ResourceGroupItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireResourceGroup(ctx, account, groupId);
    const before = resourceGroupOf(ctx.store, account, groupId)!;
    const name = input.name === undefined ? row.name : readGroupName(input.name);
    if (input.scope !== undefined) requireGivableUse(ctx, account, groupId);
    keepingAdministrator(ctx.store, account.seq, () => {
      if (input.scope === undefined) {
        updateResourceGroup(ctx.store, { ...row, name, modified_at: draft.now });
        return;
      }
      const zones = readScope(ctx, account, input.scope);
      updateResourceGroup(ctx.store, { ...row, name, whole: zones ? 0 : 1, modified_at: draft.now });
      setZonesOfResourceGroup(ctx.store, row.seq, zones ?? []);
      requireGivableUse(ctx, account, groupId);
    });
    const item = resourceGroupOf(ctx.store, account, groupId)!;
    const audited = { before: described(before), after: described(item) };
    draft.event({ kind: 'resource_group.edit', account: account.seq, id: row.id, name, ...audited });
    return item;
  });
  return value;
}

/** Throws 400/1001 while policies use it: what they deny would be allowed. */
export async function removeResourceGroup(ctx: Context, accountId: string, groupId: string): Promise<{ id: string }> {
  await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const row = requireResourceGroup(ctx, account, groupId);
    const { name } = row;
    if (policiesUsing(ctx, account, groupId).length > 0) throw peopleFailure('groupUsed', { name });
    const before = described(resourceGroupOf(ctx.store, account, groupId)!);
    removeResourceGroupRow(ctx.store, row.seq);
    draft.event({ kind: 'resource_group.delete', account: account.seq, id: row.id, name, before });
  });
  return { id: groupId };
}

function described({ name, zones }: ResourceGroupItem): object {
  return { name, zones: zones ?? '*' };
}

/** Throws 403/10000 unless the actor could give all that depends on the group; what it denies, others get without it. */
function requireGivableUse(ctx: Context, account: AccountRow, groupId: string): void {
  const using = policiesUsing(ctx, account, groupId).map((policy) => ({ ...policy, access: 'allow' as const }));
  requireGivableGrants(ctx, account, grantsOfPolicies(ctx.store, account.seq, using));
}

/** Policies of members and of user groups that name the resource group. */
function policiesUsing({ store }: Context, { seq }: AccountRow, groupId: string): StoredPolicy[] {
  const all = [...membersOfAccount(store, seq), ...userGroupsOf(store, seq)];
  return all.flatMap(policiesOf).filter(({ resourceGroups }) => resourceGroups.includes(groupId));
}

function requireResourceGroup(ctx: Context, account: AccountRow, groupId: string): ResourceGroupRow {
  const id = parseId(groupId);
  const row = id && findResourceGroup(ctx.store, id);
  if (row?.account !== account.seq) throw peopleFailure('groupMissing', { id: groupId.slice(0, 64) });
  return row;
}

/** The name of a group. Throws 400/1001. */
export function readGroupName(text: string): string {
  const name = text.trim();
  if (name !== '' && name.length <= LONGEST_NAME) return name;
  throw peopleFailure(
    'badInput',
    { reason: `A group's name has 1 to ${LONGEST_NAME} characters.` },
    { pointer: '/name' },
  );
}

/** Store numbers of the zones; undefined: everything in the account. */
function readScope(ctx: Context, account: AccountRow, scope: ResourceGroupInput['scope']): number[] | undefined {
  const fail = (reason: string, pointer: string): Error => peopleFailure('badInput', { reason }, { pointer });
  if (scope?.key !== `${ACCOUNT}${toHex(account.id)}`) {
    throw fail(`Expected ${ACCOUNT}${toHex(account.id)}.`, '/scope/key');
  }
  const keys = [...new Set(scope.objects.map(({ key }) => key))];
  if (keys.length === 1 && keys[0] === '*') return undefined;
  if (keys.length === 0 || keys.length > MOST_ZONES) throw fail(`Expected 1 to ${MOST_ZONES} zones.`, '/scope/objects');
  return keys.map((key) => {
    const id = key.startsWith(ZONE) ? parseId(key.slice(ZONE.length)) : undefined;
    const zone = id && findZoneById(ctx.store, id);
    if (zone?.account !== account.seq) {
      throw fail(`Expected * or ${ZONE} and the identifier of a zone of the account.`, '/scope/objects');
    }
    return zone.seq;
  });
}

function tooMany(): Error {
  return peopleFailure('badInput', { reason: `An account has at most ${MOST_GROUPS} groups.` });
}
