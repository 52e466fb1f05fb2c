/** Shapes of zones on the wire (v4: §3). */
import { z } from 'zod';
import { TRANSFER_STATES } from '../../control/rules/transfer-state.js';
import { zoneFailure } from '../../control/rules/zone-failures.js';
import { type BodyFault, listOf, refusedWith } from '../body-schema.js';
import { direction, identifier, match, pageQuery, time } from '../schema.js';

export const ZONE_STATUSES = ['initializing', 'pending', 'active', 'moved'] as const;
export const ZONE_TYPES = ['full', 'partial', 'secondary', 'internal'] as const;
export const ZONE_ORDERS = ['name', 'status', 'account.id', 'account.name', 'plan.id'] as const;
export const NAME_OPERATORS = [
  'equal',
  'not_equal',
  'starts_with',
  'ends_with',
  'contains',
  'starts_with_case_sensitive',
  'ends_with_case_sensitive',
  'contains_case_sensitive',
] as const;

export const zoneParams = z.object({ zone_id: identifier('zone') });

export const plan = z
  .object({
    id: z.string(),
    name: z.string(),
    price: z.int(),
    currency: z.string(),
    frequency: z.string(),
    is_subscribed: z.boolean(),
    can_subscribe: z.boolean(),
    legacy_id: z.enum(['free', 'pro', 'business', 'enterprise']),
    legacy_discount: z.boolean(),
    externally_managed: z.boolean(),
  })
  .meta({ id: 'Plan' });

export const zone = z
  .object({
    id: z.string(),
    name: z.string().describe('Unicode if the name is internationalised'),
    status: z.enum(ZONE_STATUSES),
    paused: z.boolean(),
    type: z.enum(ZONE_TYPES),
    development_mode: z.int(),
    name_servers: z.array(z.string()),
    original_name_servers: z.array(z.string()).nullable(),
    original_registrar: z.string().nullable(),
    original_dnshost: z.string().nullable(),
    vanity_name_servers: z.array(z.string()).optional(),
    modified_on: time,
    created_on: time,
    activated_on: time.nullable(),
    meta: z.object({
      step: z.int(),
      custom_certificate_quota: z.int(),
      page_rule_quota: z.int(),
      phishing_detected: z.boolean(),
      proven_by: z
        .enum(['operator', 'delegation', 'txt', 'trust'])
        .nullable()
        .describe(
          'What shows that the name is the account’s (ours); `trust`: nothing, but who comes first is believed',
        ),
      proven_at: time.nullable(),
      contested: z.boolean().describe('Whether another account claims the name, or one above or below it (ours)'),
      proof_record: z
        .object({ type: z.literal('TXT'), name: z.string(), content: z.string() })
        .describe('A record that proves the name outside, beside its delegation to `name_servers` (ours)'),
      proof_detail: z.string().describe('What proves the name and since when, or what to do next, in words (ours)'),
      transfer_state: z
        .enum(TRANSFER_STATES)
        .optional()
        .describe(
          'How far the copy of a zone from other primaries is; `waiting`: it was never transferred, and is answered with SERVFAIL (ours)',
        ),
    }),
    owner: z.object({
      id: z.string().nullable(),
      type: z.enum(['user', 'organization']),
      email: z.string().nullable(),
    }),
    account: z.object({ id: z.string(), name: z.string() }),
    tenant: z.object({ id: z.null(), name: z.null() }),
    tenant_unit: z.object({ id: z.null() }),
    permissions: z.array(z.string()),
    plan,
    verification_key: z.string().optional(),
    state: z
      .object({
        serial: z.int(),
        records: z.int(),
        dnssec: z.enum(['pending', 'active', 'pending-disabled', 'disabled']),
        hold: z.boolean(),
        secondaries: z.object({ count: z.int(), in_sync: z.int() }),
      })
      .optional()
      .describe('Only with `include_state`, and only for callers that may read all records of the zone'),
  })
  .meta({ id: 'Zone' });

export type Zone = z.output<typeof zone>;

export const zoneQuery = z.object({
  name: z.string().optional().describe('A name, or `operator:text` such as `contains:shop`'),
  encloses: z
    .string()
    .optional()
    .describe('A domain name: the zones in which it may lie, which have its name or the end of it (ours)'),
  'account.id': z.string().optional(),
  'account.name': z.string().optional().describe('A name, or `operator:text`'),
  status: z.enum(ZONE_STATUSES).optional().describe('One or more, separated by commas'),
  type: z.enum(ZONE_TYPES).optional().describe('One or more; default: all except `internal`'),
  match,
  order: z.enum(ZONE_ORDERS).optional(),
  direction,
  include_state: z
    .string()
    .optional()
    .describe('`true`: with serial, DNSSEC, hold and secondaries of each zone (ours)'),
  ...pageQuery,
});

/** The types of v4; the use case refuses those that are not supported. */
const creatableType = z.enum(ZONE_TYPES, { error: 'full or partial' }).nullish();

export const zoneCreation = z
  .object({
    name: z.string().describe('Domain name, Unicode or punycode'),
    account: z
      .union([z.object({ id: z.string().nullish() }), z.string()], { error: 'an object with the identifier as id' })
      .nullish()
      .describe("Default: the caller's first account"),
    type: creatableType.describe('Default `full`'),
    jump_start: z.unknown().optional().describe('Accepted and ignored'),
  })
  .meta({ id: 'ZoneCreation', examples: [{ name: 'example.com' }] });

const badEdit = ({ text, pointer }: BodyFault) => zoneFailure('badEdit', { reason: `${text}.` }, { pointer });

export const zoneEdit = z
  .object({
    paused: refusedWith(z.boolean().nullish(), badEdit),
    type: creatableType,
    vanity_name_servers: refusedWith(listOf(z.string(), 0, 10, 'host names').nullish(), badEdit),
    plan: z.unknown().optional().describe('Accepted and ignored: there is one plan'),
  })
  .meta({ id: 'ZoneEdit', examples: [{ paused: true }] });
