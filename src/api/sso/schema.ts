/** Shapes of single sign-on (ours). */
import { z } from 'zod';
import { identifier, time } from '../schema.js';

export const providerParams = z.object({ provider_id: identifier('identity provider') });

const groupRole = z.object({
  group: z.string().min(1).max(255).describe('As the provider calls it'),
  account: z.string().describe('Identifier of an account'),
  role: z.string().describe('Identifier of a role'),
});

const described = {
  name: z.string().describe('On the button of the sign-in'),
  issuer: z.string().describe('As the provider calls itself'),
  client_id: z.string(),
  scopes: z.string().describe('Default `openid email profile`'),
  groups_claim: z.string().describe('Where a statement has the groups; may be a path with dots'),
  group_map: z.array(groupRole).describe('What members of groups are here'),
  domains: z.array(z.string().max(253)).describe('Of e-mail addresses that the provider may name; empty: all'),
  creates: z
    .enum(['never', 'mapped', 'always'])
    .describe('Whether it makes users; `mapped`: of people in mapped groups'),
  updates_roles: z.boolean().describe('Whether roles follow the groups at each sign-in'),
  trusts_email: z.boolean().describe('Whether addresses of `domains` count without `email_verified`'),
  trusts_factors: z.boolean().describe('Whether a second factor that was given there counts here'),
};

export const provider = z
  .object({
    id: z.string(),
    ...described,
    has_secret: z.boolean(),
    callback: z.string().nullable().describe('Redirect address to register there; null without `public-url`'),
    created_on: time,
    modified_on: time,
  })
  .meta({ id: 'IdentityProvider' });

export type Provider = z.output<typeof provider>;

export const providerBody = z
  .strictObject({
    ...described,
    client_secret: z.string().min(1).max(1000).optional().describe('Never shown again; absent in a change: as before'),
    scopes: described.scopes.optional(),
    groups_claim: described.groups_claim.optional(),
    group_map: described.group_map.optional(),
    domains: described.domains.optional(),
    creates: described.creates.optional(),
    updates_roles: z.boolean().optional(),
    trusts_email: z.boolean().optional(),
    trusts_factors: z.boolean().optional(),
  })
  .meta({
    id: 'IdentityProviderEdit',
    examples: [{ name: 'Example Ltd', issuer: 'https://login.example.com', client_id: 'zoneplane', creates: 'mapped' }],
  });

export type ProviderBody = z.output<typeof providerBody>;

export const endpoints = z.object({ endpoints: z.record(z.string(), z.unknown()) }).meta({ id: 'ProviderTest' });

export const linkBody = z.strictObject({ provider: identifier('identity provider') }).meta({ id: 'SsoLink' });

export const location = z
  .object({ location: z.string().describe('Where the browser goes') })
  .meta({ id: 'SsoLocation' });
