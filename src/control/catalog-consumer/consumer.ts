/** Use cases of catalog zones of other servers (RFC 9432), whose members become secondary zones of an account. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import {
  allConsumedCatalogs,
  type ConsumedCatalogRow,
  confirmConsumed,
  consumedCatalogsOfAccount,
  consumedMembers,
  countConsumedMembers,
  findConsumedCatalogById,
  insertConsumedCatalog,
} from '../../store/secondary/consumed-catalogs.js';
import { findIncoming, primariesOfZone } from '../../store/secondary/incoming.js';
import { countRemovedZones } from '../../store/secondary/removed-zones.js';
import { findZone } from '../../store/zones/zones.js';
import { parseId, requireAccount } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { parseNewZoneName } from '../rules/names.js';
import { requireRoomFor } from '../rules/quotas.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { planConsumption } from '../schedule/consumption.js';
import { secondaryFailure } from '../secondary/errors.js';
import { addIncoming, type IncomingInput } from '../secondary/incoming.js';
import { addZone } from '../zones/write.js';
import { dropZone } from '../zones/zones.js';

export interface ConsumedCatalogItem {
  readonly id: string;
  readonly zoneId: string;
  /** Store number. */
  readonly account: number;
  readonly name: string;
  /** Identifiers of its primaries. */
  readonly peers: readonly string[];
  /** `waiting`: no version came yet. `broken`: the newest version is not followed. `held`: it waits for a person. */
  readonly state: 'waiting' | 'current' | 'broken' | 'held';
  /** The version that was followed last. */
  readonly serial: number | null;
  /** Why the newest version is not followed. */
  readonly fault: string | null;
  /** Zones that would go, but wait for a person. */
  readonly held: number;
  /** Members that are zones here, and members that cannot be. */
  readonly zones: number;
  readonly problems: number;
  /** Zones that left it and are kept, unserved. */
  readonly removed: number;
  /** Microseconds since 1970. */
  readonly followedAt: number | null;
  readonly createdAt: number;
}

export interface ConsumedMemberItem {
  readonly name: string;
  /** The label under which it stands in the catalog. */
  readonly memberId: string;
  /** Identifier of the zone; null: there is none, for the reason in `problem`. */
  readonly zoneId: string | null;
  readonly group: string | null;
  /** Name of the catalog to which it goes over. */
  readonly movesTo: string | null;
  readonly problem: string | null;
}

const MOST_CATALOGS = 20;

export async function listConsumed(ctx: Context, accountId: string): Promise<ConsumedCatalogItem[]> {
  const account = requireAccount(ctx, accountId);
  return ctx.store.snapshot(() =>
    consumedCatalogsOfAccount(ctx.store, account.seq).map((row) => itemOf(ctx.store, row)),
  );
}

export async function getConsumed(ctx: Context, accountId: string, id: string): Promise<ConsumedCatalogItem> {
  return ctx.store.snapshot(() => itemOf(ctx.store, requireConsumed(ctx, accountId, id)));
}

/** The same of all accounts, for the operator. */
export function allConsumed(store: Store): ConsumedCatalogItem[] {
  return allConsumedCatalogs(store).map((row) => itemOf(store, row));
}

export async function listConsumedMembers(ctx: Context, accountId: string, id: string): Promise<ConsumedMemberItem[]> {
  const { store } = ctx;
  return store.snapshot(() =>
    Array.from(consumedMembers(store, requireConsumed(ctx, accountId, id).seq), (row) => ({
      name: row.name,
      memberId: row.member_id,
      zoneId: row.zone === null ? null : toHex(findZone(store, row.zone)!.id),
      group: row.grp,
      movesTo: row.moves_to,
      problem: row.problem,
    })),
  );
}

/** Adds the catalog zone; its transfer, and then those of its members, begin at once. */
export async function consumeCatalog(
  ctx: Context,
  accountId: string,
  input: IncomingInput,
): Promise<ConsumedCatalogItem> {
  const parsed = parseNewZoneName(input.name);
  if ('reason' in parsed) throw zoneFailure('badName', parsed, { pointer: '/name' });
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    if (consumedCatalogsOfAccount(store, account.seq).length >= MOST_CATALOGS) {
      throw secondaryFailure('tooMany', { most: MOST_CATALOGS, things: 'catalogs of other servers' });
    }
    if (input.peers.length === 0) throw badBody('a catalog has one primary or more', '/peers');
    const { seq: of } = account;
    const zone = addZone(ctx, draft, { ...parsed, account: of, type: 'secondary', nameServerMode: 'records' });
    addIncoming(ctx, draft, zone, input);
    requireRoomFor(ctx, of, 'lists');
    insertConsumedCatalog(store, id, of, zone.seq, draft.now);
    const item = itemOf(store, findConsumedCatalogById(store, id)!);
    draft.event({ kind: 'consumed_catalog.create', account: of, id, name: item.name, after: item });
    return item;
  });
  return value;
}

/** Ends following it. Its members stay as secondary zones of their own. */
export async function forgetConsumed(ctx: Context, accountId: string, id: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireConsumed(ctx, accountId, id);
    const before = itemOf(ctx.store, row);
    dropZone(ctx, draft, findZone(ctx.store, row.zone)!);
    draft.event({ kind: 'consumed_catalog.delete', account: row.account, id: row.id, name: before.name, before });
    return { id: before.id };
  });
  return value;
}

/** Lets the zones go that the stored version of the catalog does not have. Throws 400 when none wait. */
export async function confirmRemovals(ctx: Context, accountId: string, id: string): Promise<ConsumedCatalogItem> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requireConsumed(ctx, accountId, id);
    const serial = findIncoming(store, row.zone)?.serial ?? null;
    if (row.held === 0 || serial === null) throw secondaryFailure('nothingHeld');
    confirmConsumed(store, row.seq, serial, draft.now);
    planConsumption(ctx, row.zone);
    const item = itemOf(store, row);
    const after = { serial, zones: row.held };
    draft.event({ kind: 'consumed_catalog.confirm', account: row.account, id: row.id, name: item.name, after });
    return item;
  });
  return value;
}

function requireConsumed(ctx: Context, accountId: string, catalogId: string): ConsumedCatalogRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(catalogId);
  const row = id && findConsumedCatalogById(ctx.store, id);
  if (row?.account !== account.seq) throw secondaryFailure('catalogMissing', { id: catalogId.slice(0, 64) });
  return row;
}

function itemOf(store: Store, row: ConsumedCatalogRow): ConsumedCatalogItem {
  const zone = findZone(store, row.zone)!;
  const { serial, fault, held } = row;
  const state = fault !== null ? 'broken' : held > 0 ? 'held' : serial === null ? 'waiting' : 'current';
  return {
    id: toHex(row.id),
    zoneId: toHex(zone.id),
    account: row.account,
    name: zone.name,
    peers: primariesOfZone(store, zone.seq).map(({ id }) => toHex(id)),
    state,
    serial,
    fault,
    held,
    ...countConsumedMembers(store, row.seq),
    removed: countRemovedZones(store, row.seq),
    followedAt: row.followed_at,
    createdAt: row.created_at,
  };
}
