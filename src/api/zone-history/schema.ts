/** Shapes of `/zones/{zone_id}/history` (ours). */
import { z } from 'zod';
import { pageQuery, time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

export const historyQuery = z.object(pageQuery);

export const editParams = zoneParams.extend({
  change: z.string().describe('Number of the change, or `version:N`, `serial:N`'),
});

export const zoneEdit = z
  .object({
    id: z.string().describe('For `as_of` and restore: the number of the change, or `version:N`'),
    change: z.int().nullable().describe('Null when nothing changed for resolvers'),
    version: z.int().describe('Version of the zone after the change'),
    kind: z.enum(['added', 'records', 'settings', 'replaced']),
    event: z
      .enum(['served', 'withdrawn', 'signing', 'signed', 'unsigned'])
      .nullable()
      .describe(
        'What happened to the zone as a whole, if anything: it is answered from then on (`served`), or no longer (`withdrawn`); DNSSEC is switched on, and its signatures are being made (`signing`) or served (`signed`); it is served without signatures again (`unsigned`)',
      ),
    created_on: time,
    actor: z.object({ email: z.string(), type: z.string() }),
    source: z.string(),
    request_id: z.string(),
    serial_from: z.int().nullable(),
    serial_to: z.int(),
    diff: z.object({
      removed: z.array(z.string()).describe('Records that resolvers no longer got, as zone file lines'),
      added: z.array(z.string()),
      complete: z.boolean().describe('False when the lists are incomplete'),
    }),
  })
  .meta({ id: 'ZoneEdit' });

export type ZoneEdit = z.output<typeof zoneEdit>;

export const zoneRestore = z
  .object({
    id: z.string().describe('Identifier of the zone'),
    serial: z.int(),
    version: z.int(),
    records_added: z.int(),
    records_removed: z.int(),
    records_changed: z.int(),
  })
  .meta({ id: 'ZoneRestore' });

export type ZoneRestore = z.output<typeof zoneRestore>;
