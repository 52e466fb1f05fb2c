/** Use cases of zones that are transferred from primaries (v4: secondary DNS, incoming). */

import { toHex } from '../../base/bytes.js';
import type { Store } from '../../store/driver.js';
import {
  allIncoming,
  findIncoming,
  type IncomingRow,
  insertIncoming,
  primariesOfZone,
  setIncoming,
  setPrimariesOfZone,
} from '../../store/secondary/incoming.js';
import type { LinkedPeerRow } from '../../store/secondary/linked-peers.js';
import { findZone, updateZone, type ZoneRow } from '../../store/zones/zones.js';
import { accountIdOf, requireAccount, requireZone } from '../guard/access.js';
import { type Actor, OPERATOR } from '../guard/actor.js';
import { shownFailure } from '../guard/peer-failures.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import type { EventKind } from '../kernel/event.js';
import { type TransferState, transferStateOf } from '../rules/transfer-state.js';
import { planConsumption } from '../schedule/consumption.js';
import { dropIncoming, refreshSoon, transferAnew } from '../schedule/refresh.js';
import { secondaryFailure } from './errors.js';
import { requireOneKey, requirePeer, requireZoneName } from './peers.js';

export interface IncomingItem {
  /** Identifier of the zone. */
  readonly id: string;
  /** As the client wrote it. */
  readonly name: string;
  /** Identifiers. */
  readonly peers: readonly string[];
  /** Seconds between two checks; null: as the SOA says. */
  readonly refreshSeconds: number | null;
  /** The serial of the primary's version that is stored; null: none is. */
  readonly serial: number | null;
  /** Microseconds since 1970; null: not yet. */
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly checkedAt: number | null;
}

export interface IncomingInput {
  readonly name: string;
  /** Identifiers. */
  readonly peers: readonly string[];
  readonly auto_refresh_seconds?: number | null | undefined;
}

/** How far the copy of a zone is. */
export interface IncomingStatusItem extends IncomingItem {
  readonly state: TransferState;
  readonly transferredAt: number | null;
  /** When the copy expires unless a primary answers, and when the next check is due. */
  readonly expiresAt: number | null;
  readonly nextAt: number | null;
  /** Why the last check failed. */
  readonly error: string | null;
  /** What is remarkable about the stored version. */
  readonly notice: string | null;
  readonly primaries: readonly PrimaryItem[];
}

export interface NamedStatus extends IncomingStatusItem {
  readonly zoneName: string;
  /** Store numbers. */
  readonly zone: number;
  readonly account: number;
}

export interface PrimaryItem {
  readonly id: string;
  readonly name: string;
  readonly ip: string | null;
  readonly port: number;
  /** What it answered last; null: nothing yet. */
  readonly serial: number | null;
  readonly seenAt: number | null;
  readonly error: string | null;
}

const LEAST_REFRESH = 300;
const MOST_REFRESH = 2_419_200;
const MOST_PRIMARIES = 8;

export async function getIncoming(ctx: Context, zoneId: string): Promise<IncomingItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    return itemOf(ctx.store, zone, requireIncoming(ctx.store, zone));
  });
}

/** Says from where a secondary zone comes. Its first transfer begins at once. */
export async function createIncoming(ctx: Context, zoneId: string, input: IncomingInput): Promise<IncomingItem> {
  return change(ctx, zoneId, 'incoming.create', (zone, draft) => {
    const { store } = ctx;
    if (zone.type !== 'secondary') throw secondaryFailure('notSecondary', { zone: zone.name });
    if (findIncoming(store, zone.seq)) throw secondaryFailure('incomingExists', { zone: zone.name });
    addIncoming(ctx, draft, zone, input);
  });
}

/** Says from where a zone comes that has no primaries yet; inside a commit. */
export function addIncoming(ctx: Context, draft: Draft, zone: ZoneRow, input: IncomingInput): void {
  const { peers, refresh } = readInput(ctx, zone, input);
  insertIncoming(ctx.store, zone.seq, input.name, refresh, draft.now);
  setPrimariesOfZone(ctx.store, zone.seq, peers);
  refreshSoon(ctx, zone.seq);
}

export async function replaceIncoming(ctx: Context, zoneId: string, input: IncomingInput): Promise<IncomingItem> {
  return change(ctx, zoneId, 'incoming.edit', (zone, draft) => {
    const { store } = ctx;
    requireIncoming(store, zone);
    const { peers, refresh } = readInput(ctx, zone, input);
    setIncoming(store, zone.seq, input.name, refresh, draft.now);
    setPrimariesOfZone(store, zone.seq, peers);
    refreshSoon(ctx, zone.seq);
    planConsumption(ctx, zone.seq);
  });
}

/** Ends the transfers. The copy stays as it is, and is served until it expires no more. */
export async function deleteIncoming(ctx: Context, zoneId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const before = itemOf(ctx.store, zone, requireIncoming(ctx.store, zone));
    dropIncoming(ctx.store, zone.seq);
    draft.event({ kind: 'incoming.delete', zone, before: { peers: before.peers } });
    return { id: before.id };
  });
  return value;
}

/** Has the zone transferred whatever its serial is (v4). */
export async function forceTransfer(ctx: Context, zoneId: string): Promise<void> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    requireIncoming(ctx.store, zone);
    transferAnew(ctx, zone.seq);
    draft.event({ kind: 'incoming.force_axfr', zone });
  });
}

/** How far the copy is, and what each primary answered (ours). */
export async function getIncomingStatus(ctx: Context, zoneId: string): Promise<IncomingStatusItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    return statusOf(ctx.store, ctx.actor, zone, requireIncoming(ctx.store, zone));
  });
}

/** The same of all secondary zones of an account. */
export async function incomingStatuses(ctx: Context, accountId: string): Promise<readonly NamedStatus[]> {
  return ctx.store.snapshot(() => {
    const account = requireAccount(ctx, accountId);
    return namedStatuses(ctx.store, ctx.actor).filter(({ account: of }) => of === account.seq);
  });
}

/** The same of all accounts, as an actor may read it. */
export function namedStatuses(store: Store, actor: Actor = OPERATOR): readonly NamedStatus[] {
  return allIncoming(store).map((row) => {
    const zone = findZone(store, row.zone)!;
    return { ...statusOf(store, actor, zone, row), zoneName: zone.name, zone: zone.seq, account: zone.account };
  });
}

function statusOf(store: Store, actor: Actor, zone: ZoneRow, row: IncomingRow): IncomingStatusItem {
  const primaries = primariesOfZone(store, zone.seq);
  return {
    ...itemOf(store, zone, row),
    state: transferStateOf(zone, row),
    transferredAt: row.transferred_at,
    expiresAt: row.expires_at,
    nextAt: row.next_at,
    error: shownError(actor, row, primaries),
    notice: row.notice,
    primaries: primaries.map(({ id, name, ip, port, serial, seen_at: seenAt, error }) => {
      return { id: toHex(id), name, ip, port, serial, seenAt, error: shownFailure(actor, error) };
    }),
  };
}

/** Why the last check failed, as an actor may read it. */
function shownError(
  actor: Actor,
  { error }: IncomingRow,
  primaries: readonly Pick<LinkedPeerRow, 'name' | 'error'>[],
): string | null {
  if (error === null || actor.superAdministrator) return error;
  const failed = primaries.filter((primary) => primary.error !== null);
  const texts = failed.map((primary) => `${primary.name}: ${shownFailure(actor, primary.error)}`);
  return texts.join('; ') || shownFailure(actor, error);
}

async function change(
  ctx: Context,
  zoneId: string,
  kind: EventKind,
  work: (zone: ZoneRow, draft: Draft) => void,
): Promise<IncomingItem> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const zone = requireZone(ctx, zoneId);
    const known = findIncoming(store, zone.seq);
    const before = known && audited(itemOf(store, zone, known));
    work(zone, draft);
    const item = itemOf(store, zone, requireIncoming(store, zone));
    updateZone(store, zone.seq, { modified_at: draft.now });
    draft.event({ kind, zone, ...(before && { before }), after: audited(item) });
    return item;
  });
  return value;
}

function audited({ peers, refreshSeconds }: IncomingItem): object {
  return { peers, auto_refresh_seconds: refreshSeconds };
}

function readInput(
  ctx: Context,
  zone: ZoneRow,
  { name, peers, auto_refresh_seconds: refresh }: IncomingInput,
): { readonly peers: number[]; readonly refresh: number | null } {
  requireZoneName(zone, name);
  if (peers.length > MOST_PRIMARIES) throw badBody(`a zone has at most ${MOST_PRIMARIES} primaries`, '/peers');
  if (
    typeof refresh === 'number' &&
    !(Number.isInteger(refresh) && refresh >= LEAST_REFRESH && refresh <= MOST_REFRESH)
  ) {
    throw badBody(`auto_refresh_seconds is a number from ${LEAST_REFRESH} to ${MOST_REFRESH}`, '/auto_refresh_seconds');
  }
  const account = accountIdOf(ctx.store, zone);
  const rows = [...new Set(peers)].map((id) => requirePeer(ctx, account, id));
  const without = rows.find(({ ip }) => ip === null);
  if (without) throw secondaryFailure('peerWithoutAddress', { peer: without.name }, { pointer: '/peers' });
  requireOneKey(zone.name, rows);
  return { peers: rows.map(({ seq }) => seq), refresh: refresh ?? null };
}

function requireIncoming(store: Store, zone: ZoneRow): IncomingRow {
  const row = findIncoming(store, zone.seq);
  if (!row) throw secondaryFailure('incomingMissing', { zone: zone.name });
  return row;
}

function itemOf(store: Store, { seq, id }: ZoneRow, row: IncomingRow): IncomingItem {
  return {
    id: toHex(id),
    name: row.name,
    peers: primariesOfZone(store, seq).map((peer) => toHex(peer.id)),
    refreshSeconds: row.refresh,
    serial: row.serial,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    checkedAt: row.checked_at,
  };
}
