/** Shapes of members, roles and policies on the wire (npm `cloudflare`: `accounts.members`, `accounts.roles`, `shared.Member`). */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { listOf } from '../body-schema.js';
import { direction, pageQuery, time } from '../schema.js';

export const memberParams = accountParams.extend({
  member_id: z.string().max(64).describe('Identifier of the member'),
});
export const roleParams = accountParams.extend({ role_id: z.string().max(64).describe('Identifier of the role') });

const permission = z.object({ read: z.boolean(), write: z.boolean() });

const PERMISSIONS = [
  'analytics',
  'billing',
  'cache_purge',
  'dns',
  'dns_records',
  'lb',
  'logs',
  'organization',
  'ssl',
  'waf',
  'zone_settings',
  'zones',
] as const;

export type PermissionName = (typeof PERMISSIONS)[number];

export const role = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    permissions: z.object(
      Object.fromEntries(PERMISSIONS.map((name) => [name, permission])) as Record<PermissionName, typeof permission>,
    ),
  })
  .meta({ id: 'Role' });

export type RoleView = z.output<typeof role>;

export const permissionGroup = z
  .object({
    id: z.string(),
    name: z.string(),
    meta: z.object({ description: z.string(), label: z.string(), scopes: z.string() }),
  })
  .meta({ id: 'MemberPermissionGroup' });

export type PermissionGroupView = z.output<typeof permissionGroup>;

export const resourceGroup = z
  .object({
    id: z.string(),
    name: z.string(),
    meta: z.object({ key: z.string(), value: z.string() }),
    scope: z.object({
      key: z.string().describe('`com.cloudflare.api.account.` and the identifier of the account'),
      objects: z
        .array(z.object({ key: z.string() }))
        .describe('`com.cloudflare.api.account.zone.` and the identifier of each zone, or only `*`'),
    }),
  })
  .meta({ id: 'ResourceGroup' });

export type ResourceGroupView = z.output<typeof resourceGroup>;

export const memberPolicy = z
  .object({
    id: z.string(),
    access: z.enum(['allow', 'deny']),
    permission_groups: z.array(permissionGroup),
    resource_groups: z.array(resourceGroup),
  })
  .meta({ id: 'MemberPolicy' });

export type MemberPolicyView = z.output<typeof memberPolicy>;

export const member = z
  .object({
    id: z.string(),
    email: z.string(),
    status: z.enum(['pending', 'accepted']),
    roles: z.array(role),
    policies: z.array(memberPolicy),
    user: z.object({
      id: z.string().optional().describe('Absent while the invitation is open'),
      email: z.string(),
      first_name: z.string().nullable(),
      last_name: z.string().nullable(),
      two_factor_authentication_enabled: z.boolean().optional().describe('Only for who manages members'),
    }),
    created_on: time,
    last_active_on: time.nullable().describe('When the user was last active here'),
    invite: z
      .object({ id: z.string(), expires_on: time, expired: z.boolean() })
      .nullable()
      .describe('The open invitation'),
  })
  .meta({ id: 'Member' });

export type MemberView = z.output<typeof member>;

export const memberQuery = z.object({
  order: z.enum(['user.first_name', 'user.last_name', 'user.email', 'status']).optional(),
  status: z.enum(['accepted', 'pending', 'rejected']).optional(),
  direction,
  ...pageQuery,
});

const withId = z.object({ id: z.string().max(64) });

/** Further members, such as names, are ignored: clients send back what they have read. */
export const policyInput = z.object({
  access: z.enum(['allow', 'deny']),
  permission_groups: listOf(withId, 1, 100, 'permission groups'),
  resource_groups: listOf(withId, 1, 100, 'resource groups'),
});

const EXAMPLE = { email: 'grace@example.com', roles: ['069fe803647ed3609e93d041d5df6050'] };

export const memberBody = z
  .object({
    email: z.string().max(256),
    roles: listOf(z.union([z.string().max(64), withId]), 0, 100, 'roles').nullish(),
    policies: listOf(policyInput, 0, 1000, 'policies').nullish(),
    status: z.enum(['accepted', 'pending']).nullish(),
  })
  .meta({ id: 'MemberBody', examples: [EXAMPLE] });

export const memberChange = z
  .object({
    roles: listOf(z.union([z.string().max(64), withId]), 0, 100, 'roles').nullish(),
    policies: listOf(policyInput, 0, 1000, 'policies').nullish(),
  })
  .meta({ id: 'MemberChange', examples: [{ roles: [{ id: '069fe803647ed3609e93d041d5df6050' }] }] });

export const invitationSent = z
  .object({
    member,
    mailed: z.boolean().describe('Whether the invitation is sent by mail'),
    link: z
      .string()
      .nullable()
      .describe(
        'A link to pass on instead of a mail, for administrators of the installation only: whoever opens it chooses the password of the user. Without `public-url`, it is relative to the address of the dashboard',
      ),
  })
  .meta({ id: 'InvitationSent' });

export type InvitationSent = z.output<typeof invitationSent>;
