/** What `doctor` says of the served zones: what is no error but often not meant. */
import type { Settings } from '../../config/schema.js';
import { type Notice, noticesOfInstallation, testNameServers } from '../../control/zones/notices.js';
import { servingSettings } from '../../roles/control-base.js';
import type { Store } from '../../store/driver.js';
import { countServedRecords, servedZones } from '../../store/zones/zones.js';
import type { Finding } from './finding.js';

export function examineZones(store: Store, settings: Settings): Finding[] {
  const what = 'zones';
  const notices = noticesOfInstallation(store, servingSettings(settings));
  // One notice about these name servers is enough.
  const future = notices.some(({ code }) => code === 'test-name-servers') ? [] : examineNameServers(settings);
  if (notices.length > 0) return [...future, ...notices.map((notice) => findingOf(what, notice))];
  const text = `${servedZones(store).length} with ${countServedRecords(store)} records, nothing unusual`;
  return [...future, { what, verdict: 'ok', text }];
}

/** What becomes of zones that are created from now on. */
export function examineNameServers({ nameservers }: Settings): Finding[] {
  return testNameServers(nameservers, 'the name servers of new zones').map((notice) => findingOf('settings', notice));
}

function findingOf(what: string, { text, remedy }: Notice): Finding {
  return { what, verdict: 'warn', text, remedy };
}
