/** Shapes of `/user/sessions` and `/user/permissions` (ours). */
import { z } from 'zod';
import { AREAS, type Area } from '../../control/guard/permissions.js';
import { identifier, time } from '../schema.js';

export const sessionParams = z.object({
  session_id: z.string().describe('Identifier of the session, or `current`'),
});

export const session = z
  .object({
    id: z.string(),
    current: z.boolean().describe('Whether this request was made by it'),
    user: z.object({ email: z.string() }),
    credential: z
      .object({ id: z.string(), name: z.string(), type: z.enum(['key', 'token']) })
      .nullable()
      .describe('The session can do what this credential can do, and ends with it; null: that of a person'),
    how: z
      .array(z.string())
      .describe('What was proved: `credential`, `link`, `password`, `totp`, `passkey`, `recovery`, `oidc`, `mfa`'),
    proved_on: time.describe('When the person last proved who they are'),
    address: z.string().describe('Source address of the sign-in'),
    user_agent: z.string(),
    created_on: time,
    last_used_on: time,
    expires_on: time.describe('When it ends at the latest; earlier after twelve hours without use'),
  })
  .meta({ id: 'Session' });

export type Session = z.output<typeof session>;

export const permissionQuery = z.object({
  zone_id: identifier('zone').optional().describe('Permissions on this zone; default: on anything'),
  account_id: identifier('account').optional().describe('Permissions in this account; default: in any'),
});

const level = z.enum(['read', 'write']).nullable();

export const permissions = z
  .object({
    administrator: z.boolean().describe('Whether it may do everything in every account'),
    email: z.string(),
    areas: z
      .object(Object.fromEntries(AREAS.map((area) => [area, level])) as Record<Area, typeof level>)
      .describe('What it may read or write'),
    creates_zones: z.boolean().describe('Whether it may add zones'),
    all_zones: z.boolean().describe('Whether it may read all records of all zones of an account'),
    session: z
      .object({
        person: z.boolean().describe('Whether somebody signed in as themself'),
        how: z.array(z.string()).describe('What was proved'),
        must_enrol: z.boolean().describe('Whether it can do nothing but enrol a second factor'),
        may_choose_password: z.boolean().describe('Whether it may choose the first password of its user'),
        recovery_codes: z.int().describe('How many recovery codes are left'),
        invitations: z.int().describe('Number of invitations that await an answer'),
      })
      .nullable()
      .describe('The session of the request; null for keys and tokens by themselves'),
    records: z
      .array(z.object({ names: z.array(z.string()).optional(), types: z.array(z.string()).optional() }))
      .nullable()
      .describe('The records to which `dns` is restricted; null for all'),
  })
  .meta({ id: 'Permissions' });

export type Permissions = z.output<typeof permissions>;
