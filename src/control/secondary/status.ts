/** What the peers of an account serve. */

import { toHex } from '../../base/bytes.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Store } from '../../store/driver.js';
import { changesSince } from '../../store/log/changes.js';
import {
  countZonesOfPeers,
  findOutgoing,
  type LaggingPeerRow,
  laggingPeers,
  peersOfZone,
  zonesOfPeer,
} from '../../store/secondary/outgoing.js';
import { findTransferPeerById, transferPeersOfAccount } from '../../store/secondary/peers.js';
import { findZone } from '../../store/zones/zones.js';
import { requireAccount } from '../guard/access.js';
import { shownFailure } from '../guard/peer-failures.js';
import type { Context } from '../kernel/context.js';
import { standingOf } from '../zones/peer-progress.js';

/** `ahead`: it has a newer version than this server. `not watched`: the peer has no address. */
export type PeerState = 'in sync' | 'behind' | 'ahead' | 'unreachable' | 'disabled' | 'not watched';

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
      zonesOfPeer(store, seq).map((zone) => statusOf(ctx, zone, seq)),
    );
  });
}

/** Peers whose zones are counted in metrics. */
const MOST_COUNTED = 100;

/** How many zones each peer serves as they are. */
export function peerSamples(store: Store): MetricSample[] {
  const about = {
    name: 'secondary_zones',
    type: 'gauge',
    help: 'Zones by secondary and by what it serves of them',
  } as const;
  return countZonesOfPeers(store, MOST_COUNTED).flatMap(({ id, name, in_sync: inSync, behind, ahead, unreachable }) => {
    const counts = { in_sync: inSync, behind, ahead, unreachable };
    return Object.entries(counts).map(([state, value]) => ({
      ...about,
      labels: { secondary: name, id: toHex(id), state },
      value,
    }));
  });
}

/** A secondary that does not serve zones as they are, although they changed a while ago. */
export interface PeerNotice {
  readonly peer: string;
  /** Why it did not answer; undefined: it is behind or ahead. */
  readonly error: string | undefined;
  readonly isAhead: boolean;
  /** Names, some of them. */
  readonly zones: readonly string[];
  /** All of them. */
  readonly count: number;
  /** Identifier of the zone, if it is one. */
  readonly zone: string | undefined;
}

/** Zones that are looked at, and that are named for each peer. */
const MOST_LOOKED_AT = 10_000;
const MOST_NAMED = 3;

/** `graceUs`: how long a peer may be behind without a notice, in microseconds. `isShown`: of a zone (store number). */
export function peerNotices(
  store: Store,
  nowUs: number,
  graceUs: number,
  isShown: (zone: number) => boolean,
): PeerNotice[] {
  const late = laggingPeers(store, MOST_LOOKED_AT).filter(({ error, seq, serial, modified_at: modified }) => {
    if (!isShown(seq)) return false;
    const since = serial === null ? modified : (changesSince(store, seq, serial, 0)[0]?.at_us ?? 0);
    return error !== null || since < nowUs - graceUs;
  });
  const isAheadOf = ({ error, serial, current }: LaggingPeerRow): boolean =>
    error === null && standingOf(current, serial) === 'ahead';
  const groups = Map.groupBy(late, (row) => JSON.stringify([row.peer, row.error, isAheadOf(row)]));
  return [...groups.values()].map((rows) => ({
    peer: rows[0]!.peer,
    error: rows[0]!.error ?? undefined,
    isAhead: isAheadOf(rows[0]!),
    zones: rows.slice(0, MOST_NAMED).map(({ zone }) => zone),
    count: rows.length,
    zone: rows.length === 1 ? toHex(findZone(store, rows[0]!.seq)!.id) : undefined,
  }));
}

function statusOf({ store, actor }: Context, seq: number, peer: number): ZoneAtPeer {
  const zone = findZone(store, seq)!;
  const row = peersOfZone(store, seq).find((known) => known.seq === peer)!;
  const { name, ip, serial, seen_at: seenAt, error } = row;
  const state = (): PeerState => {
    if (findOutgoing(store, seq)!.enabled !== 1) return 'disabled';
    if (ip === null) return 'not watched';
    if (error !== null) return 'unreachable';
    return standingOf(zone.serial, serial);
  };
  return {
    peer: name,
    zone: zone.name,
    state: state(),
    serial,
    current: zone.serial,
    seenAt,
    error: shownFailure(actor, error),
  };
}

/** Names of the zones that are transferred to the peer with this identifier, without catalogs. */
export function zonesAtPeer(store: Store, id: Uint8Array): readonly string[] {
  const peer = findTransferPeerById(store, id);
  const zones = peer ? zonesOfPeer(store, peer.seq).map((zone) => findZone(store, zone)!) : [];
  return zones.filter(({ type }) => type !== 'internal').map(({ name }) => name);
}
