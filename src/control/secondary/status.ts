/** What the peers of an account serve. */
import type { Store } from '../../store/driver.js';
import { findOutgoing, peersOfZone, zonesOfPeer } from '../../store/secondary/outgoing.js';
import { findTransferPeerById, transferPeersOfAccount } from '../../store/secondary/peers.js';
import { findZone } from '../../store/zones/zones.js';
import { requireAccount } from '../access/access.js';
import type { Context } from '../write/context.js';
import { isInSync } from './outgoing.js';

/** `not watched`: the peer has no address. */
export type PeerState = 'in sync' | 'behind' | 'unreachable' | 'disabled' | 'not watched';

export interface ZoneAtPeer {
  /** Names. */
  readonly peer: string;
  readonly zone: string;
  readonly state: PeerState;
  /** The serial that it served last; null: never seen. */
  readonly serial: number | null;
  /** The serial of the zone. */
  readonly current: number;
  /** Microseconds since 1970. */
  readonly seenAt: number | null;
  /** Why it did not answer at the last attempt. */
  readonly error: string | null;
}

/** All zones of all peers of an account. */
export async function fleetStatus(ctx: Context, accountId: string): Promise<readonly ZoneAtPeer[]> {
  const { store } = ctx;
  return store.snapshot(() => {
    const account = requireAccount(ctx, accountId);
    return transferPeersOfAccount(store, account.seq).flatMap(({ seq }) =>
      zonesOfPeer(store, seq).map((zone) => statusOf(store, zone, seq)),
    );
  });
}

function statusOf(store: Store, seq: number, peer: number): ZoneAtPeer {
  const zone = findZone(store, seq)!;
  const row = peersOfZone(store, seq).find((known) => known.seq === peer)!;
  const { name, ip, serial, seen_at: seenAt, error } = row;
  const state = (): PeerState => {
    if (findOutgoing(store, seq)!.enabled !== 1) return 'disabled';
    if (ip === null) return 'not watched';
    if (error !== null) return 'unreachable';
    return isInSync(zone.serial, serial) ? 'in sync' : 'behind';
  };
  return { peer: name, zone: zone.name, state: state(), serial, current: zone.serial, seenAt, error };
}

/** Names of the zones that are transferred to the peer with this identifier. */
export function zonesAtPeer(store: Store, id: Uint8Array): readonly string[] {
  const peer = findTransferPeerById(store, id);
  return peer ? zonesOfPeer(store, peer.seq).map((zone) => findZone(store, zone)!.name) : [];
}
