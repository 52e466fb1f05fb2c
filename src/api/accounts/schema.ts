/** Shapes of accounts on the wire (v4: §12). */
import { z } from 'zod';
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

export type Account = z.output<typeof account>;

export const accountQuery = z.object({ name: z.string().optional(), direction, ...pageQuery });
