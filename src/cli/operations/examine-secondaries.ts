/** What `doctor` says of the servers to which zones are transferred. */
import { allConsumed } from '../../control/catalog-consumer/consumer.js';
import { peerNotices } from '../../control/secondary/status.js';
import type { Store } from '../../store/driver.js';
import { countZonesOfPeers } from '../../store/secondary/outgoing.js';
import type { Finding } from './finding.js';

const what = 'secondaries';
/** Peers that are looked at. */
const MOST_PEERS = 1000;
/** A secondary may be behind for that long, microseconds. */
const GRACE_US = 60_000_000;

/** Nothing where no zone is transferred. */
export function examineSecondaries(store: Store, nowUs: number): Finding[] {
  const peers = countZonesOfPeers(store, MOST_PEERS).length;
  if (peers === 0) return [];
  const notices = peerNotices(store, nowUs, GRACE_US);
  if (notices.length === 0) {
    const text = peers === 1 ? 'it serves what this server serves' : `all ${peers} serve what this server serves`;
    return [{ what, verdict: 'ok', text }];
  }
  return notices.map(({ peer, error, isAhead, zones, count }): Finding => {
    const more = count > zones.length ? ` and ${count - zones.length} more` : '';
    const names = `${zones.join(', ')}${more}`;
    if (isAhead)
      return {
        what,
        verdict: 'warn',
        text: `${peer} serves a newer version of ${names} than this server`,
        remedy: AHEAD,
      };
    return error === undefined
      ? { what, verdict: 'warn', text: `${peer} serves an older version of ${names}`, remedy: BEHIND }
      : { what, verdict: 'warn', text: `${peer}, asked about ${names}: ${error}`, remedy: UNREACHABLE };
  });
}

const BEHIND =
  'Its log says why it does not transfer them: often it refuses the NOTIFY, has another key, or cannot reach this server.';
const AHEAD =
  'Data was restored or copied back, and it ignores changes until its serial is passed: `zoneplane secondary notify ZONE` gives the zone a newer one.';
const UNREACHABLE =
  'Look whether it runs and is reached by UDP, and compare its configuration with `zoneplane secondary print`.';

/** What `doctor` says of catalogs of other servers; nothing where none is followed. */
export function examineConsumedCatalogs(store: Store): Finding[] {
  return allConsumed(store).map(({ name, state, fault, held, zones, problems }): Finding => {
    const of = { what: 'catalogs' } as const;
    if (fault !== null) {
      return {
        ...of,
        verdict: 'fail',
        text: `${name} is broken, its last good version stays: ${fault}`,
        remedy: BROKEN,
      };
    }
    if (state === 'held') {
      return { ...of, verdict: 'warn', text: `${name} has ${held} of ${zones} zones no more; they stay`, remedy: HELD };
    }
    if (problems > 0) {
      const text = `${problems} members of ${name} cannot be zones here`;
      return { ...of, verdict: 'warn', text, remedy: 'See why: zoneplane secondary catalog followed' };
    }
    if (state === 'waiting') return { ...of, verdict: 'warn', text: `${name} was never transferred`, remedy: WAITING };
    return { ...of, verdict: 'ok', text: `${name} has ${zones} zones, all are followed` };
  });
}

const BROKEN = 'Mend it at its primary; the next version that is right is followed at once.';
const HELD = 'If they are meant to go: zoneplane secondary catalog confirm NAME';
const WAITING = 'See why: zoneplane secondary status';
