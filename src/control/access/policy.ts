/** Policies and conditions of tokens from clients, checked against the actor's own permissions (v4: §12). */
import { makeId } from '../../base/random.js';
import { typeByMnemonic } from '../../dns/rr/registry.js';
import { findZoneById } from '../../store/zones/zones.js';
import { accountIdOf, parseId, requireAccount, requireGivable, requireZone } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import {
  findPermissionGroup,
  type PermissionGroup,
  type Policy,
  parseResource,
  type RecordScope,
  type Resource,
  type Resources,
  resourcesOf,
  type Target,
} from '../guard/permissions.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { requireFew } from './networks.js';

const MOST_PATTERNS = 100;
/** Of all policies of a token: whoever uses it is compared with all of them. */
const MOST_PATTERNS_IN_ALL = 1000;
const MOST_RESOURCES = 1000;
/** Lower-case FQDN in which `*` stands for any characters. */
const NAME_PATTERN = /^(?!\.|.*\.\.)[!->@\\^-~]{1,255}$/;

/** A policy as a client sends it; null means that a member is absent. */
export interface PolicyInput {
  readonly effect: 'allow' | 'deny';
  readonly permission_groups: readonly { readonly id: string }[];
  readonly resources: Resources;
  readonly records?: RecordsInput | null | undefined;
}

interface RecordsInput {
  readonly names?: readonly string[] | null | undefined;
  readonly types?: readonly string[] | null | undefined;
}

/**
 * The policies of a token. Throws 400/9207 for what means nothing, and as access.ts does for what the actor may not pass on.
 */
export function readPolicies(
  ctx: Context,
  policies: readonly PolicyInput[],
  owner: { readonly account?: string },
): Policy[] {
  const resources = sum(policies.map((policy) => countResources(policy)));
  if (resources > MOST_RESOURCES) {
    throw badBody(`the policies name ${resources} resources, and may name ${MOST_RESOURCES}`, '/policies');
  }
  const patterns = sum(policies.map(({ records }) => (records?.names?.length ?? 0) + (records?.types?.length ?? 0)));
  if (patterns > MOST_PATTERNS_IN_ALL) {
    throw badBody(`the policies have ${patterns} names and types, and may have ${MOST_PATTERNS_IN_ALL}`, '/policies');
  }
  return policies.map((policy, i) => readPolicy(ctx, policy, owner, `/policies/${i}`));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** With those inside of accounts. */
function countResources({ resources }: PolicyInput): number {
  return sum(Object.values(resources).map((inside) => (typeof inside === 'string' ? 1 : Object.keys(inside).length)));
}

function readPolicy(ctx: Context, input: PolicyInput, owner: { readonly account?: string }, at: string): Policy {
  const { effect, permission_groups: groups, resources, records } = input;
  // Each is compared with each resource.
  const chosen = [...new Set(groups.map((entry, i) => readGroup(entry, `${at}/permission_groups/${i}`)))];
  const scope = records ? readRecordScope(records, `${at}/records`) : undefined;
  if (scope && effect === 'deny') throw badBody('a deny policy always applies to all records', `${at}/records`);
  if (scope && chosen.some(({ areas }) => !areas.includes('dns'))) {
    throw badBody('only DNS permissions can be restricted to records', `${at}/records`);
  }
  const policy: Policy = {
    id: Buffer.from(makeId(ctx.clock.nowUs(), ctx.random)).toString('hex'),
    effect,
    groups: chosen.map(({ id }) => id),
    resources: readResources(resources, `${at}/resources`),
    ...(scope && { records: scope }),
  };
  for (const resource of resourcesOf(policy)) checkResource(ctx, policy, chosen, resource, owner, `${at}/resources`);
  return policy;
}

function readGroup({ id }: { readonly id: string }, at: string): PermissionGroup {
  const known = findPermissionGroup(id);
  if (!known) throw badBody('no permission group has this identifier; GET …/tokens/permission_groups lists them', at);
  return known;
}

function readResources(resources: Resources, at: string): Resources {
  const names = Object.keys(resources);
  if (names.length === 0) throw badBody(`expected 1 to ${MOST_RESOURCES} resources`, at);
  for (const name of names) {
    const outer = parseResource(name);
    const inside = resources[name];
    if (!outer) throw badBody(`${name.slice(0, 120)} is not a resource`, at);
    if (inside === '*') continue;
    if (outer.scope !== 'account') throw badBody(`the value of ${name} must be "*"`, at);
    const inner = Object.entries(typeof inside === 'object' ? inside : {});
    if (inner.length === 0 || inner.some(([key, text]) => text !== '*' || parseResource(key)?.scope !== 'zone')) {
      throw badBody(`the value of ${name} must be "*", or an object of zones with the value "*"`, at);
    }
  }
  return resources;
}

/** A resource must have the kind of its groups, must exist, and must be one that the actor can grant. */
function checkResource(
  ctx: Context,
  policy: Policy,
  groups: readonly PermissionGroup[],
  { scope, id, account }: Resource,
  owner: { readonly account?: string },
  at: string,
): void {
  if (account !== undefined && account !== '*') requireAccount(ctx, account);
  if (scope === 'account' && id !== '*') requireAccount(ctx, id);
  if (scope === 'zone' && id !== '*') requireZone(ctx, id);
  if (scope === 'bucket' && id !== '*') requireAccount(ctx, id.split('_', 1)[0]!);
  if (scope === 'user' && (id !== ctx.actor.userId || owner.account !== undefined)) {
    throw badBody('user permissions are only valid in a token of the same user', at);
  }
  const place = located(ctx, { scope, id, ...(account !== undefined && { account }) });
  for (const entry of groups) {
    const fits = entry.scope === scope || (scope === 'account' && entry.scope !== 'user');
    if (!fits) throw badBody(`${entry.name} does not apply to ${scope} resources`, at);
    if (policy.effect === 'allow') requireGivableGroup(ctx, entry, place);
  }
}

function requireGivableGroup(ctx: Context, entry: PermissionGroup, resource: Resource): void {
  const target = targetOf(entry, resource);
  for (const area of entry.areas) requireGivable(ctx.actor, area, entry.level, target);
}

/**
 * Throws 403/10000 unless the actor itself could grant the policies of the token; null is all permissions of a user. What a role does
 * not give, a token of the user cannot do anyhow; one of an account can.
 */
export function requireNoMore(
  ctx: Context,
  { policies, accountOwned }: { readonly policies: readonly Policy[] | null; readonly accountOwned: boolean },
): void {
  if (!ctx.actor.policies && !(accountOwned && ctx.actor.grants)) return;
  if (policies === null) throw accountFailure('outOfScope');
  for (const policy of policies.filter(({ effect }) => effect === 'allow')) {
    const entries = policy.groups.flatMap((id) => findPermissionGroup(id) ?? []);
    for (const resource of resourcesOf(policy)) {
      const place = located(ctx, resource);
      for (const entry of entries) requireGivableGroup(ctx, entry, place);
    }
  }
}

/** A resource with the account that its zone is in. */
function located({ store }: Context, resource: Resource): Resource {
  const id = resource.scope === 'zone' ? parseId(resource.id) : undefined;
  const zone = id && findZoneById(store, id);
  return zone ? { ...resource, account: accountIdOf(store, zone) } : resource;
}

/** The target of a group on a resource, for checking the actor's own policies. */
function targetOf({ scope: given }: PermissionGroup, { scope, id, account = '*' }: Resource): Target {
  if (scope === 'user') return { user: id };
  if (scope === 'account') return given === 'zone' ? { account: id, zone: '*' } : { account: id, bucket: '*' };
  if (scope === 'bucket') return { account: id.split('_', 1)[0]!, bucket: id.slice(id.indexOf('_') + 1) };
  return { zone: id, account };
}

function readRecordScope({ names, types }: RecordsInput, at: string): RecordScope {
  const scope = {
    ...(names && { names: readPatterns(names, `${at}/names`) }),
    ...(types && { types: readTypes(types, `${at}/types`) }),
  };
  if (Object.keys(scope).length === 0) throw badBody('expected names, types, or both', at);
  return scope;
}

function readPatterns(names: readonly string[], at: string): string[] {
  requireFew(names, MOST_PATTERNS, at);
  return names.map((text) => {
    const pattern = text.toLowerCase().replace(/\.$/, '');
    if (!NAME_PATTERN.test(pattern)) {
      throw badBody(
        `'${text.slice(0, 80)}' is not a name pattern: expected a full name, in which * stands for any characters`,
        at,
      );
    }
    return pattern;
  });
}

function readTypes(types: readonly string[], at: string): string[] {
  requireFew(types, MOST_PATTERNS, at);
  return types.map((text) => {
    if (typeByMnemonic(text) === undefined) throw badBody(`'${text.slice(0, 80)}' is not a record type`, at);
    return text.toUpperCase();
  });
}
