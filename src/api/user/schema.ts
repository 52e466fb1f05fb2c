/** Shapes of the user and of token checks on the wire (v4: §12). */
import { z } from 'zod';
import { time } from '../schema.js';

export const user = z
  .object({
    id: z.string(),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    username: z.string(),
    telephone: z.string().nullable(),
    country: z.string().nullable(),
    zipcode: z.string().nullable(),
    two_factor_authentication_enabled: z.boolean(),
    two_factor_authentication_locked: z.boolean(),
    suspended: z.boolean(),
    has_pro_zones: z.boolean(),
    has_business_zones: z.boolean(),
    has_enterprise_zones: z.boolean(),
    betas: z.array(z.string()),
    organizations: z.array(z.unknown()),
    created_on: time,
    modified_on: time,
  })
  .meta({ id: 'User' });

const personName = z.string().max(60).nullish();
const detail = z.string().max(30).nullish();

export const userEdit = z
  .object({
    first_name: personName,
    last_name: personName,
    telephone: detail,
    country: detail,
    zipcode: z.string().max(20).nullish(),
  })
  .meta({ id: 'UserEdit', examples: [{ first_name: 'Ada', last_name: 'Lovelace' }] });

export type User = z.output<typeof user>;

export const tokenVerification = z
  .object({
    id: z.string(),
    status: z.enum(['active', 'disabled', 'expired']),
    expires_on: time.optional(),
    not_before: time.optional(),
  })
  .meta({ id: 'TokenVerification' });
