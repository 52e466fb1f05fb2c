/** `zoneplane secondary status`: which peer serves which version of which zone, and how far our own secondary zones are. */
import { incomingStatuses, type NamedStatus } from '../../control/secondary/incoming.js';
import { fleetStatus, type ZoneAtPeer } from '../../control/secondary/status.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface StatusOptions {
  readonly account?: string;
  readonly json?: boolean;
}

export function addStatusCommand(secondary: Command, { terminal, environment }: CommandContext): void {
  const status = secondary
    .command('status')
    .description(
      'say what each peer serves, and how far secondary zones are; exit 1 unless all that are watched are in sync',
    )
    .option('--account <id>', 'account of the zones (default: the oldest)')
    .printsJson('zoneplane secondary status', 'zoneplane secondary status --json');
  addSettingOptions(status, DATA_SETTINGS).action(async (options: StatusOptions) => {
    const { rows, incoming } = await withControl(status, environment, async (context) => {
      const account = accountOf(context, options);
      return { rows: await fleetStatus(context, account), incoming: await incomingStatuses(context, account) };
    });
    const isInSync = rows.every(({ state }) => state === 'in sync' || state === 'not watched');
    const isWell = isInSync && incoming.every(({ state }) => state === 'current');
    terminal.exitCode = isWell ? 0 : 1;
    if (options.json) terminal.json([...rows.map(viewRow), ...incoming.map(viewIncoming)]);
    else {
      if (incoming.length > 0) printIncoming(terminal, incoming);
      if (incoming.length > 0 && rows.length === 0) return;
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

function printIncoming(terminal: CommandContext['terminal'], incoming: readonly NamedStatus[]): void {
  terminal.table(
    ['secondary zone', 'state', 'serial', 'checked', 'expires', 'primaries'],
    incoming.map(({ zoneName, state, error, notice, serial, checkedAt, expiresAt, primaries }) => [
      zoneName,
      [state, error ?? notice].filter(Boolean).join(': '),
      serial === null ? '-' : String(serial),
      printInstant(checkedAt),
      printInstant(expiresAt),
      primaries.map(({ name }) => name).join(','),
    ]),
    '',
  );
}

function viewIncoming({
  zoneName,
  state,
  serial,
  checkedAt,
  expiresAt,
  error,
  notice,
  primaries,
}: NamedStatus): object {
  const print = (atUs: number | null): string | null => (atUs === null ? null : printInstant(atUs));
  return {
    zone: zoneName,
    state,
    serial,
    checked_on: print(checkedAt),
    expires_on: print(expiresAt),
    error,
    notice,
    primaries: primaries.map(({ name, ip, port, serial: theirs, error: failure }) => {
      return { name, ip, port, serial: theirs, error: failure };
    }),
  };
}

function viewRow({ peer, zone, state, serial, current, seenAt, error }: ZoneAtPeer): object {
  const seen = seenAt === null ? null : printInstant(seenAt);
  return { peer, zone, state, serial, current_serial: current, seen_on: seen, error };
}
