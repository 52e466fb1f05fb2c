/** `zoneplane secondary add`: a key, a peer, and zones that are transferred to it. */
import { UserError } from '../../base/errors.js';
import { parseIP } from '../../base/ip.js';
import type { Context } from '../../control/kernel/context.js';
import { addServer, type ServerInput } from '../../control/secondary/add-secondary.js';
import { transferableZones } from '../../control/secondary/outgoing.js';
import { listPeers, type PeerItem } from '../../control/secondary/peers.js';
import { listTsigs, type SecondaryServices } from '../../control/secondary/tsigs.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { listZones } from '../../control/zones/zones.js';
import { gather, wholeNumber } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, collectPages, KEY_SETTINGS, openServices, requireZoneNamed, withControl } from '../control.js';
import { quoteShell } from '../operations/quote-shell.js';
import { addSettingOptions } from '../settings.js';
import { sameName } from './tsig.js';

interface AddOptions {
  readonly address?: string;
  readonly port?: number;
  readonly tsig?: string;
  readonly key: boolean;
  readonly zone?: readonly string[];
  readonly account?: string;
  readonly json?: boolean;
}

interface ChosenZones {
  readonly linked: readonly ZoneItem[];
  /** Names of zones that cannot be transferred. */
  readonly leftOut: readonly string[];
}

interface Added {
  readonly peer: PeerItem;
  /** Name of the key that signs. */
  readonly tsig: string | null;
  readonly zones: readonly string[];
  readonly leftOut: readonly string[];
}

export function addAddCommand(secondary: Command, { terminal, environment }: CommandContext): void {
  const add = secondary
    .command('add')
    .description('let another name server serve zones: makes a key and a peer, and enables transfers')
    .argument('<name>', 'a name for it; with the name of a peer that exists, further zones go there')
    .option('--address <address>', 'its address, where NOTIFY goes and from where it transfers')
    .option('--port <port>', 'its port (default: 53)', wholeNumber(1, 65_535, 'a port'))
    .option('--tsig <name>', 'a key that exists (default: that of the other peers, or a new one)')
    .option('--no-key', 'sign nothing: its address is all that is checked')
    .option('--zone <name>', 'only this zone; may be given several times (default: all zones of the account)', gather)
    .option('--account <id>', 'account of the zones (default: the oldest)')
    .printsJson(
      'zoneplane secondary add ns2 --address 192.0.2.53',
      'zoneplane secondary add ns2 --zone example.com',
      'zoneplane secondary add ns3 --address 2001:db8::53 --tsig transfer.example.com --zone example.com',
    );
  addSettingOptions(add, KEY_SETTINGS).action(async (name: string, options: AddOptions) => {
    const { peer, tsig, zones, leftOut } = await withControl(add, environment, async (context): Promise<Added> => {
      const services = await openServices(add, environment, context);
      const account = accountOf(context, options);
      const { linked, leftOut } = await zonesOf(context, account, options);
      const ids = linked.map(({ id }) => id);
      const peer = await addServer(
        context,
        services,
        account,
        ids,
        await readServer(context, services, account, name, options),
      );
      const keys = await listTsigs(context, services, account);
      const tsig = keys.find(({ id }) => id === peer.tsig_id)?.name ?? null;
      return { peer, tsig, zones: linked.map(({ asciiName }) => asciiName), leftOut };
    });
    if (options.json) terminal.json({ ...peer, zones });
    else {
      const count = zones.length === 1 ? `zone ${zones[0]}` : `${zones.length} zones`;
      terminal.print(`${peer.name} may transfer ${count}${tsig === null ? '' : `; the key ${tsig} signs`}`);
      for (const zone of leftOut) terminal.print(`${zone} is left out: it proves absence by compact denial`);
      terminal.print(
        `Its configuration: zoneplane secondary print --kind nsd --address OURS --peer ${quoteShell(peer.name)}`,
      );
    }
  });
}

/** Zones that were named; otherwise all of the account that can be transferred. */
async function zonesOf(context: Context, account: string, { zone }: AddOptions): Promise<ChosenZones> {
  if (zone) return { linked: await Promise.all(zone.map((name) => requireZoneNamed(context, name))), leftOut: [] };
  const listed = await collectPages((page) => listZones(context, { page, perPage: 1000 }));
  const zones = listed.filter((item) => item.account.id === account);
  const can = await transferableZones(
    context,
    zones.map(({ id }) => id),
  );
  return {
    linked: zones.filter(({ id }) => can.has(id)),
    leftOut: zones.filter(({ id }) => !can.has(id)).map(({ asciiName }) => asciiName),
  };
}

/** The peer of that name, or what a new one is to be. */
async function readServer(
  context: Context,
  services: SecondaryServices,
  account: string,
  name: string,
  { address, port, tsig, key }: AddOptions,
): Promise<ServerInput> {
  const known = (await listPeers(context, account)).find((peer) => peer.name === name);
  if (known) return { peer_id: known.id };
  if (address === undefined) {
    throw new UserError(`there is no peer ${name} yet`, 'Say with --address where its NOTIFY goes.');
  }
  if (!parseIP(address)) {
    throw new UserError(`--address ${address}: expected an address, such as 192.0.2.53`, undefined, 2);
  }
  const server = { name, ip: address, port: port ?? null };
  if (!key) return { ...server, tsig_id: null };
  return tsig === undefined ? server : { ...server, tsig_id: await keyNamed(context, services, account, tsig) };
}

async function keyNamed(context: Context, services: SecondaryServices, account: string, name: string): Promise<string> {
  const known = (await listTsigs(context, services, account)).find((key) => sameName(key.name, name));
  if (!known) throw new UserError(`there is no TSIG key ${name}`, `Make it: zoneplane tsig create ${quoteShell(name)}`);
  return known.id;
}
