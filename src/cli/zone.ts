/** `zoneplane zone`: whole zones. */
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { UserError } from '../base/errors.js';
import { exportZone } from '../control/zones/export.js';
import type { ZoneItem } from '../control/zones/item.js';
import { createZone, deleteZone, listZones } from '../control/zones/zones.js';
import { type CommandContext, example } from './command.js';
import { collectPages, DATA_SETTINGS, printInstant, requireZoneNamed, withControl } from './control.js';
import { addSettingOptions } from './settings.js';
import { addZoneCheck } from './zone-check.js';
import { addZoneImport } from './zone-import.js';

export function addZoneCommands(program: Command, context: CommandContext): void {
  const zone = program.command('zone').description('import, check, export, list, create and delete zones');
  addZoneImport(zone, context);
  addZoneCheck(zone, context);
  addExport(zone, context);
  addList(zone, context);
  addCreate(zone, context);
  addDelete(zone, context);
}

function addExport(zone: Command, { terminal, environment }: CommandContext): void {
  const command = zone
    .command('export')
    .description('print a zone; importing the output again gives the same zone')
    .argument('<name>', 'name of the zone')
    .option('--format <format>', 'bind (RFC 1035 zone file) or json', 'bind')
    .addHelpText('after', example('zoneplane zone export example.com > example.com.zone'));
  addSettingOptions(command, DATA_SETTINGS).action(async (name: string, { format }: { format: string }) => {
    if (format !== 'bind' && format !== 'json') {
      throw new UserError(`'${format}' is no export format`, 'The formats are bind and json.', 2);
    }
    await withControl(command, environment, async (context) => {
      const { id } = await requireZoneNamed(context, name);
      for await (const piece of exportZone(context, id, format)) terminal.write(piece);
    });
  });
}

function addList(zone: Command, { terminal, environment }: CommandContext): void {
  const list = zone
    .command('list')
    .description('list all zones')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane zone list', 'zoneplane zone list --json'));
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const zones = await withControl(list, environment, (context) =>
      collectPages((page) => listZones(context, { page, perPage: 1000 })),
    );
    if (json) {
      terminal.json(zones.map(viewZone));
      return;
    }
    terminal.table(
      ['name', 'status', 'records', 'serial', 'name servers', 'modified'],
      zones.map((item) => [
        item.name,
        item.status,
        String(item.recordCount),
        String(item.soa.serial),
        item.nameServers.join(','),
        printInstant(item.modifiedAt),
      ]),
      'There are no zones. Make one with `zoneplane zone create NAME`, or import a file with `zoneplane zone import FILE`.',
    );
  });
}

function addCreate(zone: Command, { terminal, environment }: CommandContext): void {
  const create = zone
    .command('create')
    .description('make an empty zone, with the SOA and NS records of this service')
    .argument('<name>', 'name of the zone')
    .option('--account <id>', 'account it belongs to (default: the first)')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane zone create example.com'));
  addSettingOptions(create, DATA_SETTINGS).action(
    async (name: string, { account, json }: { account?: string; json?: boolean }) => {
      const input = { name, ...(account === undefined ? {} : { account: { id: account } }) };
      const made = await withControl(create, environment, (context) => createZone(context, input), 'initialise');
      if (json) {
        terminal.json(viewZone(made));
        return;
      }
      terminal.print(`created zone ${made.name} (${made.id}), ${made.status}`);
      terminal.print(`Its parent should delegate it to ${made.nameServers.join(' and ')}.`);
    },
  );
}

function addDelete(zone: Command, { terminal, environment, isTerminal }: CommandContext): void {
  const remove = zone
    .command('delete')
    .description('delete a zone with all its records')
    .argument('<name>', 'name of the zone')
    .option('--yes', 'do not ask on a terminal')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane zone delete example.com'));
  addSettingOptions(remove, DATA_SETTINGS).action(
    async (name: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      const deleted = await withControl(remove, environment, async (context) => {
        const item = await requireZoneNamed(context, name);
        if (isTerminal && !yes) await confirm(item);
        await deleteZone(context, item.id);
        return item;
      });
      if (json) terminal.json({ id: deleted.id, name: deleted.asciiName });
      else terminal.print(`deleted zone ${deleted.name} and its ${deleted.recordCount} records`);
    },
  );
}

async function confirm({ name, recordCount }: ZoneItem): Promise<void> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await prompt.question(`This deletes ${name} and its ${recordCount} records. Type the name to go on: `);
  prompt.close();
  if (typed.trim() !== name) throw new UserError('nothing was deleted');
}

function viewZone(zone: ZoneItem): object {
  return {
    id: zone.id,
    name: zone.asciiName,
    status: zone.status,
    account_id: zone.account.id,
    name_servers: zone.nameServers,
    serial: zone.soa.serial,
    records: zone.recordCount,
    created_on: printInstant(zone.createdAt),
    modified_on: printInstant(zone.modifiedAt),
  };
}
