/** Derives the secondaries of a zone from the servers that are told of its changes or may transfer it. Pure. */
import { type Network, networkContains, parseIP, printIP } from '../base/ip.js';
import type { Grant, Note, ServerStatement, ZoneStatement } from './configuration.js';
import type { Place } from './place.js';

/** Another server. Without an address it is known by its key alone, and is neither told of changes nor asked. */
export interface WantedPeer {
  readonly address: string | undefined;
  readonly port: number;
  readonly key: string | undefined;
  readonly place: Place;
}

export interface WantedTransfers {
  readonly peers: readonly WantedPeer[];
  /** Networks from which it is transferred without a key. */
  readonly networks: readonly { readonly text: string; readonly place: Place }[];
  readonly notes: readonly Note[];
}

const DNS_PORT = 53;

/** Whoever may not transfer a zone there may not do so here. Those who may do it there and cannot here are noted. */
export function wantedTransfers({ notified, grants }: Pick<ZoneStatement, 'notified' | 'grants'>): WantedTransfers {
  const notes: Note[] = [];
  const none = (place: Place, text: string): void => void notes.push({ kind: 'none', place, text });
  const told = notified.flatMap((server) => toldPeer(server, grants, none));
  const open = grants.find(({ network, key }) => !network && key === undefined);
  if (open)
    none(open.place, 'everybody may transfer (any, or no allow-transfer at all): here only servers that are named may');
  const candidates = [...told];
  for (const grant of grants) {
    const host = hostOf(grant.network);
    if (host !== undefined && !candidates.some(({ address }) => address === host)) candidates.push(peerOf(host, grant));
    else if (host === undefined && grant.key !== undefined && !candidates.some(({ key }) => key === grant.key)) {
      if (grant.network)
        none(grant.place, `the key ${grant.key} may transfer from any address, not from ${grant.text} only`);
      candidates.push(peerOf(undefined, grant));
    }
  }
  const peers = withOneKey(candidates, none);
  for (const { address, key, place } of peers) {
    if (address !== undefined) continue;
    none(
      place,
      `whoever has the key ${key} may transfer, but is not told of changes: name the server with zoneplane secondary add --tsig ${key}`,
    );
  }
  const wide = grants.filter(({ network, key }) => network && key === undefined && hostOf(network) === undefined);
  const isSigned = peers.some(({ key }) => key !== undefined);
  if (isSigned)
    for (const { place, text } of wide) none(place, `${text}: a zone with keys is not transferred without a key`);
  return { peers, networks: isSigned ? [] : wide.map(({ text, place }) => ({ text: text!, place })), notes };
}

type Complain = (place: Place, text: string) => void;

function peerOf(address: string | undefined, { key, place }: Grant): WantedPeer {
  return { address, port: DNS_PORT, key, place };
}

/** The address of a network that has only one. */
function hostOf(network: Network | undefined): string | undefined {
  return network && network.bits === network.address.length * 8 ? printIP(network.address) : undefined;
}

/** A server that is told of changes, with the key with which it may transfer the zone. */
function toldPeer(server: ServerStatement, grants: readonly Grant[], none: Complain): WantedPeer[] {
  const { place, port = DNS_PORT } = server;
  const octets = parseIP(server.address)!;
  const address = printIP(octets);
  const fitting = grants.filter(({ network }) => !network || networkContains(network, octets));
  if (fitting.length === 0) {
    none(
      place,
      `${address} is told of changes and may not transfer the zone: here, servers that may not transfer a zone are not told of its changes`,
    );
    return [];
  }
  const named = fitting.find(({ key }) => key !== undefined && key === server.key);
  const byAddress = fitting.some(({ key }) => key === undefined);
  const key = named?.key ?? (byAddress ? server.key : fitting[0]!.key);
  return [{ address, port, key, place }];
}

/** All peers of a zone sign with the same key, or none does. */
function withOneKey(candidates: readonly WantedPeer[], none: Complain): WantedPeer[] {
  const first = candidates.find(({ key }) => key !== undefined)?.key;
  return candidates.flatMap((peer) => {
    const { key, address, place } = peer;
    if (key === first) return [peer];
    if (key === undefined) {
      none(
        place,
        `${address} transfers without a key there, and has to sign with ${first} here, as all servers of a zone do`,
      );
      return [{ ...peer, key: first }];
    }
    const who = address === undefined ? `the key ${key}` : `${address} with the key ${key}`;
    none(
      place,
      `${who}: all servers of a zone use the same key here, and the first one has ${first}; give it that key, then: zoneplane secondary add`,
    );
    return [];
  });
}
