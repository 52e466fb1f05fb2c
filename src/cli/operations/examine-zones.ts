/** What `doctor` says of the served zones: what is no error but often not meant. */
import { SystemClock } from '../../base/clock.js';
import type { Settings } from '../../config/schema.js';
import { namedStatuses } from '../../control/secondary/incoming.js';
import { type Notice, noticesOfAccounts, noticesOfInstallation, testNameServers } from '../../control/zones/notices.js';
import { servingSettings } from '../../roles/control-base.js';
import type { Store } from '../../store/driver.js';
import { countServedRecords, servedZones } from '../../store/zones/zones.js';
import type { Finding } from './finding.js';

/** Zones that are named. */
const MOST_NAMED = 5;

export function examineZones(store: Store, settings: Settings): Finding[] {
  const what = 'zones';
  const shared = noticesOfAccounts(store, settings.zoneActivation, new SystemClock().nowUs());
  const notices = noticesOfInstallation(store, servingSettings(settings, store));
  // One notice about these name servers is enough.
  const future = notices.some(({ code }) => code === 'test-name-servers') ? [] : examineNameServers(settings);
  const accounts = shared.map((notice) => findingOf('accounts', notice));
  const own = [...future, ...examineSecondaryZones(store), ...accounts];
  if (notices.length > 0) return [...own, ...notices.map((notice) => findingOf(what, notice))];
  const text = `${servedZones(store).length} with ${countServedRecords(store)} records, nothing unusual`;
  return [...own, { what, verdict: 'ok', text }];
}

/** Zones that do not come from their primaries as they should. */
function examineSecondaryZones(store: Store): Finding[] {
  const what = 'secondary';
  const all = namedStatuses(store);
  const ill = all.filter(({ state }) => state !== 'current');
  if (all.length > 0 && ill.length === 0) {
    return [{ what, verdict: 'ok', text: `${all.length} secondary zones are like those of their primaries` }];
  }
  const remedy = 'See all with `zoneplane secondary status`.';
  const findings = ill.slice(0, MOST_NAMED).map(({ zoneName, state, error }): Finding => {
    const why = error ?? 'nothing was tried yet';
    const verdict = state === 'expired' ? 'fail' : 'warn';
    const effect = { expired: 'is answered with SERVFAIL', waiting: 'was never transferred', failing: 'may be old' };
    return { what, verdict, text: `${zoneName} ${effect[state as keyof typeof effect]}: ${why}`, remedy };
  });
  const more = ill.length - findings.length;
  return more > 0 ? [...findings, { what, verdict: 'warn', text: `and ${more} more`, remedy }] : findings;
}

/** What becomes of zones that are created from now on. */
export function examineNameServers({ nameservers }: Settings): Finding[] {
  return testNameServers(nameservers, 'the name servers of new zones').map((notice) => findingOf('settings', notice));
}

function findingOf(what: string, { text, remedy }: Notice): Finding {
  return { what, verdict: 'warn', text, remedy };
}
