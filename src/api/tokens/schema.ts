/** Shapes of API tokens on the wire (v4: §12). */
import { z } from 'zod';
import { direction, identifier, pageQuery, time } from '../schema.js';

const permissionGroupReference = z.object({ id: z.string(), name: z.string().optional() });

const records = z
  .object({
    names: z.array(z.string()).readonly().optional().describe('Full names; `*` stands for any characters'),
    types: z.array(z.string()).readonly().optional().describe('Record types'),
  })
  .describe('Narrows permissions for DNS to records that fit; this service adds it to v4');

const resources = z
  .record(z.string(), z.union([z.string(), z.record(z.string(), z.string())]))
  .describe('Such as `{"com.cloudflare.api.account.zone.<id>": "*"}`');

const policy = z
  .object({
    id: z.string(),
    effect: z.enum(['allow', 'deny']),
    permission_groups: z.array(permissionGroupReference),
    resources,
    records: records.optional(),
  })
  .meta({ id: 'TokenPolicy' });

const condition = z.object({
  request_ip: z
    .object({ in: z.array(z.string()).optional(), not_in: z.array(z.string()).optional() })
    .optional()
    .describe('Networks the token may and may not be used from'),
});

const members = {
  name: z.string(),
  status: z.enum(['active', 'disabled', 'expired']),
  issued_on: time,
  modified_on: time,
  last_used_on: time.optional(),
  not_before: time.optional(),
  expires_on: time.optional(),
  policies: z.array(policy),
  condition: condition.optional(),
};

export const token = z.object({ id: z.string(), ...members }).meta({ id: 'Token' });
export type Token = z.output<typeof token>;

export const createdToken = z
  .object({ id: z.string(), ...members, value: z.string().describe('The secret; shown this once') })
  .meta({ id: 'CreatedToken' });

export const tokenBody = z
  .object({
    name: z.string(),
    policies: z.array(policy.partial({ id: true })),
    condition: condition.optional(),
    not_before: time.optional(),
    expires_on: time.optional(),
    status: z.enum(['active', 'disabled']).optional().describe('Of an edit only'),
  })
  .meta({ id: 'TokenBody' });

export const permissionGroup = z
  .object({ id: z.string(), name: z.string(), scopes: z.array(z.string()) })
  .meta({ id: 'PermissionGroup' });

const ofToken = { token_id: identifier('token') };
const ofAccount = { account_id: identifier('account') };
export const userTokenParams = z.object(ofToken);
export const accountTokensParams = z.object(ofAccount);
export const accountTokenParams = z.object({ ...ofAccount, ...ofToken });

export const tokenQuery = z.object({
  direction,
  include_expired: z.enum(['true', 'false']).optional().describe('`true` unless given'),
  ...pageQuery,
});

export const permissionGroupQuery = z.object({ name: z.string().optional(), scope: z.string().optional() });
