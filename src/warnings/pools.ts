/** Pools of load balancers with origins that do not answer as their monitors expect. */
import { poolOf } from '../balancing/pool.js';
import { printInstant } from '../control/rules/instant.js';
import { healthOfPool } from '../serving/pool-health.js';
import { heldBalancers } from '../store/balancing/held-balancers.js';
import { countPingingMonitors } from '../store/balancing/monitors.js';
import { originStatesOfPool } from '../store/balancing/origin-states.js';
import { monitoredPools, type PoolRow } from '../store/balancing/pools.js';
import type { Store } from '../store/driver.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const AT_ONCE = 500;
const WHAT = 'pools';

export function examinePools({ store, seesAccount }: Examined): Finding[] {
  const findings: Finding[] = [];
  let seen = 0;
  for (let rows = monitoredPools(store, 0, AT_ONCE); rows.length > 0; ) {
    for (const row of rows) {
      if (!seesAccount(row.account)) continue;
      seen++;
      const finding = findingOf(store, row);
      if (finding) findings.push(finding);
    }
    rows = monitoredPools(store, rows.at(-1)!.seq, AT_ONCE);
  }
  if (findings.length > 0 || seen === 0) return findings;
  return [{ what: WHAT, verdict: 'ok', text: `all origins of ${seen} pools are healthy` }];
}

function findingOf(store: Examined['store'], row: PoolRow): Finding | undefined {
  const health = healthOfPool(store, row, poolOf(row));
  if (!health || health.state === 'healthy' || health.state === 'unknown') return undefined;
  const down = [...health.origins].flatMap(([name, state]) => (state === 'healthy' ? [] : [name]));
  const reason = originStatesOfPool(store, row.seq).find(({ origin, healthy }) => healthy === 0 && origin === down[0]);
  const why = reason ? ` (${down[0]}: ${reason.failure_reason})` : '';
  return {
    ...{ what: WHAT, verdict: health.state === 'critical' ? 'fail' : 'warn', kind: 'pool-unhealthy' },
    text: `${health.origins.size - down.length} of ${health.origins.size} origins of the pool ${row.name} are healthy${why}`,
    remedy: 'See them with `GET /accounts/{account_id}/load_balancers/pools/{pool_id}/health`.',
  };
}

const MOST_HELD = 1000;

/** Finds load balancers to which changes of their pools could not come. */
export function examineHeldBalancers({ store, seesAccount }: Examined): Finding[] {
  return heldBalancers(store, MOST_HELD)
    .filter(({ account }) => seesAccount(account))
    .map(({ name, zone, reason, failures, again_at: againAt }): Finding => {
      const times = failures === 1 ? 'once' : `${failures} times`;
      return {
        ...{ what: WHAT, verdict: 'fail', kind: 'balancer-held', zoneId: Buffer.from(zone).toString('hex') },
        text: `the load balancer ${name} answers as before its pools were changed, which has failed ${times}: ${reason}`,
        remedy: `Put right what the reason names; it is tried again at ${printInstant(againAt * 1000)}.`,
      };
    });
}

/** Finds monitors that ping although this machine may not. */
export function examineMonitors(store: Store, mayPing: boolean): Finding[] {
  const count = mayPing ? 0 : countPingingMonitors(store);
  if (count === 0) return [];
  return [
    {
      ...{ what: WHAT, verdict: 'warn', kind: 'monitors-unprobed' },
      text: `${count} monitor${count === 1 ? '' : 's'} cannot be used here: this machine may not send ICMP messages`,
      remedy: 'Put the group of the server into net.ipv4.ping_group_range, or give it CAP_NET_RAW.',
    },
  ];
}

/** The process that probes does not run: nothing that origins do is noticed. */
export function probingStopped(): Finding {
  return {
    ...{ what: WHAT, verdict: 'fail', kind: 'probing-stopped' },
    text: 'origins are not probed: the process for it does not start',
    remedy: 'The log says why; it is tried again.',
  };
}
