/** Shapes of accounts on the wire (v4: §12). */
import { z } from 'zod';
import { QUOTA_KINDS, type QuotaKind } from '../../store/access/quotas.js';
import { direction, identifier, pageQuery, time } from '../schema.js';

export const accountParams = z.object({ account_id: identifier('account') });

export const accountSettings = z.object({
  enforce_twofactor: z.boolean(),
  abuse_contact_email: z.string().nullable(),
});

export const account = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.enum(['standard', 'enterprise']),
    settings: accountSettings,
    created_on: time,
  })
  .meta({ id: 'Account' });

/** Clients send the whole account that they have read; the name and the second factor are what can be changed. */
export const accountEdit = z
  .object({
    name: z.string(),
    type: z.enum(['standard', 'enterprise']).nullish(),
    settings: z.object({ enforce_twofactor: z.boolean().nullish() }).nullish(),
  })
  .meta({ id: 'AccountEdit', examples: [{ name: 'Example Ltd' }] });

export type Account = z.output<typeof account>;

const quota = z
  .object({
    used: z.int().nullable().describe('How much of it the account has; null for what one request may bring'),
    most: z.int().nullable().describe('How much it may have; null: as much as it likes, because it is alone'),
    own: z.boolean().describe('Whether an administrator set it for this account'),
    raised_by: z.literal('administrator').describe('Who can raise it'),
  })
  .meta({ id: 'Quota' });

const members = <Schema extends z.ZodType>(schema: Schema) =>
  Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, schema])) as Record<QuotaKind, Schema>;

/** By what is counted. */
export const quotas = z.object(members(quota));

export type Quotas = z.output<typeof quotas>;

/** Null: as all accounts have it. */
export const quotaEdit = z.object(members(z.int().min(0).nullish()));

export const accountQuery = z.object({ name: z.string().optional(), direction, ...pageQuery });
