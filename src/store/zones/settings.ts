/** Zone settings that only the edge uses; a setting without a row has its default (serving/zone-settings.ts). */

import { allRows, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface ZoneSettingRow {
  readonly name: string;
  /** JSON. */
  readonly value: string;
  /** Microseconds since 1970. */
  readonly modified_at: number;
}

const statements = perStore((store) => ({
  put: store.prepare<[zone: number, name: string, value: string, modifiedAt: number]>(
    `INSERT INTO zone_settings (zone, name, value, modified_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (zone, name) DO UPDATE SET value = excluded.value, modified_at = excluded.modified_at`,
  ),
}));

export const zoneSettingRows = allRows<[zone: number], ZoneSettingRow>(
  'SELECT name, value, modified_at FROM zone_settings WHERE zone = ? ORDER BY name',
);

export const findZoneSetting = oneRow<[zone: number, name: string], ZoneSettingRow>(
  'SELECT name, value, modified_at FROM zone_settings WHERE zone = ? AND name = ?',
);

/** Call inside a write. */
export function putZoneSetting(store: Store, zone: number, { name, value, modified_at }: ZoneSettingRow): void {
  statements(store).put.run(zone, name, value, modified_at);
}
