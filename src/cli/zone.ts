/** `zoneplane zone`: whole zones. */
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeDirectories } from '../base/directories.js';
import { UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import type { Context } from '../control/kernel/context.js';
import type { ZoneItem } from '../control/zones/item.js';
import { createZone, deleteZone, listZones } from '../control/zones/zones.js';
import { gather, limitOption } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import {
  collectPages,
  DATA_SETTINGS,
  KEY_SETTINGS,
  openServices,
  printInstant,
  requireZoneNamed,
  withControl,
} from './control.js';
import { addPrimaryOptions, type PrimaryOptions } from './secondary/primary-options.js';
import { addZoneTransfer } from './secondary/transfer.js';
import { addSettingOptions } from './settings.js';
import { confirmName, type Terminal } from './terminal.js';
import { addZoneCheck } from './zone-check.js';
import { addZoneImport } from './zone-import.js';
import { addZoneActivate, addZoneShow } from './zones/show.js';
import { addZoneStats } from './zones/stats.js';

export function addZoneCommands(program: Command, context: CommandContext): void {
  const zone = program.command('zone');
  addZoneImport(zone, context);
  addZoneCheck(zone, context);
  addZoneTransfer(zone, context);
  addExport(zone, context);
  addList(zone, context);
  addZoneShow(zone, context);
  addCreate(zone, context);
  addZoneActivate(zone, context);
  addZoneStats(zone, context);
  addDelete(zone, context);
}

function addExport(zone: Command, { terminal, environment }: CommandContext): void {
  const command = zone
    .command('export')
    .description('print a zone; importing the output again gives the same zone')
    .argument('[zone]', 'name of the zone')
    .option('--format <format>', 'bind (RFC 1035 zone file) or json', 'bind')
    .option('--all', 'export every zone into its own file')
    .option('--directory <dir>', 'directory for the files of --all', '.')
    .example('zoneplane zone export example.com > example.com.zone', 'zoneplane zone export --all --directory zones');
  addSettingOptions(command, DATA_SETTINGS).action(async (name: string | undefined, options: ExportOptions) => {
    const { format, all, directory } = options;
    if (format !== 'bind' && format !== 'json') {
      throw new UserError(`'${format}' is not an export format`, 'The formats are bind and json.', 2);
    }
    if ((name === undefined) !== (all === true)) {
      throw new UserError('name one zone, or say --all', 'zoneplane zone export example.com', 2);
    }
    await withControl(command, environment, async (context) => {
      if (name === undefined) return exportAll(context, format, directory, terminal);
      const { id } = await requireZoneNamed(context, name);
      const { exportZone } = await import('../control/records/export.js');
      for await (const piece of exportZone(context, id, format)) terminal.write(piece);
    });
  });
}

interface ExportOptions {
  readonly format: string;
  readonly all?: boolean;
  readonly directory: string;
}

/** One file a zone; files that are there already are not touched. */
async function exportAll(
  context: Context,
  format: 'bind' | 'json',
  directory: string,
  terminal: Terminal,
): Promise<void> {
  makeDirectories(directory);
  const { exportZone } = await import('../control/records/export.js');
  const zones = await collectPages((page) => listZones(context, { page, perPage: 1000 }));
  for (const { id, asciiName } of zones) {
    const file = join(directory, `${asciiName.replaceAll('/', '_')}.${format === 'bind' ? 'zone' : 'json'}`);
    if (existsSync(file)) throw new UserError(`${file} exists already`, 'Name an empty directory with --directory.');
    const pieces: string[] = [];
    for await (const piece of exportZone(context, id, format)) pieces.push(piece);
    writeNewFile(file, pieces.join(''));
    terminal.print(file);
  }
}

/** Writes all of it or leaves nothing. */
function writeNewFile(file: string, text: string): void {
  const descriptor = openSync(file, 'wx');
  try {
    writeFileSync(descriptor, text);
  } catch (error) {
    rmSync(file, { force: true });
    throw explainFileFailure(error, file);
  } finally {
    closeSync(descriptor);
  }
}

function addList(zone: Command, { terminal, environment }: CommandContext): void {
  const list = zone
    .command('list')
    .description('list all zones')
    .addOption(limitOption())
    .printsJson('zoneplane zone list', 'zoneplane zone list --json');
  addSettingOptions(list, DATA_SETTINGS).action(async ({ json, limit }: { json?: boolean; limit?: number }) => {
    const zones = await withControl(list, environment, (context) =>
      collectPages((page) => listZones(context, { page, perPage: 1000 }), limit),
    );
    if (json) return terminal.json(zones.map(viewZone));
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

interface CreateOptions extends PrimaryOptions {
  readonly primary?: readonly string[];
  readonly account?: string;
  readonly init?: boolean;
  readonly json?: boolean;
}

function addCreate(zone: Command, { terminal, environment }: CommandContext): void {
  const create = zone
    .command('create')
    .description('create an empty zone with the SOA and NS records of this service, or a secondary zone')
    .argument('<name>', 'name of the zone')
    .option('--primary <address>', 'a secondary zone, transferred from this server; may be given several times', gather)
    .option('--account <id>', 'account it belongs to (default: the first)')
    .option('--init', 'create the data directory first if it has no database yet')
    .printsJson(
      'zoneplane zone create example.com',
      'zoneplane zone create example.com --init',
      'zoneplane zone create example.com --primary 192.0.2.53#5353 --tsig-file transfer.key',
    );
  addSettingOptions(addPrimaryOptions(create), KEY_SETTINGS).action(async (name: string, options: CreateOptions) => {
    const { account, init, json, primary } = options;
    const input = { name, ...(account === undefined ? {} : { account: { id: account } }) };
    const { made, dataDir } = await withControl(
      create,
      environment,
      async (context, settings) => {
        const dataDir = resolve(settings.dataDir);
        if (!primary) return { made: await createZone(context, input), dataDir };
        const { createSecondaryZone } = await import('./secondary/secondary-zone.js');
        const services = await openServices(create, environment, context);
        return { made: await createSecondaryZone(context, services, name, { ...options, primary }), dataDir };
      },
      init ? 'initialise' : 'refuse',
    );
    if (json) return terminal.json(viewZone(made));
    terminal.print(`created zone ${made.name} (${made.id}) in ${dataDir}, ${made.status}`);
    if (primary)
      return terminal.print(
        `It is transferred from ${primary.join(' and ')}; how far it is: zoneplane secondary status`,
      );
    terminal.print(`Its parent should delegate it to ${made.nameServers.join(' and ')}.`);
    const { testNameServers } = await import('../control/zones/notices.js');
    for (const { text, remedy } of testNameServers(made.nameServers, 'These name servers')) {
      terminal.print(`${text}. ${remedy}`);
    }
  });
}

function addDelete(zone: Command, { terminal, environment, isTerminal }: CommandContext): void {
  const remove = zone
    .command('delete')
    .description('delete a zone with all its records')
    .argument('<zone>', 'name of the zone')
    .option('--yes', 'do not ask on a terminal')
    .printsJson('zoneplane zone delete example.com');
  addSettingOptions(remove, DATA_SETTINGS).action(
    async (name: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      const deleted = await withControl(remove, environment, async (context) => {
        const item = await requireZoneNamed(context, name);
        const loss = `This deletes ${item.name} and its ${item.recordCount} records.`;
        if (isTerminal && !yes) await confirmName(item.name, loss, 'nothing was deleted');
        await deleteZone(context, item.id);
        return item;
      });
      if (json) terminal.json({ id: deleted.id, name: deleted.asciiName });
      else {
        terminal.print(`deleted zone ${deleted.name} and its ${deleted.recordCount} records`);
        terminal.print('Its parent should not delegate it to this server any more: change that at the registrar.');
      }
    },
  );
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
