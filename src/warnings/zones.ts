/** Of served zones: what is not an error but often not meant, and zones that do not come from their primaries as they should. */
import { namedStatuses } from '../control/secondary/incoming.js';
import { type Notice, noticesOfAccounts, noticesOfInstallation, testNameServers } from '../control/zones/notices.js';
import { countServedRecords, servedZones } from '../store/zones/zones.js';
import type { Examined } from './asked.js';
import type { Finding, WarningKind } from './finding.js';

/** What follows from several accounts; for the operator. */
export function examineAccounts({ store, zones, settings, nowUs }: Examined): Finding[] {
  if (!zones.all) return [];
  return noticesOfAccounts(store, settings.activation, nowUs).map((notice) => findingOf('accounts', notice));
}

export function examineZones({ store, zones, settings }: Examined): Finding[] {
  const what = 'zones';
  const shown = zones.all ? undefined : (zone: number) => zones.idOf(zone) !== undefined;
  const notices = noticesOfInstallation(store, settings, shown);
  if (notices.length > 0 || !zones.all) return notices.map((notice) => findingOf(what, notice));
  const text = `${servedZones(store).length} with ${countServedRecords(store)} records, nothing unusual`;
  return [{ what, verdict: 'ok', text }];
}

type Ill = 'waiting' | 'expired' | 'failing';
const ILL: Readonly<Record<Ill, { readonly kind: WarningKind; readonly effect: string }>> = {
  waiting: { kind: 'zone-never-transferred', effect: 'was never transferred, and is answered with SERVFAIL' },
  expired: { kind: 'zone-expired', effect: 'is answered with SERVFAIL' },
  failing: { kind: 'zone-not-refreshed', effect: 'may be old' },
};

export function examineSecondaryZones({ store, actor, zones }: Examined): Finding[] {
  const what = 'secondary';
  const all = namedStatuses(store, actor).filter(({ zone }) => zones.idOf(zone) !== undefined);
  const ill = all.filter(({ state }) => state !== 'current');
  if (all.length > 0 && ill.length === 0) {
    return [{ what, verdict: 'ok', text: `${all.length} secondary zones are like those of their primaries` }];
  }
  return ill.map(({ zone, zoneName, state, error }): Finding => {
    const { kind, effect } = ILL[state as Ill];
    return {
      ...{ what, kind, verdict: state === 'expired' ? 'fail' : 'warn', zoneId: zones.idOf(zone)! },
      text: `${zoneName} ${effect}: ${error ?? 'nothing was tried yet'}`,
      remedy: 'See all with `zoneplane secondary status`.',
    };
  });
}

/** What becomes of zones that are created from now on. */
export function examineNameServers(nameServers: readonly string[]): Finding[] {
  return testNameServers(nameServers, 'the name servers of new zones').map((notice) => findingOf('settings', notice));
}

/** A zone of which a DNS process cannot publish the newest changes. */
export function heldZone(name: string, zoneId?: string): Finding {
  return {
    ...{ what: 'zones', verdict: 'fail', kind: 'zone-not-published', ...(zoneId !== undefined && { zoneId }) },
    text: `changes of ${name} cannot be published: queries see it as it was before`,
    remedy: 'The log of the DNS process says why. Undo the change, or remove the record it names.',
  };
}

function findingOf(what: string, { code, text, remedy, zoneId }: Notice): Finding {
  return { what, verdict: 'warn', kind: code, text, remedy, ...(zoneId !== undefined && { zoneId }) };
}
