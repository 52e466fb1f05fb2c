/** Zone settings that only the edge uses; a setting without a row has its default (serving/zone-settings.ts). */
import { perStore, type Store } from '../driver.js';

export interface ZoneSettingRow {
  readonly name: string;
  /** JSON. */
  readonly value: string;
  /** Microseconds since 1970. */
  readonly modified_at: number;
}

const statements = perStore((store) => ({
  all: store.prepare<[zone: number], ZoneSettingRow>(
    'SELECT name, value, modified_at FROM zone_settings WHERE zone = ? ORDER BY name',
  ),
  one: store.prepare<[zone: number, name: string], ZoneSettingRow>(
    'SELECT name, value, modified_at FROM zone_settings WHERE zone = ? AND name = ?',
  ),
  put: store.prepare<[zone: number, name: string, value: string, modifiedAt: number]>(
    `INSERT INTO zone_settings (zone, name, value, modified_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (zone, name) DO UPDATE SET value = excluded.value, modified_at = excluded.modified_at`,
  ),
}));

export function zoneSettingRows(store: Store, zone: number): ZoneSettingRow[] {
  return statements(store).all.all(zone);
}

export function findZoneSetting(store: Store, zone: number, name: string): ZoneSettingRow | undefined {
  return statements(store).one.get(zone, name);
}

/** Call inside a write. */
export function putZoneSetting(store: Store, zone: number, { name, value, modified_at }: ZoneSettingRow): void {
  statements(store).put.run(zone, name, value, modified_at);
}
