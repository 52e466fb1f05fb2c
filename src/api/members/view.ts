/** Members, roles and policies as v4 clients read them. */
import type { Level } from '../../control/guard/permissions.js';
import { findRole, type Role } from '../../control/guard/roles.js';
import type { MemberItem, PolicyItem, ResourceGroupItem } from '../../control/people/item.js';
import { printOptionalTime, printTime } from '../times.js';
import type { MemberPolicyView, MemberView, PermissionName, ResourceGroupView, RoleView } from './schema.js';

/** What of a role each permission of v4 is. */
const AREAS = {
  analytics: 'zone',
  cache_purge: 'cachePurge',
  dns: 'dns',
  dns_records: 'dns',
  logs: 'audit',
  organization: 'members',
  ssl: 'certificates',
  zone_settings: 'zoneSettings',
  zones: 'zone',
} as const;

export function roleView({ id, name, description, levels }: Role): RoleView {
  const known = Object.fromEntries(
    Object.entries(AREAS).map(([permission, area]) => [permission, permissionOf(levels[area])]),
  ) as Record<keyof typeof AREAS, { read: boolean; write: boolean }>;
  const none = permissionOf(undefined);
  const permissions: Record<PermissionName, { read: boolean; write: boolean }> = {
    ...{ billing: none, lb: none, waf: none },
    ...known,
    analytics: { ...known.analytics, write: false },
  };
  return { id, name, description, permissions };
}

function permissionOf(level: Level | undefined): { read: boolean; write: boolean } {
  return { read: level !== undefined, write: level === 'write' };
}

export function permissionGroupView({ id, name, description, scope }: Role): MemberPolicyView['permission_groups'][0] {
  const scopes = scope === 'zone' ? 'com.cloudflare.api.account.zone' : 'com.cloudflare.api.account';
  return { id, name, meta: { description, label: labelOf(name), scopes } };
}

/** `Domain DNS` → `domain_dns`. */
export function labelOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
}

export function resourceGroupView({ id, name, accountId, zones }: ResourceGroupItem): ResourceGroupView {
  const key = `com.cloudflare.api.account.${accountId}`;
  const objects = zones ? zones.map((zone) => ({ key: `com.cloudflare.api.account.zone.${zone}` })) : [{ key: '*' }];
  return { id, name, meta: { key: 'editable', value: 'true' }, scope: { key, objects } };
}

export function policyView({ id, access, permissionGroups, resourceGroups }: PolicyItem): MemberPolicyView {
  return {
    id,
    access,
    permission_groups: permissionGroups.flatMap((group) => {
      const known = findRole(group);
      return known ? [permissionGroupView(known)] : [];
    }),
    resource_groups: resourceGroups.map(resourceGroupView),
  };
}

export function memberView(item: MemberItem): MemberView {
  const { id, email, status, roles, policies, user, twoFactor, invite } = item;
  return {
    id,
    email,
    status,
    roles: roles.flatMap((known) => {
      const found = findRole(known);
      return found ? [roleView(found)] : [];
    }),
    policies: policies.map(policyView),
    user: {
      ...(user && { id: user.id }),
      email,
      first_name: user?.firstName ?? null,
      last_name: user?.lastName ?? null,
      ...(twoFactor !== undefined && { two_factor_authentication_enabled: twoFactor }),
    },
    created_on: printTime(item.createdAt),
    last_active_on: printOptionalTime(item.lastUsedAt),
    invite: invite && { id: invite.id, expires_on: printTime(invite.expiresAt), expired: invite.isOver },
  };
}
