/** Use cases of a zone's transfers to its peers (v4: secondary DNS, outgoing). */

import { toHex } from '../../base/bytes.js';
import type { Store } from '../../store/driver.js';
import { lastChange } from '../../store/log/changes.js';
import {
  findOutgoing,
  insertOutgoing,
  type OutgoingRow,
  peersOfZone,
  removeOutgoing,
  renameOutgoing,
  setOutgoing,
  setPeersOfZone,
} from '../../store/secondary/outgoing.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { isCompactZone } from '../dnssec/switch-denial.js';
import { accountIdOf, requireZone } from '../guard/access.js';
import { shownFailure } from '../guard/peer-failures.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import type { EventKind } from '../kernel/event.js';
import { planCatalogs } from '../schedule/catalogs.js';
import { standingOf } from '../zones/peer-progress.js';
import { secondaryFailure } from './errors.js';
import { passPeers } from './newer-serial.js';
import { requireOneKey, requirePeer, requireZoneName } from './peers.js';

export interface OutgoingItem {
  /** Identifier of the zone. */
  readonly id: string;
  /** As the client wrote it. */
  readonly name: string;
  /** Identifiers. */
  readonly peers: readonly string[];
  readonly enabled: boolean;
  readonly serial: number;
  /** Microseconds since 1970; null: not yet. */
  readonly createdAt: number;
  readonly checkedAt: number | null;
  readonly transferredAt: number | null;
}

export interface OutgoingInput {
  readonly name: string;
  /** Identifiers. */
  readonly peers: readonly string[];
}

/** What a peer of a zone serves. */
export interface PeerStatusItem {
  readonly id: string;
  readonly name: string;
  readonly ip: string | null;
  readonly port: number;
  /** The serial that it served last; null: never seen. */
  readonly serial: number | null;
  readonly inSync: boolean;
  /** It has a newer version than this server. */
  readonly isAhead: boolean;
  readonly seenAt: number | null;
  /** Why it did not answer at the last attempt. */
  readonly error: string | null;
}

const MOST_PEERS_OF_ZONE = 30;

export async function getOutgoing(ctx: Context, zoneId: string): Promise<OutgoingItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    return itemOf(ctx.store, zone, requireOutgoing(ctx.store, zone));
  });
}

/** Links the zone to its peers; transfers begin when they are enabled (v4). */
export async function createOutgoing(ctx: Context, zoneId: string, input: OutgoingInput): Promise<OutgoingItem> {
  return change(ctx, zoneId, 'outgoing.create', (zone, draft) => {
    if (findOutgoing(ctx.store, zone.seq)) throw secondaryFailure('outgoingExists', { zone: zone.name });
    const peers = readPeers(ctx, zone, input);
    insertOutgoing(ctx.store, zone.seq, input.name, lastChange(ctx.store), draft.now);
    setPeersOfZone(ctx.store, zone.seq, peers);
  });
}

export async function replaceOutgoing(ctx: Context, zoneId: string, input: OutgoingInput): Promise<OutgoingItem> {
  return change(ctx, zoneId, 'outgoing.edit', (zone, draft) => {
    requireOutgoing(ctx.store, zone);
    const peers = readPeers(ctx, zone, input);
    renameOutgoing(ctx.store, zone.seq, input.name, draft.now);
    setPeersOfZone(ctx.store, zone.seq, peers);
  });
}

export async function deleteOutgoing(ctx: Context, zoneId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const before = itemOf(ctx.store, zone, requireOutgoing(ctx.store, zone));
    removeOutgoing(ctx.store, zone.seq);
    planCatalogs(ctx, zone.account);
    draft.event({ kind: 'outgoing.delete', zone, before: { peers: before.peers } });
    return { id: before.id };
  });
  return value;
}

/** Whether transfers are allowed. Disabling forgets the history: a peer that comes later gets the whole zone (v4). */
export async function enableOutgoing(ctx: Context, zoneId: string, enabled: boolean): Promise<OutgoingItem> {
  return change(ctx, zoneId, enabled ? 'outgoing.enable' : 'outgoing.disable', (zone, draft) => {
    const { history_after: after } = requireOutgoing(ctx.store, zone);
    setOutgoing(ctx.store, zone.seq, enabled, enabled ? after : lastChange(ctx.store), draft.now);
  });
}

/**
 * Forgets the history, so that peers get the whole zone (v4), and passes the serials of peers that have a newer version. The
 * notifier tells them.
 */
export async function forgetHistory(ctx: Context, zoneId: string): Promise<OutgoingItem> {
  return change(ctx, zoneId, 'outgoing.force_notify', (zone, draft) => {
    const { enabled } = requireOutgoing(ctx.store, zone);
    setOutgoing(ctx.store, zone.seq, enabled === 1, lastChange(ctx.store), draft.now);
    passPeers(ctx.store, draft, zone);
  });
}

/** What the peers of a zone serve (ours). */
export async function getPeerStatus(ctx: Context, zoneId: string): Promise<readonly PeerStatusItem[]> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    requireOutgoing(ctx.store, zone);
    return peerStatusOf(ctx, zone);
  });
}

/** The same for a zone that need not have peers. */
function peerStatusOf({ store, actor }: Context, { seq, serial: current }: ZoneRow): readonly PeerStatusItem[] {
  return peersOfZone(store, seq).map(({ id, name, ip, port, serial, seen_at: seenAt, error }) => ({
    id: toHex(id),
    name,
    ip,
    port,
    serial,
    inSync: standingOf(current, serial) === 'in sync',
    isAhead: standingOf(current, serial) === 'ahead',
    seenAt,
    error: shownFailure(actor, error),
  }));
}

async function change(
  ctx: Context,
  zoneId: string,
  kind: EventKind,
  work: (zone: ZoneRow, draft: Draft) => void,
): Promise<OutgoingItem> {
  const { value } = await commit(ctx, (draft) => draftChange(ctx, draft, requireZone(ctx, zoneId), kind, work));
  return value;
}

function draftChange(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  kind: EventKind,
  work: (zone: ZoneRow, draft: Draft) => void,
): OutgoingItem {
  const { store } = ctx;
  const known = findOutgoing(store, zone.seq);
  const before = known && itemOf(store, zone, known);
  work(zone, draft);
  planCatalogs(ctx, zone.account);
  const item = itemOf(store, zone, requireOutgoing(store, zone));
  const audited = ({ peers, enabled }: OutgoingItem): object => ({ peers, enabled });
  draft.event({
    kind,
    zone,
    ...(before && { before: audited(before) }),
    after: audited(item),
  });
  return item;
}

/**
 * Lets one more peer transfer the zone, whatever it had before; inside a write. Throws 404, and 400 for a peer with another
 * key.
 */
export function draftLink(ctx: Context, draft: Draft, zone: ZoneRow, peerId: string): OutgoingItem {
  const { store } = ctx;
  const known = findOutgoing(store, zone.seq);
  return draftChange(ctx, draft, zone, known ? 'outgoing.edit' : 'outgoing.create', () => {
    const name = known?.name ?? zone.name;
    const ids = peersOfZone(store, zone.seq).map(({ id }) => toHex(id));
    const peers = readPeers(ctx, zone, { name, peers: [...ids, peerId] });
    const historyAfter = known?.history_after ?? lastChange(store);
    if (!known) insertOutgoing(store, zone.seq, name, historyAfter, draft.now);
    setPeersOfZone(store, zone.seq, peers);
    setOutgoing(store, zone.seq, true, historyAfter, draft.now);
  });
}

/** Peers would need the keys of a zone that proves absence by compact denial. Throws 400. */
function requireNoCompactDenial({ store }: Context, zone: ZoneRow): void {
  if (isCompactZone(store, zone.seq)) throw secondaryFailure('compactDenial', { zone: zone.name });
}

/** Whether zones (identifiers) can be transferred at all. */
export async function transferableZones(ctx: Context, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const can = (id: string): boolean => !isCompactZone(ctx.store, requireZone(ctx, id).seq);
  return ctx.store.snapshot(() => new Set(ids.filter(can)));
}

function readPeers(ctx: Context, zone: ZoneRow, { name, peers }: OutgoingInput): number[] {
  requireNoCompactDenial(ctx, zone);
  requireZoneName(zone, name);
  if (peers.length > MOST_PEERS_OF_ZONE) throw badBody(`a zone has at most ${MOST_PEERS_OF_ZONE} peers`, '/peers');
  const account = accountIdOf(ctx.store, zone);
  const rows = [...new Set(peers)].map((id) => requirePeer(ctx, account, id));
  requireOneKey(zone.name, rows);
  return rows.map(({ seq }) => seq);
}

function requireOutgoing(store: Store, zone: ZoneRow): OutgoingRow {
  const row = findOutgoing(store, zone.seq);
  if (!row) throw secondaryFailure('outgoingMissing', { zone: zone.name });
  return row;
}

function itemOf(store: Store, zone: ZoneRow, row: OutgoingRow): OutgoingItem {
  return {
    id: toHex(zone.id),
    name: row.name,
    peers: peersOfZone(store, zone.seq).map(({ id }) => toHex(id)),
    enabled: row.enabled === 1,
    serial: zone.serial,
    createdAt: row.created_at,
    checkedAt: row.checked_at,
    transferredAt: row.transferred_at,
  };
}
