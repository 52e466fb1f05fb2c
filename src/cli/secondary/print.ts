/** `zoneplane secondary print`: the configuration of another name server. */
import { InvalidArgumentError, Option } from 'commander';
import { fromHex } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import { parseIP } from '../../base/ip.js';
import { listCatalogs } from '../../control/catalogs/catalogs.js';
import type { Context } from '../../control/kernel/context.js';
import { listPeers, type PeerItem } from '../../control/secondary/peers.js';
import { zonesAtPeer } from '../../control/secondary/status.js';
import { getTsig } from '../../control/secondary/tsigs.js';
import { parseTsigAlgorithm } from '../../dns/tsig.js';
import { readRunning } from '../../roles/process/data-directory.js';
import type { Command, CommandContext } from '../command.js';
import { accountOf, KEY_SETTINGS, openServices, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';
import { chooseCatalog } from './catalog.js';
import { KINDS, type Kind, printConfiguration, type SecondaryConfiguration } from './configuration.js';

interface PrintOptions {
  readonly kind: Kind;
  readonly address: Place;
  readonly peer?: string;
  readonly tlsName?: string;
  readonly tlsCa?: string;
  readonly catalog?: string | true;
  readonly account?: string;
}

interface Place {
  readonly address: string;
  readonly port: number | undefined;
}

export function addPrintCommand(secondary: Command, { terminal, environment }: CommandContext): void {
  const print = secondary
    .command('print')
    .description('print the configuration of another name server: key, primary, NOTIFY and zones')
    .addOption(new Option('--kind <kind>', 'its software').choices(KINDS).makeOptionMandatory())
    .addOption(
      new Option('--address <address[@port]>', 'the address of this server, as the other one reaches it')
        .argParser(readPlace)
        .makeOptionMandatory(),
    )
    .option('--peer <name>', 'which peer (default: the only one)')
    .option('--tls-name <name>', 'transfer over TLS, and expect this name in the certificate of this server')
    .option('--tls-ca <file>', 'certificates that the other server trusts (default: those of its system)')
    .option('--catalog [name]', 'name a catalog zone instead of each zone (default: the only one)')
    .option('--account <id>', 'account of the zones (default: the oldest)')
    .example(
      'zoneplane secondary print --kind nsd --address 198.51.100.1',
      'zoneplane secondary print --kind bind --address 198.51.100.1 --tls-name ns1.example.com',
      'zoneplane secondary print --kind knot --address 198.51.100.1 --catalog',
    );
  addSettingOptions(print, KEY_SETTINGS).action(async (options: PrintOptions) => {
    const configuration = await withControl(print, environment, async (context, settings) => {
      const account = accountOf(context, options);
      const peer = choosePeer(await listPeers(context, account), options.peer);
      const services = await openServices(print, environment, context);
      const key = peer.tsig_id === undefined ? undefined : await getTsig(context, services, account, peer.tsig_id);
      const { address, port } = options.address;
      const protocol = options.tlsName === undefined ? 'tcp' : 'tls';
      const running = readRunning(settings.dataDir)?.dns.find((listener) => listener.protocol === protocol)?.port;
      return {
        zones: zonesAtPeer(context.store, fromHex(peer.id)!),
        catalog: await catalogOf(context, account, options.catalog),
        address,
        port: port ?? running ?? (protocol === 'tcp' ? 53 : 853),
        key: key && { name: key.name, algorithm: parseTsigAlgorithm(key.algo)!, secret: key.secret },
        tlsName: options.tlsName,
        tlsAuthorities: options.tlsCa,
      } satisfies SecondaryConfiguration;
    });
    terminal.print(printConfiguration(options.kind, configuration).trimEnd());
  });
}

async function catalogOf(
  context: Context,
  account: string,
  wanted: PrintOptions['catalog'],
): Promise<string | undefined> {
  if (wanted === undefined) return undefined;
  return chooseCatalog(await listCatalogs(context, account), wanted === true ? undefined : wanted).name;
}

function readPlace(text: string): Place {
  const [address = '', port] = text.split('@');
  const number = port === undefined ? undefined : Number(port);
  if (!parseIP(address) || (number !== undefined && !(Number.isInteger(number) && number > 0 && number < 65_536))) {
    throw new InvalidArgumentError('Expected an address, or an address, @ and a port.');
  }
  return { address, port: number };
}

function choosePeer(peers: readonly PeerItem[], name: string | undefined): PeerItem {
  const known = peers.map((peer) => peer.name).join(', ');
  const found =
    name === undefined ? (peers.length === 1 ? peers[0] : undefined) : peers.find((peer) => peer.name === name);
  if (found) return found;
  if (peers.length === 0) {
    throw new UserError('there are no peers yet', 'Add one: zoneplane secondary add ns2 --address 192.0.2.53');
  }
  throw new UserError(
    name === undefined ? 'there are several peers' : `there is no peer ${name}`,
    `Choose with --peer: ${known}`,
  );
}
