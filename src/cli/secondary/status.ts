/** `zoneplane secondary status`: which peer serves which version of which zone. */
import type { Command } from 'commander';
import { fleetStatus, type ZoneAtPeer } from '../../control/secondary/status.js';
import { type CommandContext, example } from '../command.js';
import { DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { accountOf } from './tsig.js';

interface StatusOptions {
  readonly account?: string;
  readonly json?: boolean;
}

export function addStatusCommand(secondary: Command, { terminal, environment }: CommandContext): void {
  const status = secondary
    .command('status')
    .description('say what each peer serves of each zone; exit 1 when one is behind or unreachable')
    .option('--account <id>', 'account of the zones (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane secondary status', 'zoneplane secondary status --json'));
  addSettingOptions(status, DATA_SETTINGS).action(async (options: StatusOptions) => {
    const rows = await withControl(status, environment, (context) => fleetStatus(context, accountOf(context, options)));
    terminal.exitCode = rows.every(({ state }) => state === 'in sync') ? 0 : 1;
    if (options.json) terminal.json(rows.map(viewRow));
    else {
      terminal.table(
        ['peer', 'zone', 'state', 'serial', 'of', 'seen'],
        rows.map((row) => [
          row.peer,
          row.zone,
          row.error === null ? row.state : `${row.state}: ${row.error}`,
          row.serial === null ? '-' : String(row.serial),
          String(row.current),
          printInstant(row.seenAt),
        ]),
        'No zone is transferred to a peer.',
      );
    }
  });
}

function viewRow({ peer, zone, state, serial, current, seenAt, error }: ZoneAtPeer): object {
  const seen = seenAt === null ? null : printInstant(seenAt);
  return { peer, zone, state, serial, current_serial: current, seen_on: seen, error };
}
