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
    serial: z.int().nullable().describe('SOA serial of the zone after it'),
    complete: z
      .boolean()
      .describe('False when more changed than is listed one by one: secondaries then read the whole zone'),
    status: status.describe('`INSYNC` when every DNS process answers with it'),
    submitted_on: time,
    actor: z.string(),
    request_id: z.string(),
    processes: z.array(
      z.object({
        name: z.string(),
        applied: z.int().describe('Latest change it answers with'),
        status,
        held: z.boolean().describe('It could not publish the zone and goes on trying; its log says why'),
      }),
    ),
  })
  .meta({ id: 'ZoneChange' });

export type ZoneChange = z.output<typeof zoneChange>;
