/** `zoneplane lb drain`: takes an origin out of its pool, and brings it back. */
import type { StoredOrigin } from '../../balancing/pool.js';
import { UserError } from '../../base/errors.js';
import type { BalancingItem } from '../../control/balancing/item.js';
import { editPool, listPools } from '../../control/balancing/pools.js';
import type { Context } from '../../control/kernel/context.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, DATA_SETTINGS, withControl } from '../control.js';
import { addSettingOptions, loadCommandSettings, withRunningSettings } from '../settings.js';
import { asTheServer } from './find.js';

interface DrainOptions {
  readonly account?: string;
  readonly undo?: boolean;
  readonly json?: boolean;
}

export function addDrainCommand(lb: Command, { terminal, environment }: CommandContext): void {
  const drain = lb
    .command('drain')
    .description('disable an origin: it gets no new traffic; sessions at the edge last for the drain duration')
    .argument('<pool>', 'name of the pool')
    .argument('<origin>', 'name or address of the origin')
    .option('--undo', 'enable it again')
    .option('--account <id>', 'account of the pool (default: the oldest)')
    .printsJson('zoneplane lb drain web origin-1', 'zoneplane lb drain web origin-1 --undo');
  addSettingOptions(drain, DATA_SETTINGS).action(async (pool: string, origin: string, options: DrainOptions) => {
    const { settings } = withRunningSettings(loadCommandSettings(drain, environment));
    const name = await withControl(drain, environment, (context) =>
      setEnabled(asTheServer(context, settings), pool, origin, options),
    );
    if (options.json) terminal.json({ pool, origin: name, enabled: options.undo === true });
    else terminal.print(options.undo ? `${name} of ${pool} is enabled` : `${name} of ${pool} is disabled`);
  });
}

/** Returns the name of the origin. */
async function setEnabled(
  context: Context,
  poolName: string,
  wanted: string,
  { account, undo = false }: DrainOptions,
): Promise<string> {
  const accountId = accountOf(context, { account });
  const pools = await listPools(context, accountId);
  const pool = pools.find(({ members }) => String(members.name).toLowerCase() === poolName.toLowerCase());
  if (!pool) throw new UserError(`there is no pool ${poolName}`, `Pools: ${namesOf(pools)}`);
  const origins = pool.members.origins as readonly StoredOrigin[];
  const found = origins.find(({ name, address }) => name === wanted || address === wanted);
  if (!found) {
    throw new UserError(
      `the pool ${poolName} has no origin ${wanted}`,
      `It has ${origins.map(({ name }) => name).join(', ')}.`,
    );
  }
  const after = origins.map((one) => (one === found ? { ...one, enabled: undo } : one));
  await editPool(context, accountId, pool.id, { origins: after });
  return found.name;
}

function namesOf(pools: readonly BalancingItem[]): string {
  return pools.map(({ members }) => String(members.name)).join(', ') || 'none';
}
