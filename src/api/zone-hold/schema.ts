/** Shapes of `/zones/{zone_id}/hold` (v4: §4). */
import { z } from 'zod';
import { time } from '../schema.js';

export const zoneHold = z
  .object({
    hold: z.boolean(),
    hold_after: time.nullable().describe('When the hold is on; null = off'),
    include_subdomains: z.boolean(),
  })
  .meta({ id: 'ZoneHold' });

export type ZoneHold = z.output<typeof zoneHold>;

export const zoneHoldQuery = z.object({ include_subdomains: z.enum(['true', 'false']).optional() });

/** The body of POST, which is usually empty: some clients say it there (v4: §4). */
export const zoneHoldCreation = z
  .object({ include_subdomains: z.boolean().optional() })
  .optional()
  .meta({ id: 'ZoneHoldCreation' });

export const zoneHoldRelease = z.object({ hold_after: time.optional() });

export const zoneHoldEdit = z
  .object({ hold_after: z.string().nullable().optional(), include_subdomains: z.boolean().optional() })
  .meta({ id: 'ZoneHoldEdit' });
