/** Shapes of the user's own memberships on the wire (v4: §12). */
import { z } from 'zod';
import { accountSettings } from '../accounts/schema.js';
import { memberPolicy } from '../members/schema.js';
import { direction, pageQuery, time } from '../schema.js';

export const STATUSES = ['accepted', 'pending', 'rejected'] as const;
export const ORDERS = ['id', 'account.name', 'status'] as const;

export const membershipParams = z.object({
  membership_id: z.string().max(64).describe('Identifier of the membership'),
});

const permission = z.object({ read: z.boolean(), write: z.boolean(), edit: z.boolean() });

export const membership = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    account: z.object({
      id: z.string(),
      name: z.string(),
      type: z.enum(['standard', 'enterprise']),
      settings: accountSettings,
      created_on: z.string(),
    }),
    roles: z.array(z.string()).describe('Names'),
    policies: z.array(memberPolicy).optional().describe('Where they count instead of roles'),
    permissions: z.object({ dns_records: permission, zones: permission }),
    api_access_enabled: z.null(),
  })
  .meta({ id: 'Membership' });

export type Membership = z.output<typeof membership>;

export const membershipQuery = z.object({
  'account.name': z.string().optional(),
  name: z.string().optional().describe('Name of the account'),
  status: z.enum(STATUSES).optional(),
  order: z.enum(ORDERS).optional(),
  direction,
  ...pageQuery,
});

export const invite = z
  .object({
    id: z.string(),
    invited_member_id: z.string(),
    invited_member_email: z.string(),
    organization_id: z.string(),
    organization_name: z.string(),
    organization_is_enforcing_twofactor: z.boolean(),
    roles: z.array(z.string()).describe('Names; empty where policies count'),
    invited_by: z.string(),
    invited_on: time,
    expires_on: time,
    status: z.enum(['pending', 'accepted', 'rejected', 'expired']),
  })
  .meta({ id: 'Invite' });

export type Invite = z.output<typeof invite>;

export const reply = z
  .object({ status: z.enum(['accepted', 'rejected']) })
  .meta({ id: 'InvitationReply', examples: [{ status: 'accepted' }] });
