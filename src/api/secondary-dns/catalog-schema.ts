/** Shapes of catalog zones (RFC 9432); an extension of v4. */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { identifier, time } from '../schema.js';

export const catalogParams = accountParams.extend({ catalog_id: identifier('catalog') });
export const memberParams = catalogParams.extend({ zone_id: identifier('zone') });

const members = z.enum(['all', 'linked'], { error: 'all or linked' });

export const catalog = z
  .object({
    id: z.string(),
    zone_id: z.string().describe('Identifier of the catalog zone, whose transfers are those of any zone'),
    name: z.string(),
    peers: z.array(z.string()),
    members: members.describe('All zones of the account, or those that are transferred to a peer of the catalog'),
    soa_serial: z.int(),
    created_time: time,
    modified_time: time,
  })
  .meta({ id: 'Catalog' });

export type Catalog = z.output<typeof catalog>;

export const catalogBody = z
  .strictObject({
    name: z.string({ error: 'a text' }).nullish().describe('Default `catalog.<account identifier>.invalid`'),
    peers: z.array(z.string({ error: 'a text' }), { error: 'a list' }).describe('Identifiers of peers'),
    members: members.nullish().describe('Default `all`'),
  })
  .meta({ id: 'CatalogBody', examples: [{ peers: ['023e105f4ecef8ad9ca31a8372d0c353'] }] });

export const member = z
  .object({
    zone_id: z.string(),
    name: z.string(),
    member_id: z.string().describe('The label of the zone in the catalog'),
    group: z.string().nullable(),
    move_to: z.string().nullable().describe('Identifier of the catalog to which the zone goes over'),
  })
  .meta({ id: 'CatalogMember' });

export type Member = z.output<typeof member>;

export const memberBody = z
  .strictObject({
    group: z.string({ error: 'a text' }).nullish().describe('Empty: none'),
    reset: z
      .boolean({ error: 'true or false' })
      .nullish()
      .describe('Gives the zone another member identifier, so that consumers begin anew with it'),
    move_to: z.string({ error: 'a text' }).nullish().describe('Identifier of another catalog'),
  })
  .meta({ id: 'CatalogMemberBody', examples: [{ group: 'signed' }] });
