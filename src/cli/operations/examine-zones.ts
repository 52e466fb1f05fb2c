/** What `doctor` says of the served zones: what is no error but often not meant. */
import type { Settings } from '../../config/schema.js';
import { noticesOfInstallation } from '../../control/zones/notices.js';
import { servingSettings } from '../../roles/control-base.js';
import type { Store } from '../../store/driver.js';
import { countServedRecords, servedZones } from '../../store/zones/zones.js';
import type { Finding } from './finding.js';

export function examineZones(store: Store, settings: Settings): Finding[] {
  const what = 'zones';
  const notices = noticesOfInstallation(store, servingSettings(settings));
  if (notices.length > 0) return notices.map(({ text, remedy }) => ({ what, verdict: 'warn', text, remedy }));
  const text = `${servedZones(store).length} with ${countServedRecords(store)} records, nothing unusual`;
  return [{ what, verdict: 'ok', text }];
}
