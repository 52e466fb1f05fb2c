/** `zoneplane secondary add`: a key, a peer, and zones that are transferred to it. */
import type { Command } from 'commander';
import { toBase64 } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import { linkPeer } from '../../control/secondary/outgoing.js';
import { createPeer, listPeers, type PeerItem } from '../../control/secondary/peers.js';
import { createTsig, listTsigs, type SecondaryServices } from '../../control/secondary/tsigs.js';
import type { Context } from '../../control/write/context.js';
import { listZones } from '../../control/zones/zones.js';
import { gather, wholeNumber } from '../arguments.js';
import { type CommandContext, example } from '../command.js';
import { collectPages, requireZoneNamed, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { KEY_SETTINGS, openServices } from './services.js';
import { accountOf, sameName } from './tsig.js';

interface AddOptions {
  readonly address?: string;
  readonly port?: number;
  readonly tsig?: string;
  readonly key: boolean;
  readonly zone?: readonly string[];
  readonly account?: string;
  readonly json?: boolean;
}

const SECRET_OCTETS = 32;

interface Added {
  readonly peer: PeerItem;
  readonly zones: readonly string[];
}

export function addAddCommand(secondary: Command, { terminal, environment }: CommandContext): void {
  const add = secondary
    .command('add')
    .description('let another name server serve zones: makes a key and a peer, and enables transfers')
    .argument('<name>', 'a name for it; with the name of a peer that exists, further zones go there')
    .option('--address <address>', 'its address, where NOTIFY goes and from where it transfers')
    .option('--port <port>', 'its port (default: 53)', wholeNumber(1, 65_535, 'a port'))
    .option('--tsig <name>', 'a key that exists (default: a new one)')
    .option('--no-key', 'sign nothing: its address is all that is checked')
    .option('--zone <name>', 'only this zone; may be given several times (default: all zones of the account)', gather)
    .option('--account <id>', 'account of the zones (default: the oldest)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example(
        'zoneplane secondary add ns2 --address 192.0.2.53',
        'zoneplane secondary add ns2 --zone example.com',
        'zoneplane secondary add ns3 --address 2001:db8::53 --tsig transfer.example.com --zone example.com',
      ),
    );
  addSettingOptions(add, KEY_SETTINGS).action(async (name: string, options: AddOptions) => {
    const { peer, zones } = await withControl(add, environment, async (context): Promise<Added> => {
      const services = await openServices(add, environment, context);
      const account = accountOf(context, options);
      const zones = await zonesOf(context, account, options);
      const peer = await findOrAddPeer(context, services, account, name, options);
      for (const { id } of zones) await linkPeer(context, id, peer.id);
      return { peer, zones: zones.map(({ asciiName }) => asciiName) };
    });
    if (options.json) terminal.json({ ...peer, zones });
    else {
      const count = zones.length === 1 ? `zone ${zones[0]}` : `${zones.length} zones`;
      terminal.print(`${peer.name} may transfer ${count}`);
      terminal.print(`Its configuration: zoneplane secondary print --kind nsd --address <ours> --peer ${peer.name}`);
    }
  });
}

async function zonesOf(context: Context, account: string, { zone }: AddOptions) {
  if (zone) return Promise.all(zone.map((name) => requireZoneNamed(context, name)));
  const zones = await collectPages((page) => listZones(context, { page, perPage: 1000 }));
  return zones.filter((item) => item.account.id === account);
}

async function findOrAddPeer(
  context: Context,
  services: SecondaryServices,
  account: string,
  name: string,
  { address, port, tsig, key }: AddOptions,
): Promise<PeerItem> {
  const known = (await listPeers(context, account)).find((peer) => peer.name === name);
  if (known) return known;
  if (address === undefined) {
    throw new UserError(`there is no peer ${name} yet`, 'Say with --address where its NOTIFY goes.');
  }
  const keyId = key
    ? await findOrAddKey(context, services, account, tsig ?? `${name}-transfer`, tsig === undefined)
    : null;
  return createPeer(context, account, { name, ip: address, port: port ?? null, tsig_id: keyId, ixfr_enable: true });
}

async function findOrAddKey(
  context: Context,
  services: SecondaryServices,
  account: string,
  name: string,
  mayAdd: boolean,
): Promise<string> {
  const known = (await listTsigs(context, services, account)).find((key) => sameName(key.name, name));
  if (known) return known.id;
  if (!mayAdd) throw new UserError(`there is no TSIG key ${name}`, `Make it: zoneplane tsig create ${name}`);
  const secret = toBase64(context.random.bytes(SECRET_OCTETS));
  return (await createTsig(context, services, account, { name: `${name}.`, algo: 'hmac-sha256', secret })).id;
}
