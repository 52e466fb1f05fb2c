/** Shapes of `/zones/{zone_id}/hold` (v4: §4). */
import { z } from 'zod';
import { time } from '../schema.js';

export const zoneHold = z
  .object({
    hold: z.boolean(),
    hold_after: time.nullable().describe('When the hold is active; null = off'),
    include_subdomains: z.boolean(),
  })
  .meta({ id: 'ZoneHold' });

export type ZoneHold = z.output<typeof zoneHold>;

export const zoneHoldQuery = z.object({ include_subdomains: z.enum(['true', 'false']).optional() });

/** Some clients send texts (v4: §4). */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' })
  .nullish()
  .transform((value) => (typeof value === 'string' ? value === 'true' : (value ?? undefined)));

/** The body of POST, usually empty; some clients send the flag in it (v4: §4). */
export const zoneHoldCreation = z.object({ include_subdomains: flag }).optional().meta({ id: 'ZoneHoldCreation' });

export const zoneHoldRelease = z.object({ hold_after: time.optional() });

export const zoneHoldEdit = z
  .object({
    hold_after: z
      .string({ error: 'an RFC 3339 time' })
      .nullish()
      .describe('When the hold becomes active; empty = now, null = permanently off'),
    include_subdomains: flag,
  })
  .meta({ id: 'ZoneHoldEdit', examples: [{ hold_after: '2027-01-01T00:00:00Z', include_subdomains: true }] });
