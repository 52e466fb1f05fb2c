/** Zone settings as v4 clients read them (v4: §14). */
import type { ZoneSettingItem } from '../../control/zones/settings.js';
import { printOptionalTime } from '../times.js';
import type { ZoneSetting } from './schema.js';

export function zoneSettingView({ name, value, isEditable, modifiedAt, timeRemaining }: ZoneSettingItem): ZoneSetting {
  const remaining = timeRemaining === undefined ? {} : { time_remaining: timeRemaining };
  return { id: name, value, editable: isEditable, modified_on: printOptionalTime(modifiedAt), ...remaining };
}
