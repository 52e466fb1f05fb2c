/** Zone settings as v4 clients read them (v4: §14). */
import type { ZoneSettingItem } from '../../control/zones/settings.js';
import { printOptionalTime } from '../times.js';
import type { ZoneSetting } from './schema.js';

export function zoneSettingView(item: ZoneSettingItem): ZoneSetting {
  return {
    id: item.name,
    value: item.on ? 'on' : 'off',
    editable: true,
    modified_on: printOptionalTime(item.modifiedAt),
  };
}
