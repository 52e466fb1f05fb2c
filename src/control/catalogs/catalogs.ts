/** Use cases of catalog zones that this server makes (RFC 9432). */
import { fromHex, toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { lastChange } from '../../store/log/changes.js';
import {
  type CatalogRow,
  catalogsOfAccount,
  findCatalog,
  findCatalogById,
  findMember,
  insertCatalog,
  type MemberRow,
  membersOfCatalog,
  putMember,
} from '../../store/secondary/catalogs.js';
import { insertOutgoing, peersOfZone, setOutgoing, setPeersOfZone } from '../../store/secondary/outgoing.js';
import { findZone, findZoneById, updateZone, type ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireAccount } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { parseNewZoneName } from '../rules/names.js';
import { requireRoomFor } from '../rules/quotas.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { planCatalogs } from '../schedule/catalogs.js';
import { secondaryFailure } from '../secondary/errors.js';
import { requireOneKey, requirePeer } from '../secondary/peers.js';
import { addZone } from '../zones/write.js';
import { deleteZone } from '../zones/zones.js';
import { beginCatalog, updateMember } from './update.js';

export interface CatalogInput {
  /** Default: `catalog.<account identifier>.invalid`. */
  readonly name?: string | null | undefined;
  /** Identifiers. */
  readonly peers: readonly string[];
  /** Default: all. */
  readonly members?: 'all' | 'linked' | null | undefined;
}

export interface CatalogItem {
  readonly id: string;
  readonly zoneId: string;
  readonly name: string;
  readonly peers: readonly string[];
  readonly members: 'all' | 'linked';
  readonly serial: number;
  readonly createdAt: number;
  readonly modifiedAt: number;
}

export interface MemberItem {
  readonly zoneId: string;
  readonly name: string;
  readonly memberId: string;
  readonly group: string | null;
  /** Identifier of the catalog to which the zone goes over. */
  readonly movedTo: string | null;
}

export interface MemberEdit {
  readonly group?: string | null | undefined;
  /** Gives the zone another identifier, so that consumers begin anew with it. */
  readonly reset?: boolean | null | undefined;
  /** Identifier of another catalog. */
  readonly move_to?: string | null | undefined;
}

const MOST_CATALOGS = 20;
const LONGEST_GROUP = 255;

export async function listCatalogs(ctx: Context, accountId: string): Promise<CatalogItem[]> {
  const account = requireAccount(ctx, accountId);
  return ctx.store.snapshot(() => catalogsOfAccount(ctx.store, account.seq).map((row) => itemOf(ctx, row)));
}

export async function getCatalog(ctx: Context, accountId: string, id: string): Promise<CatalogItem> {
  return ctx.store.snapshot(() => itemOf(ctx, requireCatalog(ctx, accountId, id)));
}

export async function listMembers(ctx: Context, accountId: string, id: string): Promise<MemberItem[]> {
  return ctx.store.snapshot(() =>
    membersOfCatalog(ctx.store, requireCatalog(ctx, accountId, id).seq).map((row) => memberItem(ctx, row)),
  );
}

/** Makes the catalog zone, with its first members, and lets its peers transfer it. The job adds the others. */
export async function createCatalog(ctx: Context, accountId: string, input: CatalogInput): Promise<CatalogItem> {
  const name = input.name || `catalog.${accountId}.invalid`;
  const parsed = parseNewZoneName(name);
  if ('reason' in parsed) throw zoneFailure('badName', parsed, { pointer: '/name' });
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    if (catalogsOfAccount(store, account.seq).length >= MOST_CATALOGS) {
      throw secondaryFailure('tooMany', { most: MOST_CATALOGS, things: 'catalogs' });
    }
    if (input.peers.length === 0) throw badBody('a catalog has one peer or more', '/peers');
    const peers = [...new Set(input.peers)].map((peer) => requirePeer(ctx, accountId, peer));
    requireOneKey(parsed.name, peers);
    const zone = addCatalogZone(ctx, draft, { ...parsed, account: account.seq });
    insertOutgoing(store, zone.seq, zone.name, lastChange(store), draft.now);
    setOutgoing(store, zone.seq, true, lastChange(store), draft.now);
    setPeersOfZone(
      store,
      zone.seq,
      peers.map(({ seq }) => seq),
    );
    requireRoomFor(ctx, account.seq, 'lists');
    insertCatalog(store, id, { account: account.seq, zone: zone.seq, members: input.members ?? 'all' }, draft.now);
    const row = findCatalogById(store, id)!;
    if (beginCatalog(ctx, draft, row)) planCatalogs(ctx, account.seq);
    const item = itemOf(ctx, row);
    draft.event({ kind: 'catalog.create', account: account.seq, id, name: item.name, after: item });
    return item;
  });
  return getCatalog(ctx, accountId, value.id);
}

/** It is served, although it is not a zone that clients edit. */
function addCatalogZone(
  ctx: Context,
  draft: Draft,
  zone: { readonly name: string; readonly apex: Uint8Array; readonly account: number },
): ZoneRow {
  const { seq } = addZone(ctx, draft, { ...zone, type: 'internal', nameServerMode: 'records' });
  const soa = { soa_mname: 'invalid', soa_rname: 'invalid', soa_refresh: 3600, soa_retry: 600 } as const;
  updateZone(ctx.store, seq, {
    ...soa,
    soa_expire: 1_209_600,
    soa_minimum: 0,
    soa_ttl: 0,
    status: 'active',
    served: 1,
  });
  return findZone(ctx.store, seq)!;
}

/** The zones in it stay as they are, and consumers drop them. */
export async function deleteCatalog(ctx: Context, accountId: string, id: string): Promise<{ readonly id: string }> {
  const { zone } = requireCatalog(ctx, accountId, id);
  await deleteZone(ctx, toHex(findZone(ctx.store, zone)!.id));
  return { id };
}

/** Changes what the catalog says about a zone. */
export async function editMember(
  ctx: Context,
  accountId: string,
  catalogId: string,
  zoneId: string,
  edit: MemberEdit,
): Promise<MemberItem> {
  const { group } = edit;
  if (group && Buffer.byteLength(group) > LONGEST_GROUP)
    throw badBody(`a group has up to ${LONGEST_GROUP} octets`, '/group');
  const fresh = ctx.random.bytes(16);
  const { value } = await commit(ctx, (draft) => {
    const catalog = requireCatalog(ctx, accountId, catalogId);
    const member = requireMember(ctx, catalog, zoneId);
    const after = {
      ...member,
      ...(group !== undefined && { grp: group || null }),
      ...(edit.reset && { member_id: fresh }),
    };
    if (edit.move_to) moveMember(ctx, draft, after, requireCatalog(ctx, accountId, edit.move_to));
    else putMember(ctx.store, after);
    updateMember(ctx, draft, catalog, member);
    planCatalogs(ctx, catalog.account);
    const item = memberItem(ctx, requireMember(ctx, catalog, zoneId));
    const before = memberItem(ctx, member);
    draft.event({
      kind: 'catalog.edit',
      account: catalog.account,
      id: catalog.id,
      name: itemOf(ctx, catalog).name,
      before,
      after: item,
    });
    return item;
  });
  return value;
}

/**
 * The zone stands in both catalogs, and the old one names the new one, so that consumers take it over with its state
 * (RFC 9432 §4.3.1).
 */
function moveMember(ctx: Context, draft: Draft, member: MemberRow, target: CatalogRow): void {
  if (target.seq === member.catalog) throw badBody('the zone is in this catalog already', '/move_to');
  putMember(ctx.store, { ...member, moved_to: target.seq, moved_at: draft.now });
  const arrived = { ...member, catalog: target.seq, moved_to: null, moved_at: null };
  const before = findMember(ctx.store, target.seq, member.zone);
  putMember(ctx.store, arrived);
  updateMember(ctx, draft, target, before ?? arrived);
}

function requireCatalog(ctx: Context, accountId: string, catalogId: string): CatalogRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(catalogId);
  const row = id && findCatalogById(ctx.store, id);
  if (row?.account !== account.seq) throw secondaryFailure('catalogMissing', { id: catalogId.slice(0, 64) });
  return row;
}

function requireMember({ store }: Context, { seq }: CatalogRow, zoneId: string): MemberRow {
  const id = fromHex(zoneId);
  const zone = id && findZoneById(store, id);
  const found = zone && findMember(store, seq, zone.seq);
  if (!found) throw secondaryFailure('memberMissing', { id: zoneId.slice(0, 64) });
  return found;
}

function itemOf({ store }: Context, row: CatalogRow): CatalogItem {
  const zone = findZone(store, row.zone)!;
  return {
    id: toHex(row.id),
    zoneId: toHex(zone.id),
    name: zone.name,
    peers: peersOfZone(store, zone.seq).map(({ id }) => toHex(id)),
    members: row.members,
    serial: zone.serial,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
}

function memberItem({ store }: Context, { zone, name, member_id: id, grp, moved_to: to }: MemberRow): MemberItem {
  const target = to === null ? undefined : findCatalog(store, to);
  return {
    zoneId: toHex(findZone(store, zone)!.id),
    name,
    memberId: toHex(id),
    group: grp,
    movedTo: target ? toHex(target.id) : null,
  };
}
