/** Use cases: another name server becomes a secondary; its key, the peer and the transfers of zones are made in one write. */
import { toHex } from '../../base/bytes.js';
import type { Store } from '../../store/driver.js';
import { peersOfZone } from '../../store/secondary/outgoing.js';
import { findTsigKey, tsigKeysOfAccount } from '../../store/secondary/tsig-keys.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { accountIdOf, requireAccount, requirePermission, requireZone } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { draftLink, type OutgoingItem } from './outgoing.js';
import { draftPeer, type PeerItem, peerItemOf, readNewPeer, requirePeer } from './peers.js';
import { draftTsig, makeTsigSecret, readNewTsig, type SecondaryServices } from './tsigs.js';

export interface SecondaryInput {
  /** Identifier of a peer that exists; the other members are about a new one. */
  readonly peer_id?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly ip?: string | null | undefined;
  readonly port?: number | null | undefined;
  /** Whether the first peer of a zone gets a key; further peers have that of the others, or none like them. */
  readonly signed?: boolean | null | undefined;
}

export interface ServerInput extends SecondaryInput {
  /** Identifier of a key that exists; null: none; absent: that of the other peers, or a new one. */
  readonly tsig_id?: string | null | undefined;
}

export interface AddedSecondary {
  readonly peer: PeerItem;
  /** Name of the key that signs; null: none. */
  readonly tsigName: string | null;
  readonly outgoing: OutgoingItem;
}

/** Characters of a name that become part of a key's name. */
const MOST_OF_NAME = 40;

/**
 * Lets a server transfer the zone, and enables that. Throws 400 and 404 for what is wrong with the input, 403 for who may not
 * change the account's peers; then nothing is made.
 */
export async function addSecondary(
  ctx: Context,
  services: SecondaryServices,
  zoneId: string,
  input: SecondaryInput,
): Promise<AddedSecondary> {
  const draftServer = readServer(ctx, services, input);
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const { peer, outgoing } = draftServer(draft, accountIdOf(ctx.store, zone), [zone]);
    return { peer, tsigName: keyNameOf(ctx.store, zone, peer), outgoing: outgoing[0]! };
  });
  return value;
}

/**
 * The same for all of these zones of an account. Throws, and makes nothing, when one of them cannot be transferred to the
 * server: 400 for another key than that of its peers or for compact denial, 404.
 */
export async function addServer(
  ctx: Context,
  services: SecondaryServices,
  accountId: string,
  zoneIds: readonly string[],
  input: ServerInput,
): Promise<PeerItem> {
  const draftServer = readServer(ctx, services, input);
  const { value } = await commit(ctx, (draft) => {
    const zones = zoneIds.map((id) => requireZone(ctx, id));
    return draftServer(draft, accountId, zones).peer;
  });
  return value;
}

interface DraftedServer {
  readonly peer: PeerItem;
  /** Of each zone. */
  readonly outgoing: readonly OutgoingItem[];
}

type DraftServer = (draft: Draft, account: string, zones: readonly ZoneRow[]) => DraftedServer;

/** Checks what does not depend on the store; the result makes a new server's peer, and links the zones, inside a write. */
function readServer(ctx: Context, services: SecondaryServices, input: ServerInput): DraftServer {
  const add = input.peer_id ? undefined : readNewServer(ctx, services, input);
  return (draft, account, zones) => {
    requirePermission(ctx.actor, 'account', 'write', { account });
    const peer = add ? add(draft, account, zones) : peerItemOf(ctx.store, requirePeer(ctx, account, input.peer_id!));
    return { peer, outgoing: zones.map((zone) => draftLink(ctx, draft, zone, peer.id)) };
  };
}

type AddPeer = (draft: Draft, account: string, zones: readonly ZoneRow[]) => PeerItem;

/** The same for the peer of a new server, and its key where it needs one. */
function readNewServer(ctx: Context, services: SecondaryServices, input: ServerInput): AddPeer {
  const { name, ip, port, signed, tsig_id: keyId } = input;
  if (!name) throw badBody('name is missing: what you call the server', '/name');
  if (!ip) throw badBody('ip is missing: the address of the server, such as 192.0.2.53', '/ip');
  const peer = readNewPeer(ctx, { name, ip, port: port ?? null, ixfr_enable: true });
  const secret = makeTsigSecret(ctx.random);
  const keyFor = (draft: Draft, account: string, zones: readonly ZoneRow[]): string | null => {
    if (keyId !== undefined) return keyId;
    const other = firstPeerOf(ctx.store, zones);
    // All peers of a zone have the same key, or none.
    if (other) return other.tsig === null ? null : toHex(findTsigKey(ctx.store, other.tsig)!.id);
    if (signed === false) return null;
    const key = { name: freeKeyName(ctx, account, name), algo: 'hmac-sha256.', secret };
    return draftTsig(ctx, services, draft, account, readNewTsig(ctx, account, key)).id;
  };
  return (draft, account, zones) => {
    const input = { ...peer.input, tsig_id: keyFor(draft, account, zones) };
    return draftPeer(ctx, draft, account, { ...peer, input });
  };
}

function firstPeerOf(store: Store, zones: readonly ZoneRow[]) {
  for (const { seq } of zones) {
    const [peer] = peersOfZone(store, seq);
    if (peer) return peer;
  }
  return undefined;
}

/** A name for the key of a server that no key of the account has. */
function freeKeyName(ctx: Context, accountId: string, name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MOST_OF_NAME);
  const label = plain.replaceAll(/^-|-$/g, '') || 'secondary';
  const keys = tsigKeysOfAccount(ctx.store, requireAccount(ctx, accountId).seq);
  const taken = new Set(keys.map((key) => key.name.toLowerCase().replace(/\.$/, '')));
  for (let number = 1; ; number++) {
    const candidate = `${number === 1 ? label : `${label}-${number}`}.transfer`;
    if (!taken.has(candidate)) return `${candidate}.`;
  }
}

function keyNameOf(store: Store, zone: ZoneRow, { id }: PeerItem): string | null {
  const tsig = peersOfZone(store, zone.seq).find((peer) => toHex(peer.id) === id)?.tsig ?? null;
  return tsig === null ? null : findTsigKey(store, tsig)!.name;
}
