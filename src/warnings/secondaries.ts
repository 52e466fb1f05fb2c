/** Of the servers to which zones are transferred, and of catalogs of other servers. */
import { allConsumed } from '../control/catalog-consumer/consumer.js';
import { shownFailure } from '../control/guard/peer-failures.js';
import { peerNotices } from '../control/secondary/status.js';
import { countZonesOfPeers } from '../store/secondary/outgoing.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const what = 'secondaries';
/** Peers that are looked at. */
const MOST_PEERS = 1000;
/** A secondary may be behind for that long, microseconds. */
const GRACE_US = 60_000_000;

/** Nothing where no zone is transferred. Who sees some zones is told only of these. */
export function examineSecondaries({ store, actor, zones, nowUs }: Examined): Finding[] {
  const peers = countZonesOfPeers(store, MOST_PEERS).length;
  if (peers === 0) return [];
  const notices = peerNotices(store, nowUs, GRACE_US, (zone) => zones.idOf(zone) !== undefined);
  if (notices.length === 0) {
    const text = peers === 1 ? 'it serves what this server serves' : `all ${peers} serve what this server serves`;
    return zones.all ? [{ what, verdict: 'ok', text }] : [];
  }
  return notices.map(({ peer, error, isAhead, zones, zone, count }): Finding => {
    const more = count > zones.length ? ` and ${count - zones.length} more` : '';
    const names = `${zones.join(', ')}${more}`;
    const about = { what, verdict: 'warn', ...(zone !== undefined && { zoneId: zone }) } as const;
    if (isAhead) {
      const text = `${peer} serves a newer version of ${names} than this server`;
      return { ...about, kind: 'secondary-ahead', text, remedy: AHEAD };
    }
    if (error === undefined) {
      const text = `${peer} serves an older version of ${names}`;
      return { ...about, kind: 'secondary-behind', text, remedy: BEHIND };
    }
    const text = `${peer}, asked about ${names}: ${shownFailure(actor, error)}`;
    return { ...about, kind: 'secondary-unreachable', text, remedy: UNREACHABLE };
  });
}

const BEHIND =
  'Its log says why it does not transfer them: often it refuses the NOTIFY, has another key, or cannot reach this server.';
const AHEAD =
  'Data was restored or copied back, and it ignores changes until its serial is passed: `zoneplane secondary notify ZONE` gives the zone a newer one.';
const UNREACHABLE =
  'Look whether it runs and is reached by UDP, and compare its configuration with `zoneplane secondary print`.';

/** Nothing where none is followed. */
export function examineConsumedCatalogs(examined: Examined): Finding[] {
  const shown = allConsumed(examined.store).filter(({ account }) => examined.seesAccount(account));
  return shown.map(({ zoneId, name, state, fault, held, zones, problems }): Finding => {
    const of = { what: 'catalogs', zoneId } as const;
    if (fault !== null) {
      return {
        ...of,
        verdict: 'fail',
        kind: 'catalog-broken',
        text: `${name} is broken, its last good version stays: ${fault}`,
        remedy: BROKEN,
      };
    }
    if (state === 'held') {
      const text = `${name} has ${held} of ${zones} zones no more; they stay`;
      return { ...of, verdict: 'warn', kind: 'catalog-held', text, remedy: HELD };
    }
    if (problems > 0) {
      const text = `${problems} members of ${name} cannot be zones here`;
      const remedy = 'See why: zoneplane secondary catalog followed';
      return { ...of, verdict: 'warn', kind: 'catalog-members', text, remedy };
    }
    if (state === 'waiting') {
      const text = `${name} was never transferred`;
      return { ...of, verdict: 'warn', kind: 'catalog-never-transferred', text, remedy: WAITING };
    }
    return { ...of, verdict: 'ok', text: `${name} has ${zones} zones, all are followed` };
  });
}

const BROKEN = 'Mend it at its primary; the next version that is right is followed at once.';
const HELD = 'If they are meant to go: zoneplane secondary catalog confirm NAME';
const WAITING = 'See why: zoneplane secondary status';
