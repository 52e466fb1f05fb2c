/** Use cases of peers: servers of other operators, to which or from which zones are transferred (v4: secondary DNS). */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import { primariesOfZone, zonesOfPrimary } from '../../store/secondary/incoming.js';
import { peersOfZone, zonesOfPeer } from '../../store/secondary/outgoing.js';
import {
  findTransferPeer,
  findTransferPeerById,
  insertTransferPeer,
  removeTransferPeer,
  type TransferPeerRow,
  transferPeersOfAccount,
  updateTransferPeer,
} from '../../store/secondary/peers.js';
import { findTsigKey } from '../../store/secondary/tsig-keys.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireAccount } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { secondaryFailure } from './errors.js';
import { type PeerInput, type ReadPeer, readPeer } from './input.js';
import { requireKey } from './tsigs.js';

export interface PeerItem {
  readonly id: string;
  readonly name: string;
  readonly ip?: string;
  readonly ixfr_enable: boolean;
  readonly port: number;
  readonly tsig_id?: string;
  readonly tls_name?: string;
  /** Hexadecimal. */
  readonly tls_pin?: string;
}

const MOST_PEERS = 200;

export async function listPeers(ctx: Context, accountId: string): Promise<PeerItem[]> {
  const account = requireAccount(ctx, accountId);
  return transferPeersOfAccount(ctx.store, account.seq).map((row) => peerItemOf(ctx.store, row));
}

export async function getPeer(ctx: Context, accountId: string, id: string): Promise<PeerItem> {
  return peerItemOf(ctx.store, requirePeer(ctx, accountId, id));
}

export async function createPeer(ctx: Context, accountId: string, input: PeerInput): Promise<PeerItem> {
  const made = readNewPeer(ctx, input);
  return (await commit(ctx, (draft) => draftPeer(ctx, draft, accountId, made))).value;
}

type NamedPeer = ReadPeer & Pick<TransferPeerRow, 'by_operator'>;

/**
 * A peer with who names its address. Whoever repeats an address and port names nothing. Throws 400 for an address to which nothing
 * is connected: the operator may name private ones, tenants only those that are allowed.
 */
function withNamer({ actor, egress }: Context, peer: ReadPeer, stored: TransferPeerRow | undefined): NamedPeer {
  const { ip, port } = peer;
  if (ip !== null && stored?.ip === ip && stored.port === port && !actor.superAdministrator) {
    return { ...peer, by_operator: stored.by_operator };
  }
  const by = actor.superAdministrator ? 'operator' : 'tenant';
  const reason = ip === null ? undefined : egress.refusal('transfers', ip, port, by);
  if (reason === undefined) return { ...peer, by_operator: actor.superAdministrator ? 1 : 0 };
  const failure = actor.superAdministrator ? 'peerNotAllowed' : 'peerRefused';
  throw secondaryFailure(failure, { ip: ip!, port, reason }, { pointer: '/ip' });
}

/** A peer that was checked, with its identifier. */
interface NewPeer {
  readonly id: Uint8Array;
  readonly input: PeerInput;
  readonly after: NamedPeer;
}

/** Checks a peer before the write that makes it. Throws 400. */
export function readNewPeer(ctx: Context, input: PeerInput): NewPeer {
  return { id: makeId(ctx.clock.nowUs(), ctx.random), input, after: withNamer(ctx, readPeer(input), undefined) };
}

/** Makes the peer inside a write. Throws 404 for a key that the account lacks, 400 for too many peers. */
export function draftPeer(ctx: Context, draft: Draft, accountId: string, { id, input, after }: NewPeer): PeerItem {
  const { store } = ctx;
  const account = requireAccount(ctx, accountId);
  if (transferPeersOfAccount(store, account.seq).length >= MOST_PEERS) {
    throw secondaryFailure('tooMany', { most: MOST_PEERS, things: 'peers' });
  }
  requireRoomFor(ctx, account.seq, 'lists');
  insertTransferPeer(store, id, account.seq, { ...after, tsig: keyOf(ctx, accountId, input) }, draft.now);
  const item = peerItemOf(store, findTransferPeerById(store, id)!);
  draft.event({ kind: 'transfer_peer.create', account: account.seq, id, name: item.name, after: item });
  return item;
}

export async function replacePeer(
  ctx: Context,
  accountId: string,
  peerId: string,
  input: PeerInput,
): Promise<PeerItem> {
  const wanted = readPeer(input);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requirePeer(ctx, accountId, peerId);
    const after = withNamer(ctx, wanted, row);
    const before = peerItemOf(store, row);
    updateTransferPeer(store, row.seq, { ...after, tsig: keyOf(ctx, accountId, input) }, draft.now);
    for (const zone of zonesOfPeer(store, row.seq)) {
      requireOneKey(findZone(store, zone)!.name, peersOfZone(store, zone));
    }
    for (const zone of zonesOfPrimary(store, row.seq)) requireStillPrimary(ctx, zone);
    const item = peerItemOf(store, findTransferPeer(store, row.seq)!);
    draft.event({ kind: 'transfer_peer.edit', account: row.account, id: row.id, name: item.name, before, after: item });
    return item;
  });
  return value;
}

/** Throws 400 while a zone is transferred to or from the peer. */
export async function deletePeer(ctx: Context, accountId: string, peerId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requirePeer(ctx, accountId, peerId);
    const [zone] = zonesOfPeer(store, row.seq);
    if (zone !== undefined) throw secondaryFailure('peerInUse', { zone: findZone(store, zone)!.name });
    const [incoming] = zonesOfPrimary(store, row.seq);
    if (incoming !== undefined) throw secondaryFailure('primaryInUse', { zone: findZone(store, incoming)!.name });
    const before = peerItemOf(store, row);
    removeTransferPeer(store, row.seq);
    draft.event({ kind: 'transfer_peer.delete', account: row.account, id: row.id, name: before.name, before });
    return { id: toHex(row.id) };
  });
  return value;
}

/** The account's peer with this identifier. Throws 404. */
export function requirePeer(ctx: Context, accountId: string, peerId: string): TransferPeerRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(peerId);
  const row = id && findTransferPeerById(ctx.store, id);
  if (row?.account !== account.seq) throw secondaryFailure('peerMissing', { id: peerId.slice(0, 64) });
  return row;
}

/** Clients repeat the name of the zone in bodies, with or without the final dot. Throws 400. */
export function requireZoneName(zone: ZoneRow, name: string): void {
  if (name.toLowerCase().replace(/\.$/, '') === zone.name) return;
  throw secondaryFailure('wrongName', { zone: zone.name, name: name.slice(0, 255) }, { pointer: '/name' });
}

/** A peer without a key beside one with a key would make the key useless. Throws 400. */
export function requireOneKey(zone: string, peers: readonly TransferPeerRow[]): void {
  if (new Set(peers.map(({ tsig }) => tsig)).size > 1) throw secondaryFailure('mixedKeys', { zone });
}

/** After a change of a peer. Throws 400. */
function requireStillPrimary({ store }: Context, zone: number): void {
  const primaries = primariesOfZone(store, zone);
  requireOneKey(findZone(store, zone)!.name, primaries);
  const without = primaries.find(({ ip }) => ip === null);
  if (without) throw secondaryFailure('peerWithoutAddress', { peer: without.name }, { pointer: '/ip' });
}

function keyOf(ctx: Context, accountId: string, { tsig_id: keyId }: PeerInput): number | null {
  return keyId ? requireKey(ctx, accountId, keyId).seq : null;
}

/** A peer as clients see it. */
export function peerItemOf(store: Store, row: TransferPeerRow): PeerItem {
  const { id, name, ip, port, ixfr_enable: ixfrEnable, tsig, tls_name: tlsName, tls_pin: tlsPin } = row;
  const key = tsig === null ? undefined : findTsigKey(store, tsig);
  return {
    id: toHex(id),
    name,
    ...(ip !== null && { ip }),
    ixfr_enable: ixfrEnable === 1,
    port,
    ...(key && { tsig_id: toHex(key.id) }),
    ...(tlsName !== null && { tls_name: tlsName }),
    ...(tlsPin !== null && { tls_pin: toHex(tlsPin) }),
  };
}
