/** Shapes of `/zones/{zone_id}/settings` (v4: §14). */
import { z } from 'zod';
import { ZONE_SETTING_NAMES } from '../../control/zones/setting-values.js';
import { listOf } from '../body-schema.js';
import { time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

/** Most are texts, such as `on`; some are numbers or objects. */
const value = z.union([z.string(), z.number(), z.record(z.string(), z.unknown())]);

export const zoneSetting = z
  .object({
    id: z.string().meta({ examples: [...ZONE_SETTING_NAMES] }),
    value,
    editable: z.boolean().describe('False for what the edge does not do; the value is true of it'),
    modified_on: time.nullable().describe('Null until it is changed'),
    time_remaining: z.int().optional().describe('Only of development_mode: seconds until it ends by itself'),
  })
  .meta({ id: 'ZoneSetting' });

export type ZoneSetting = z.output<typeof zoneSetting>;

export const zoneSettingParams = zoneParams.extend({ setting: z.string() });

/**
 * The valid values depend on the setting in the path, and an unknown setting must be refused first, so the use case
 * checks both.
 */
export const zoneSettingEdit = z
  .object({
    value: z.unknown().optional().meta({ description: 'A text such as on; of some settings a number or an object' }),
  })
  .meta({ id: 'ZoneSettingEdit', examples: [{ value: 'on' }] });

const MOST_SETTINGS = 100;

/** As above, for several at once. */
export const zoneSettingsEdit = z
  .object({
    items: listOf(z.object({ id: z.string(), value: z.unknown().optional() }), 1, MOST_SETTINGS, 'settings'),
  })
  .meta({ id: 'ZoneSettingsEdit', examples: [{ items: [{ id: 'always_use_https', value: 'on' }] }] });
