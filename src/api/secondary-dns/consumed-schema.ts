/** Shapes of catalog zones of other servers (RFC 9432); an extension of v4. */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { identifier, time } from '../schema.js';

export const consumedParams = accountParams.extend({ catalog_id: identifier('catalog') });

export const consumed = z
  .object({
    id: z.string(),
    zone_id: z.string().describe('Identifier of the catalog zone, a secondary zone'),
    name: z.string(),
    peers: z.array(z.string()).describe('Its primaries, which are those of its members, too'),
    state: z
      .enum(['waiting', 'current', 'broken', 'held'])
      .describe('`broken`: the newest version is not followed; `held`: zones would go and wait for `…/confirm`'),
    soa_serial: z.int().nullable().describe('The version that was followed last'),
    fault: z.string().nullable().describe('Why the newest version is not followed'),
    held: z.int().describe('Zones that would go, but wait'),
    zones: z.int().describe('Members that are zones here'),
    problems: z.int().describe('Members that cannot be zones here'),
    removed: z.int().describe('Zones that left it and are kept for a while, unserved'),
    followed_time: time.nullable(),
    created_time: time,
  })
  .meta({ id: 'ConsumedCatalog' });

export type Consumed = z.output<typeof consumed>;

export const consumedMember = z
  .object({
    name: z.string(),
    member_id: z.string().describe('Its label in the catalog'),
    zone_id: z.string().nullable().describe('Null: there is no zone, for the reason in `problem`'),
    group: z.string().nullable(),
    moves_to: z.string().nullable().describe('Name of the catalog to which it goes over'),
    problem: z.string().nullable(),
  })
  .meta({ id: 'ConsumedCatalogMember' });

export type ConsumedMember = z.output<typeof consumedMember>;

export const removedParams = accountParams.extend({ zone_id: identifier('zone') });

export const removedZone = z
  .object({
    id: z.string(),
    name: z.string(),
    catalog: z.string().describe('Name of the catalog that it left'),
    member_id: z.string().describe('The label under which it stood in the catalog'),
    removed_time: time,
    kept_until: time.describe('When it is deleted'),
  })
  .meta({ id: 'RemovedZone' });

export type RemovedZone = z.output<typeof removedZone>;
