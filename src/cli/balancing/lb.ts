/** `zoneplane lb`: load balancers, their pools and the health of these. */
import { Option } from 'commander';
import { MONITOR_DEFAULTS, MONITOR_TYPES, type MonitorType } from '../../balancing/monitor.js';
import { UserError } from '../../base/errors.js';
import type { BalancingItem } from '../../control/balancing/item.js';
import { deleteLoadBalancer, listLoadBalancers } from '../../control/balancing/load-balancers.js';
import { createTogether, type Together } from '../../control/balancing/together.js';
import type { Context } from '../../control/kernel/context.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { listZones } from '../../control/zones/zones.js';
import { wholeNumber } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { collectPages, DATA_SETTINGS, withControl, zoneOfName } from '../control.js';
import { addSettingOptions, loadCommandSettings, withRunningSettings } from '../settings.js';
import { addDrainCommand } from './drain.js';
import { addExplainCommand } from './explain.js';
import { asTheServer, balancersOf, type FoundBalancer, requireBalancerNamed } from './find.js';
import { addStatusCommand } from './status.js';

interface CreateOptions {
  readonly origins: readonly string[];
  readonly monitor?: MonitorType;
  readonly path?: string;
  readonly port?: number;
  readonly interval?: number;
  readonly proxied?: boolean;
  readonly ttl?: number;
  readonly json?: boolean;
}

export function addLbCommands(program: Command, context: CommandContext): void {
  const lb = program.command('lb');
  addCreate(lb, context);
  addList(lb, context);
  addStatusCommand(lb, context);
  addExplainCommand(lb, context);
  addDrainCommand(lb, context);
  addDelete(lb, context);
}

function addCreate(lb: Command, { terminal, environment }: CommandContext): void {
  const create = lb
    .command('create')
    .description('make a load balancer with a pool of its own, and a monitor that probes it')
    .argument('<name>', 'the name that is answered, such as www.example.org')
    .requiredOption('--origins <addresses>', 'addresses or host names of the origins, with commas', commaList)
    .addOption(
      new Option('--monitor <type>', 'how the origins are probed (default: not at all)').choices([...MONITOR_TYPES]),
    )
    .option('--path <path>', 'what http and https ask for (default: /)')
    .option('--port <port>', 'port that is probed (default: that of the type)', wholeNumber(1, 65_535, 'a port'))
    .option('--interval <seconds>', 'time between two probes (default: 60)', wholeNumber(1, 3600, 'seconds'))
    .option('--proxied', 'answer with the addresses of the edge, which chooses an origin for each request')
    .option('--ttl <seconds>', 'TTL of answers (default: 30)', wholeNumber(1, 86_400, 'seconds'))
    .printsJson(
      'zoneplane lb create www.example.org --origins 192.0.2.1,192.0.2.2 --monitor https',
      'zoneplane lb create mail.example.org --origins 192.0.2.1,2001:db8::1 --monitor smtp --port 25',
    );
  addSettingOptions(create, DATA_SETTINGS).action(async (name: string, options: CreateOptions) => {
    // The settings of the running server decide what may be probed, and how often.
    const { settings } = withRunningSettings(loadCommandSettings(create, environment));
    const made = await withControl(create, environment, (context) =>
      createNamed(asTheServer(context, settings), name, options),
    );
    if (options.json)
      return terminal.json({
        load_balancer: shown(made.balancer),
        pool: shown(made.pool),
        monitor: made.monitor && shown(made.monitor),
      });
    const probes = made.monitor ? `probed by ${options.monitor}` : 'probed by nothing';
    terminal.print(
      `${made.balancer.members.name} is answered from the pool ${made.pool.members.name}, which is ${probes}`,
    );
    for (const notice of made.pool.notices) terminal.complain(notice);
    terminal.print(`See its health with \`zoneplane lb status ${made.balancer.members.name}\`.`);
  });
}

async function createNamed(context: Context, name: string, options: CreateOptions): Promise<Together> {
  const { origins, monitor, path, port, interval, proxied, ttl } = options;
  const probe = {
    ...{ ...(path !== undefined && { path }), ...(port && { port }) },
    ...(interval && { interval, ...fitting(interval) }),
  };
  if (!monitor && Object.keys(probe).length > 0) {
    throw new UserError('--path, --port and --interval are about a monitor', 'Say which with --monitor.', 2);
  }
  const zone = await zoneOfName(context, name);
  return createTogether(context, zone.id, {
    ...{ name, origins, monitor, ofMonitor: probe },
    ofBalancer: { ...(proxied && { proxied }), ...(ttl && { ttl }) },
  });
}

/** The default timeout and retries, reduced so that they fit into an interval. */
function fitting(interval: number): { readonly timeout: number; readonly retries: number } {
  const timeout = Math.min(MONITOR_DEFAULTS.timeout, interval);
  return { timeout, retries: Math.min(MONITOR_DEFAULTS.retries, Math.floor(interval / timeout) - 1) };
}

function commaList(text: string): string[] {
  return text.split(',').flatMap((part) => part.trim() || []);
}

function shown({ id, members }: BalancingItem) {
  return { id, ...members };
}

function addList(lb: Command, { terminal, environment }: CommandContext): void {
  const list = lb.command('list').description('list load balancers of all zones').printsJson('zoneplane lb list');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json }: { readonly json?: boolean }) => {
    const found = await withControl(list, environment, allBalancers);
    if (json) terminal.json(found.map(({ zone, item }) => ({ zone: zone.asciiName, ...shown(item) })));
    else {
      const rows = found.map(({ zone, item: { members } }) => [
        String(members.name),
        zone.asciiName,
        String(members.steering_policy || 'default'),
        String((members.default_pools as readonly string[]).length),
        members.proxied ? 'edge' : 'DNS',
        members.enabled ? 'yes' : 'no',
      ]);
      const none = 'There are no load balancers. Make one with `zoneplane lb create NAME --origins ADDRESSES`.';
      terminal.table(['name', 'zone', 'steering', 'pools', 'answered by', 'enabled'], rows, none);
    }
  });
}

async function allBalancers(context: Context): Promise<FoundBalancer[]> {
  const zones: ZoneItem[] = await collectPages((page) => listZones(context, { page, perPage: 1000 }));
  const found = await Promise.all(
    zones.map(async (zone) => (await listLoadBalancers(context, zone.id)).map((item) => ({ zone, item }))),
  );
  return found.flat();
}

function addDelete(lb: Command, { terminal, environment }: CommandContext): void {
  const remove = lb
    .command('delete')
    .description('delete a load balancer; its pools and monitors stay')
    .argument('<name>', 'its name')
    .printsJson('zoneplane lb delete www.example.org');
  addSettingOptions(remove, DATA_SETTINGS).action(async (name: string, { json }: { readonly json?: boolean }) => {
    const id = await withControl(remove, environment, async (context) => {
      const { zone, item } = requireBalancerNamed(name, await balancersOf(context, name));
      await deleteLoadBalancer(context, zone.id, item.id);
      return item.id;
    });
    if (json) terminal.json({ id, name });
    else terminal.print(`deleted the load balancer ${name}`);
  });
}
