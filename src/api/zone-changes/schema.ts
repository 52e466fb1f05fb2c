/** Shape of `/zones/{zone_id}/changes/{change}` (ours). */
import { z } from 'zod';
import { time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

export const changeParams = zoneParams.extend({ change: z.string().describe('Number of the change') });

const status = z.enum(['PENDING', 'INSYNC']);

export const zoneChange = z
  .object({
    id: z.string().describe('Number of the change, as in the header `zoneplane-change`'),
    zone_id: z.string(),
    serial: z.int().nullable().describe('SOA serial of the zone after the change'),
    complete: z
      .boolean()
      .describe('False when the log does not list the whole difference: secondaries then read the whole zone'),
    status: status.describe('`INSYNC` when every DNS process serves it, and every secondary that answers'),
    submitted_on: time,
    actor: z.string(),
    request_id: z.string(),
    processes: z.array(
      z.object({
        name: z.string(),
        applied: z.int().describe('The latest change that it serves'),
        status,
        held: z.boolean().describe('Whether it failed to publish the zone and keeps trying; its log has the reason'),
      }),
    ),
    secondaries: z
      .array(
        z.object({
          name: z.string(),
          serial: z.int().nullable().describe('The serial that it served last; null: not seen yet'),
          status,
          error: z.string().nullable().describe('Why it did not answer the last time; it is not waited for then'),
        }),
      )
      .describe('The peers to which the zone is transferred'),
  })
  .meta({ id: 'ZoneChange' });

export type ZoneChange = z.output<typeof zoneChange>;
