/** Finds destinations that do not get their alerts. */
import { SWITCHED_OFF } from '../alerts/webhooks.js';
import { allDestinations, type DestinationRow } from '../store/alerts/destinations.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const WHAT = 'alerts';
/** A destination that has failed for less time may just be restarting; microseconds. */
const PATIENCE_US = 600_000_000;

export function examineAlerts({ store, seesAccount, nowUs }: Examined): Finding[] {
  const seen = allDestinations(store).filter(({ account }) => seesAccount(account));
  const findings = seen.flatMap((row) => findingOf(row, nowUs) ?? []);
  if (findings.length > 0 || seen.length === 0) return findings;
  return [{ what: WHAT, verdict: 'ok', text: `all ${seen.length} destinations accept what they are sent` }];
}

function findingOf(row: DestinationRow, nowUs: number): Finding | undefined {
  const { name, disabled_at: off, disabled_why: why, failing_since: since, failures } = row;
  if (off !== null) {
    if (why === SWITCHED_OFF) return undefined;
    return {
      ...{ what: WHAT, verdict: 'fail', kind: 'alerts-off', text: `${name} gets no more alerts: ${why}` },
      remedy: 'Test it, and switch it on again, under Alerts in the dashboard.',
    };
  }
  if (since === null || nowUs - since < PATIENCE_US) return undefined;
  return {
    ...{
      what: WHAT,
      verdict: 'warn',
      kind: 'alerts-failing',
      text: `${failures} attempts to send to ${name} have failed`,
    },
    remedy: 'See what it answers under Alerts in the dashboard.',
  };
}
