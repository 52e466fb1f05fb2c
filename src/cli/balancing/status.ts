/** `zoneplane lb status`: the health of the pools of a load balancer. */
import { poolOf } from '../../balancing/pool.js';
import { fromHex } from '../../base/bytes.js';
import type { Context } from '../../control/kernel/context.js';
import { healthOfPool } from '../../serving/pool-health.js';
import { findLoadBalancerById } from '../../store/balancing/load-balancers.js';
import { originStatesOfPool } from '../../store/balancing/origin-states.js';
import { type PoolRow, poolsOfBalancer } from '../../store/balancing/pools.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { balancersOf, requireBalancerNamed } from './find.js';

interface OriginStatus {
  readonly pool: string;
  readonly pool_state: string;
  readonly origin: string;
  readonly address: string;
  readonly state: string;
  readonly since: string;
  readonly reason: string;
}

export function addStatusCommand(lb: Command, { terminal, environment }: CommandContext): void {
  const status = lb
    .command('status')
    .description('show the health of the pools and origins of a load balancer')
    .argument('<name>', 'its name')
    .printsJson('zoneplane lb status www.example.org');
  addSettingOptions(status, DATA_SETTINGS).action(async (name: string, { json }: { readonly json?: boolean }) => {
    const origins = await withControl(status, environment, async (context) => {
      const { item } = requireBalancerNamed(name, await balancersOf(context, name));
      const row = findLoadBalancerById(context.store, fromHex(item.id)!)!;
      return poolsOfBalancer(context.store, row.seq).flatMap((pool) => statesOf(context, pool));
    });
    if (json) terminal.json(origins);
    else {
      const rows = origins.map((one) => [
        one.pool,
        one.pool_state,
        one.origin,
        one.address,
        one.state,
        one.since,
        one.reason,
      ]);
      terminal.table(
        ['pool', 'pool is', 'origin', 'address', 'origin is', 'since', 'reason'],
        rows,
        'It has no pools.',
      );
    }
  });
}

function statesOf({ store }: Context, row: PoolRow): OriginStatus[] {
  const pool = poolOf(row);
  const health = healthOfPool(store, row, pool);
  const agreed = originStatesOfPool(store, row.seq).filter(({ node, region }) => node === '' && region === '');
  return pool.origins.map(({ name, address, enabled }) => {
    const known = agreed.find(({ origin }) => origin === name);
    const isProbed = pool.enabled && enabled && health !== undefined;
    const state =
      !enabled || !pool.enabled ? 'disabled' : !health ? 'not probed' : known ? word(known.healthy) : 'unknown';
    return {
      pool: row.name,
      pool_state: pool.enabled ? (health?.state ?? 'not probed') : 'disabled',
      origin: name,
      address,
      state,
      since: printInstant(isProbed && known ? known.changed_at : null),
      reason: isProbed && known?.healthy === 0 ? known.failure_reason : '-',
    };
  });
}

function word(healthy: number): string {
  return healthy === 1 ? 'healthy' : 'unhealthy';
}
