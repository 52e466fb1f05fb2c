/** Shapes of API tokens on the wire (v4: §12). */
import { z } from 'zod';
import { listOf } from '../body-schema.js';
import { direction, identifier, pageQuery, time } from '../schema.js';

const permissionGroupReference = z.object({ id: z.string(), name: z.string().optional() });

const records = z
  .object({
    names: z.array(z.string()).readonly().optional().describe('Full names; `*` stands for any characters'),
    types: z.array(z.string()).readonly().optional().describe('Record types'),
  })
  .describe('Restricts DNS permissions to matching records; an extension of v4');

const resources = z
  .record(z.string(), z.union([z.string(), z.record(z.string(), z.string())]))
  .describe('Such as `{"com.cloudflare.api.account.zone.<id>": "*"}`');

export const policy = z
  .object({
    id: z.string(),
    effect: z.enum(['allow', 'deny']),
    permission_groups: z.array(permissionGroupReference),
    resources,
    records: records.optional(),
  })
  .meta({ id: 'TokenPolicy' });

const networks = z.object({ in: z.array(z.string()).optional(), not_in: z.array(z.string()).optional() }).optional();

const condition = z.object({
  request_ip: networks.describe('Networks from which the token may or may not be used'),
  'request.ip': networks.describe('The same in the spelling of older clients; returned as it was sent'),
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
  .object({ id: z.string(), ...members, value: z.string().describe('The secret; shown only once') })
  .meta({ id: 'CreatedToken' });

export type CreatedToken = z.output<typeof createdToken>;

const texts = z.array(z.string()).nullish();

/** Clients send back the members they received, including read-only ones. */
const repeated = z.unknown().optional().describe('Accepted and ignored');

/**
 * Nothing that restricts a token is ignored: unknown members are refused, because ignoring them could allow more than
 * intended.
 */
export const policyInput = z
  .strictObject({
    id: repeated,
    effect: z.enum(['allow', 'deny'], { error: 'allow or deny' }),
    permission_groups: listOf(
      z.strictObject({ id: z.string(), name: repeated, scopes: repeated, meta: repeated }),
      1,
      100,
      'permission groups',
    ).describe('Only the identifier is used'),
    resources,
    records: z
      .strictObject({
        names: texts.describe('Full names; `*` stands for any characters'),
        types: texts.describe('Record types'),
      })
      .nullish()
      .describe('Restricts DNS permissions to matching records; an extension of v4'),
  })
  .meta({ id: 'TokenPolicyCreation' });

const networksInput = z.strictObject({ in: texts, not_in: texts }).nullish();

const conditionInput = z.strictObject({
  request_ip: networksInput.describe('Networks from which the token may or may not be used'),
  'request.ip': networksInput.describe('The same in the spelling of older clients'),
});

export const tokenBody = z
  .strictObject({
    id: repeated,
    issued_on: repeated,
    modified_on: repeated,
    last_used_on: repeated,
    value: repeated,
    name: z.string(),
    policies: listOf(policyInput, 1, 50, 'policies'),
    condition: conditionInput.nullish(),
    not_before: time.nullish(),
    expires_on: time.nullish(),
    status: z
      .enum(['active', 'disabled', 'expired'], { error: 'active or disabled' })
      .nullish()
      .describe('Default `active`'),
  })
  .meta({
    id: 'TokenBody',
    examples: [
      {
        name: 'certificates of example.com',
        policies: [
          {
            effect: 'allow',
            permission_groups: [{ id: '4755a26eedb94da69e1066d98aa820be' }],
            resources: { 'com.cloudflare.api.account.zone.023e105f4ecef8ad9ca31a8372d0c353': '*' },
          },
        ],
        expires_on: '2027-01-01T00:00:00Z',
      },
    ],
  });

export const permissionGroup = z
  .object({ id: z.string(), name: z.string(), scopes: z.array(z.string()) })
  .meta({ id: 'PermissionGroup' });

export type PermissionGroup = z.output<typeof permissionGroup>;

const ofToken = { token_id: identifier('token') };
const ofAccount = { account_id: identifier('account') };
export const userTokenParams = z.object(ofToken);
export const accountTokensParams = z.object(ofAccount);
export const accountTokenParams = z.object({ ...ofAccount, ...ofToken });

export const tokenQuery = z.object({
  direction,
  include_expired: z.enum(['true', 'false']).optional().describe('Default `true`'),
  ...pageQuery,
});

export const permissionGroupQuery = z.object({ name: z.string().optional(), scope: z.string().optional() });
