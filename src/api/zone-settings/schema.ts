/** Shapes of `/zones/{zone_id}/settings` (v4: §14). */
import { z } from 'zod';
import { time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

const VALUES = ['on', 'off'] as const;

export const zoneSetting = z
  .object({
    id: z.enum(['http2', 'http3']),
    value: z.enum(VALUES),
    editable: z.literal(true),
    modified_on: time.nullable().describe('Null until it is changed'),
  })
  .meta({ id: 'ZoneSetting' });

export type ZoneSetting = z.output<typeof zoneSetting>;

export const zoneSettingParams = zoneParams.extend({ setting: z.string() });

export const zoneSettingEdit = z.object({ value: z.enum(VALUES) }).meta({ id: 'ZoneSettingEdit' });
