/** `zoneplane zone create --primary`: a zone that is transferred from other servers. */

import { toBase64 } from '../../base/bytes.js';
import type { Context } from '../../control/kernel/context.js';
import { createIncoming } from '../../control/secondary/incoming.js';
import { createPeer, listPeers, type PeerItem } from '../../control/secondary/peers.js';
import { createTsig, listTsigs, type SecondaryServices } from '../../control/secondary/tsigs.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { createZone, deleteZone } from '../../control/zones/zones.js';
import { accountOf } from '../control.js';
import { type PrimaryOptions, readKeyOption, readServer } from './primary-options.js';
import { sameName } from './tsig.js';

export interface SecondaryZoneOptions extends PrimaryOptions {
  readonly primary: readonly string[];
  readonly account?: string;
}

/** Creates the zone; peers and a key that are not there yet are added. */
export async function createSecondaryZone(
  context: Context,
  services: SecondaryServices,
  name: string,
  options: SecondaryZoneOptions,
): Promise<ZoneItem> {
  const account = accountOf(context, options);
  return makeSecondaryZone(context, account, name, () => primariesFor(context, services, account, options));
}

/** The same with peers that are found or made as soon as the zone is there. */
export async function makeSecondaryZone(
  context: Context,
  account: string,
  name: string,
  peersFor: () => Promise<string[]>,
): Promise<ZoneItem> {
  const zone = await createZone(context, { name, type: 'secondary', account: { id: account } });
  try {
    const peers = await peersFor();
    await createIncoming(context, zone.id, { name: zone.asciiName, peers });
    return zone;
  } catch (error) {
    await deleteZone(context, zone.id);
    throw error;
  }
}

/** Identifiers of the peers that the options name; those that are not there yet are added, with their key. */
export async function primariesFor(
  context: Context,
  services: SecondaryServices,
  account: string,
  options: SecondaryZoneOptions,
): Promise<string[]> {
  const places = options.primary.map(readServer);
  const tsig = await readKeyOption(context, services, account, options);
  const tsigId = tsig && (tsig.stored ?? (await findOrAddKey(context, services, account, tsig.text)));
  const peers: string[] = [];
  for (const { address, port } of places) {
    const tls = { tls_name: options.tlsName ?? null, tls_pin: options.tlsPin ?? null };
    const wanted = { name: address, ip: address, port: port ?? null, tsig_id: tsigId ?? null, ixfr_enable: true };
    peers.push(await findOrAddPeer(context, account, { ...wanted, ...tls }));
  }
  return peers;
}

export type WantedPeerInput = Parameters<typeof createPeer>[2];

async function findOrAddPeer(context: Context, account: string, wanted: WantedPeerInput): Promise<string> {
  const known = (await listPeers(context, account)).find((peer) => isPeer(peer, wanted));
  return (known ?? (await createPeer(context, account, wanted))).id;
}

/** Whether a peer is the one that is wanted, whatever its name is. */
export function isPeer(peer: PeerItem, wanted: WantedPeerInput): boolean {
  const isTls = Boolean(wanted.tls_name || wanted.tls_pin);
  const port = wanted.port ?? (isTls ? 853 : 53);
  const sameTls = (peer.tls_name ?? null) === (wanted.tls_name ?? null) && !wanted.tls_pin && !peer.tls_pin;
  const samePlace = (peer.ip ?? null) === (wanted.ip ?? null) && peer.port === port;
  return samePlace && (peer.tsig_id ?? null) === (wanted.tsig_id ?? null) && sameTls;
}

async function findOrAddKey(
  context: Context,
  services: SecondaryServices,
  account: string,
  text: Parameters<typeof createTsig>[3],
): Promise<string> {
  const known = (await listTsigs(context, services, account)).find(
    ({ name, secret }) => sameName(name, text.name) && secret === toBase64(Buffer.from(text.secret, 'base64')),
  );
  return (known ?? (await createTsig(context, services, account, text))).id;
}
