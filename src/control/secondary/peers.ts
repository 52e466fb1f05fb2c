/** Use cases of peers: servers of other operators to which zones are transferred (v4: secondary DNS). */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
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
import { findZone } from '../../store/zones/zones.js';
import { parseId, requireAccount } from '../access/access.js';
import { commit } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { secondaryFailure } from './errors.js';
import { type PeerInput, readPeer } from './input.js';
import { requireKey } from './tsigs.js';

export interface PeerItem {
  readonly id: string;
  readonly name: string;
  readonly ip?: string;
  readonly ixfr_enable: boolean;
  readonly port: number;
  readonly tsig_id?: string;
}

const MOST_PEERS = 200;

export async function listPeers(ctx: Context, accountId: string): Promise<PeerItem[]> {
  const account = requireAccount(ctx, accountId);
  return transferPeersOfAccount(ctx.store, account.seq).map((row) => itemOf(ctx.store, row));
}

export async function getPeer(ctx: Context, accountId: string, id: string): Promise<PeerItem> {
  return itemOf(ctx.store, requirePeer(ctx, accountId, id));
}

export async function createPeer(ctx: Context, accountId: string, input: PeerInput): Promise<PeerItem> {
  const after = readPeer(input);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    if (transferPeersOfAccount(store, account.seq).length >= MOST_PEERS) {
      throw secondaryFailure('tooMany', { most: MOST_PEERS, things: 'peers' });
    }
    const tsig = keyOf(ctx, accountId, input);
    insertTransferPeer(store, id, account.seq, { ...after, tsig }, draft.now);
    const audited = { ...after, tsig_id: input.tsig_id ?? null };
    draft.audit({ action: 'transfer_peer.create', account: account.seq, object: id, after: audited });
    return itemOf(store, findTransferPeerById(store, id)!);
  });
  return value;
}

export async function replacePeer(
  ctx: Context,
  accountId: string,
  peerId: string,
  input: PeerInput,
): Promise<PeerItem> {
  const after = readPeer(input);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requirePeer(ctx, accountId, peerId);
    const before = itemOf(store, row);
    updateTransferPeer(store, row.seq, { ...after, tsig: keyOf(ctx, accountId, input) }, draft.now);
    for (const zone of zonesOfPeer(store, row.seq)) {
      requireOneKey(findZone(store, zone)!.name, peersOfZone(store, zone));
    }
    const item = itemOf(store, findTransferPeer(store, row.seq)!);
    draft.audit({ action: 'transfer_peer.edit', account: row.account, object: row.id, before, after: item });
    return item;
  });
  return value;
}

/** Throws 400 while a zone is transferred to the peer. */
export async function deletePeer(ctx: Context, accountId: string, peerId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requirePeer(ctx, accountId, peerId);
    const [zone] = zonesOfPeer(store, row.seq);
    if (zone !== undefined) throw secondaryFailure('peerInUse', { zone: findZone(store, zone)!.name });
    const before = itemOf(store, row);
    removeTransferPeer(store, row.seq);
    draft.audit({ action: 'transfer_peer.delete', account: row.account, object: row.id, before });
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

/** A peer without a key beside one with a key would make the key useless. Throws 400. */
export function requireOneKey(zone: string, peers: readonly TransferPeerRow[]): void {
  if (new Set(peers.map(({ tsig }) => tsig)).size > 1) throw secondaryFailure('mixedKeys', { zone });
}

function keyOf(ctx: Context, accountId: string, { tsig_id: keyId }: PeerInput): number | null {
  return keyId ? requireKey(ctx, accountId, keyId).seq : null;
}

function itemOf(store: Store, { id, name, ip, port, ixfr_enable: ixfrEnable, tsig }: TransferPeerRow): PeerItem {
  const key = tsig === null ? undefined : findTsigKey(store, tsig);
  return {
    id: toHex(id),
    name,
    ...(ip !== null && { ip }),
    ixfr_enable: ixfrEnable === 1,
    port,
    ...(key && { tsig_id: toHex(key.id) }),
  };
}
