/** Use cases of the settings of a zone that have a name and a value: which HTTP versions its edge speaks (v4: §14). */
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../access/access.js';
import type { Context } from '../write/context.js';
import { zoneFailure } from './errors.js';
import { changeZone } from './write.js';

const NAMES = ['http2', 'http3'] as const;
export type ZoneSettingName = (typeof NAMES)[number];

export interface ZoneSettingItem {
  readonly name: ZoneSettingName;
  readonly on: boolean;
  /** Microseconds since 1970; null until changed. */
  readonly modifiedAt: number | null;
}

export async function listZoneSettings(ctx: Context, zoneId: string): Promise<ZoneSettingItem[]> {
  const zone = requireZone(ctx, zoneId);
  return NAMES.map((name) => settingItem(zone, name));
}

export async function getZoneSetting(ctx: Context, zoneId: string, name: string): Promise<ZoneSettingItem> {
  const zone = requireZone(ctx, zoneId);
  return settingItem(zone, requireName(name));
}

/** PATCH with an unchecked value; the value it has already leaves everything as it is. */
export async function editZoneSetting(
  ctx: Context,
  zoneId: string,
  name: string,
  value: unknown,
): Promise<ZoneSettingItem> {
  requireZone(ctx, zoneId);
  const known = requireName(name);
  if (value !== 'on' && value !== 'off') throw zoneFailure('badSetting', { name: known }, { pointer: '/value' });
  const flag = value === 'on' ? 1 : 0;
  const zone = await changeZone(ctx, zoneId, 'zone_settings.edit', (current, draft) =>
    current[known] === flag ? {} : { [known]: flag, [`${known}_modified_at`]: draft.now },
  );
  return settingItem(zone, known);
}

function requireName(text: string): ZoneSettingName {
  const name = NAMES.find((candidate) => candidate === text);
  if (name === undefined) throw zoneFailure('settingUnknown', { name: text.slice(0, 64) });
  return name;
}

function settingItem(zone: ZoneRow, name: ZoneSettingName): ZoneSettingItem {
  return { name, on: zone[name] === 1, modifiedAt: zone[`${name}_modified_at`] };
}
