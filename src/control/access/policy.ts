/** Policies and conditions of tokens as clients send them, checked against what the actor itself may do (v4: §12). */
import { parseCidrSet } from '../../base/ip.js';
import { makeId } from '../../base/random.js';
import { typeByMnemonic } from '../../dns/rr/registry.js';
import { findZoneById } from '../../store/zones/zones.js';
import type { Context } from '../write/context.js';
import { badBody } from '../write/errors.js';
import { accountIdOf, parseId, requireAccount, requirePermission, requireZone } from './access.js';
import { accountFailure } from './errors.js';
import type { Networks } from './item.js';
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
} from './permissions.js';

const MOST_POLICIES = 50;
const MOST_RESOURCES = 1000;
const MOST_NETWORKS = 100;
const MOST_PATTERNS = 100;
/** Lower-case FQDN in which `*` stands for any characters. */
const NAME_PATTERN = /^[!->@\\^-~]{1,255}$/;

type Members = Readonly<Record<string, unknown>>;

/** The policies of a token. Throws 400/9207 for what is none, and as access.ts does for what the actor may not pass on. */
export function readPolicies(ctx: Context, value: unknown, owner: { readonly account?: string }): Policy[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_POLICIES) {
    throw badBody(`policies must be a list of 1 to ${MOST_POLICIES} policies`, '/policies');
  }
  return value.map((policy, i) => readPolicy(ctx, policy, owner, `/policies/${i}`));
}

function readPolicy(ctx: Context, value: unknown, owner: { readonly account?: string }, at: string): Policy {
  const { effect, permission_groups: groups, resources, records } = membersOf(value, at);
  if (effect !== 'allow' && effect !== 'deny') throw badBody('effect must be allow or deny', `${at}/effect`);
  if (!Array.isArray(groups) || groups.length === 0) {
    throw badBody('permission_groups must be a list that is not empty', `${at}/permission_groups`);
  }
  const chosen = groups.map((entry, i) => readGroup(entry, `${at}/permission_groups/${i}`));
  const scope = records === undefined || records === null ? undefined : readRecordScope(records, `${at}/records`);
  if (scope && effect === 'deny') throw badBody('a policy that denies is about all records', `${at}/records`);
  if (scope && chosen.some(({ areas }) => !areas.includes('dns'))) {
    throw badBody('only permissions for DNS can be narrowed to records', `${at}/records`);
  }
  const policy: Policy = {
    id: Buffer.from(makeId(ctx.clock.nowUs(), ctx.random)).toString('hex'),
    effect,
    groups: [...new Set(chosen.map(({ id }) => id))],
    resources: readResources(resources, `${at}/resources`),
    ...(scope && { records: scope }),
  };
  for (const resource of resourcesOf(policy)) checkResource(ctx, policy, chosen, resource, owner, `${at}/resources`);
  return policy;
}

function membersOf(value: unknown, at: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badBody('expected an object', at);
  return value as Members;
}

function readGroup(value: unknown, at: string): PermissionGroup {
  const { id } = membersOf(value, at);
  const known = typeof id === 'string' ? findPermissionGroup(id) : undefined;
  if (!known) throw badBody('no permission group has this identifier; GET …/tokens/permission_groups lists them', at);
  return known;
}

function readResources(value: unknown, at: string): Resources {
  const resources = membersOf(value, at);
  const names = Object.keys(resources);
  if (names.length === 0 || names.length > MOST_RESOURCES)
    throw badBody(`expected 1 to ${MOST_RESOURCES} resources`, at);
  for (const name of names) {
    const outer = parseResource(name);
    const inside = resources[name];
    if (!outer) throw badBody(`${name.slice(0, 120)} is no resource`, at);
    if (inside === '*') continue;
    if (outer.scope !== 'account') throw badBody(`what is given for ${name} must be "*"`, at);
    const inner = Object.entries(membersOf(inside, at));
    if (inner.length === 0 || inner.some(([key, text]) => text !== '*' || parseResource(key)?.scope !== 'zone')) {
      throw badBody(`what is given for ${name} must be "*", or zones with "*" each`, at);
    }
  }
  return resources as Resources;
}

/** A resource must be of the kind its groups are for, be there, and be the actor's to give. */
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
    throw badBody('permissions about a user are for the token of that very user', at);
  }
  for (const entry of groups) {
    const fits = entry.scope === scope || (scope === 'account' && entry.scope !== 'user');
    if (!fits) throw badBody(`${entry.name} is not for ${scope} resources`, at);
    if (policy.effect === 'allow')
      requireGivable(ctx, entry, { scope, id, ...(account === undefined ? {} : { account }) });
  }
}

function requireGivable(ctx: Context, entry: PermissionGroup, resource: Resource): void {
  const target = targetOf(ctx, entry, resource);
  for (const area of entry.areas) requirePermission(ctx.actor, area, entry.level, target);
}

/** Throws 403/10000 unless the actor could give these policies itself; null is everything a user may. */
export function requireNoMore(ctx: Context, policies: readonly Policy[] | null): void {
  if (!ctx.actor.policies) return;
  if (policies === null) throw accountFailure('outOfScope');
  for (const policy of policies.filter(({ effect }) => effect === 'allow')) {
    const entries = policy.groups.flatMap((id) => findPermissionGroup(id) ?? []);
    for (const resource of resourcesOf(policy)) for (const entry of entries) requireGivable(ctx, entry, resource);
  }
}

/** What a group on a resource would be about, as the actor's own policies see it. */
function targetOf(ctx: Context, { scope: given }: PermissionGroup, { scope, id, account }: Resource): Target {
  if (scope === 'user') return { user: id };
  if (scope === 'account') return given === 'zone' ? { account: id, zone: '*' } : { account: id, bucket: '*' };
  if (scope === 'bucket') return { account: id.split('_', 1)[0]!, bucket: id.slice(id.indexOf('_') + 1) };
  const octets = parseId(id);
  const zone = octets && findZoneById(ctx.store, octets);
  return { zone: id, account: zone ? accountIdOf(ctx.store, zone) : (account ?? '*') };
}

function readRecordScope(value: unknown, at: string): RecordScope {
  const { names, types } = membersOf(value, at);
  const scope = {
    ...(names === undefined || names === null ? {} : { names: readPatterns(names, `${at}/names`) }),
    ...(types === undefined || types === null ? {} : { types: readTypes(types, `${at}/types`) }),
  };
  if (Object.keys(scope).length === 0) throw badBody('expected names, types, or both', at);
  return scope;
}

function readPatterns(value: unknown, at: string): string[] {
  return readTexts(value, MOST_PATTERNS, at).map((text) => {
    const pattern = text.toLowerCase().replace(/\.$/, '');
    if (!NAME_PATTERN.test(pattern)) {
      throw badBody(
        `'${text.slice(0, 80)}' is no pattern of names: expected a full name, in which * stands for any characters`,
        at,
      );
    }
    return pattern;
  });
}

function readTypes(value: unknown, at: string): string[] {
  return readTexts(value, MOST_PATTERNS, at).map((text) => {
    if (typeByMnemonic(text) === undefined) throw badBody(`'${text.slice(0, 80)}' is no record type`, at);
    return text.toUpperCase();
  });
}

function readTexts(value: unknown, most: number, at: string): string[] {
  const list = Array.isArray(value) ? value : [];
  if (list.length === 0 || list.length > most || !list.every((text) => typeof text === 'string')) {
    throw badBody(`expected a list of 1 to ${most} texts`, at);
  }
  return list;
}

/** `condition.request_ip` of a token; null when it may be used from anywhere. */
export function readNetworks(value: unknown): Networks | null {
  if (value === undefined || value === null) return null;
  const { request_ip: asked } = membersOf(value, '/condition');
  if (asked === undefined || asked === null) return null;
  const at = '/condition/request_ip';
  const members = membersOf(asked, at);
  const read = (name: 'in' | 'not_in'): string[] => {
    const list = members[name];
    if (list === undefined || list === null || (Array.isArray(list) && list.length === 0)) return [];
    const texts = readTexts(list, MOST_NETWORKS, `${at}/${name}`);
    try {
      parseCidrSet(texts);
    } catch (error) {
      if (error instanceof RangeError) throw badBody(error.message, `${at}/${name}`);
      throw error;
    }
    return texts;
  };
  const networks = { in: read('in'), notIn: read('not_in') };
  return networks.in.length + networks.notIn.length === 0 ? null : networks;
}
