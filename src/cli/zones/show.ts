/** `zoneplane zone show` and `zone activate`: whose the name of a zone is, and what the operator says about it. */
import type { Context } from '../../control/kernel/context.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { proofInWords } from '../../control/zones/proof-words.js';
import type { Command, CommandContext } from '../command.js';
import { DATA_SETTINGS, printInstant, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import type { Terminal } from '../terminal.js';

export function addZoneShow(zone: Command, { terminal, environment }: CommandContext): void {
  const show = zone
    .command('show')
    .description('show a zone: its state, its name servers, and what proves whose its name is')
    .argument('<zone>', 'name of the zone, or its identifier where several accounts claim the name')
    .printsJson('zoneplane zone show example.com');
  addSettingOptions(show, DATA_SETTINGS).action(async (name: string, { json }: { json?: boolean }) => {
    const item = await withControl(show, environment, (context) => requireZoneNamed(context, name));
    if (json) terminal.json(viewClaim(item));
    else printZone(terminal, item);
  });
}

export function addZoneActivate(zone: Command, { terminal, environment }: CommandContext): void {
  const command = zone
    .command('activate')
    .description('look whether a zone’s name is proven, or say that it is its account’s')
    .argument('<zone>', 'name of the zone, or its identifier where several accounts claim the name')
    .option(
      '--proven',
      'the name is the account’s: nothing is looked for, and claims of others without this word give way',
    )
    .printsJson('zoneplane zone activate example.com', 'zoneplane zone activate example.com --proven');
  addSettingOptions(command, DATA_SETTINGS).action(
    async (name: string, { proven, json }: { proven?: boolean; json?: boolean }) => {
      const item = await withControl(command, environment, async (context) => {
        // Loaded only here, so that the other commands start at once.
        const { checkActivation, proveByOperator } = await import('../../control/zones/activation.js');
        const { id, account } = await requireZoneNamed(context, name);
        return proven ? proveByOperator(context, id) : checkActivation(asAccount(context, account.id), id);
      });
      if (json) terminal.json(viewClaim(item));
      else printZone(terminal, item);
    },
  );
}

/** A look that is not the operator's word. */
function asAccount(context: Context, accountId: string): Context {
  return { ...context, actor: { ...context.actor, superAdministrator: false, accountIds: [accountId] } };
}

function printZone(terminal: Terminal, item: ZoneItem): void {
  terminal.print(`${item.name} is ${item.status}, serial ${item.soa.serial}, ${item.recordCount} records`);
  terminal.print(`identifier: ${item.id}`);
  terminal.print(`account: ${item.account.name} (${item.account.id})`);
  terminal.print(`name servers: ${item.nameServers.join(', ')}`);
  terminal.print(proofInWords(item));
}

function viewClaim(item: ZoneItem): object {
  const { by, at, contested, record } = item.proof;
  return {
    id: item.id,
    name: item.asciiName,
    status: item.status,
    account_id: item.account.id,
    name_servers: item.nameServers,
    serial: item.soa.serial,
    records: item.recordCount,
    proven_by: by,
    proven_at: at === null ? null : printInstant(at),
    contested,
    proof_record: { type: 'TXT', ...record },
    proof_detail: proofInWords(item),
  };
}
