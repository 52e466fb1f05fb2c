/** Use cases of zones: list, get, create, edit, delete, activation. */
import { toHex } from '../../base/bytes.js';
import { domainToAscii } from '../../dns/idna.js';
import { type Condition, matchNothing } from '../../store/condition.js';
import {
  matchAccount,
  matchName,
  matchStatuses,
  type NameOperator,
  selectZones,
  type ZoneOrder,
} from '../../store/zones/query.js';
import {
  assignedNameServers,
  findZone,
  removeZone,
  type ZoneChange,
  type ZoneRow,
  type ZoneStatus,
  type ZoneType,
  zonesOfName,
} from '../../store/zones/zones.js';
import { accountIdOf, chooseAccount, maySeeZone, parseId, requireZone } from '../access/access.js';
import { parseHostName, parseZoneName } from '../rules/names.js';
import { commit, commitAndRead, type Draft } from '../write/commit.js';
import type { Context, Page, PageQuery } from '../write/context.js';
import { badBody } from '../write/errors.js';
import { zoneFailure } from './errors.js';
import { type ZoneItem, zoneItem } from './item.js';
import { addZone, changeZone, refuseHeld } from './write.js';

export type { NameOperator, ZoneOrder } from '../../store/zones/query.js';
export { editDnsSettings, getDnsSettings } from './dns-settings.js';

export interface NameFilter {
  readonly operator: NameOperator;
  readonly value: string;
}

export interface ZoneQuery extends PageQuery {
  readonly name?: NameFilter;
  readonly accountId?: string;
  readonly accountName?: NameFilter;
  readonly statuses?: readonly ZoneStatus[];
  /** All but 'internal' when absent. */
  readonly types?: readonly ZoneType[];
  readonly match?: 'all' | 'any';
  readonly order?: ZoneOrder;
}

/** A zone as a client sends it, unchecked: the parsed JSON body (v4: §3.1). */
export interface ZoneInput {
  readonly name?: unknown;
  readonly account?: unknown;
  readonly type?: unknown;
}

/** PATCH of a zone, unchecked; unknown members such as `plan` are ignored. */
export interface ZoneEdit {
  readonly paused?: unknown;
  readonly type?: unknown;
  readonly vanity_name_servers?: unknown;
}

const DEFAULT_PER_PAGE = 20;
const MOST_PER_PAGE = 1000;
const LISTED_TYPES: readonly ZoneType[] = ['full', 'partial', 'secondary'];
const MOST_VANITY_NAME_SERVERS = 10;

/** Zones the actor sees that fit the query; the others are left out without a word. Default 20 a page, at most 1000. */
export async function listZones(ctx: Context, query: ZoneQuery): Promise<Page<ZoneItem>> {
  const page = Math.max(1, Math.trunc(query.page ?? 1));
  const perPage = Math.min(MOST_PER_PAGE, Math.max(1, Math.trunc(query.perPage ?? DEFAULT_PER_PAGE)));
  const { actor } = ctx;
  return ctx.store.snapshot(() => {
    const { rows, total } = selectZones(ctx.store, {
      accounts: actor.superAdministrator ? undefined : actor.accountIds.flatMap((id) => parseId(id) ?? []),
      zones: actor.zoneIds?.flatMap((id) => parseId(id) ?? []),
      types: query.types ?? LISTED_TYPES,
      match: query.match ?? 'all',
      conditions: conditionsOf(query),
      order: query.order ?? 'name',
      direction: query.direction ?? 'asc',
      limit: perPage,
      offset: (page - 1) * perPage,
    });
    return { items: rows.map((row) => zoneItem(ctx, row)), page, perPage, totalCount: total };
  });
}

function conditionsOf(query: ZoneQuery): Condition[] {
  const conditions: Condition[] = [];
  if (query.name) {
    const { operator, value } = query.name;
    const text = value.trim().replace(/\.$/, '');
    conditions.push(matchName('zone', operator, domainToAscii(text) ?? text));
  }
  if (query.accountId) {
    const id = parseId(query.accountId);
    conditions.push(id ? matchAccount(id) : matchNothing());
  }
  if (query.accountName) conditions.push(matchName('account', query.accountName.operator, query.accountName.value));
  if (query.statuses && query.statuses.length > 0) conditions.push(matchStatuses(query.statuses));
  return conditions;
}

/** Throws 404/1001 when there is none, 403/10000 when it is another account's. */
export async function getZone(ctx: Context, zoneId: string): Promise<ZoneItem> {
  return zoneItem(ctx, requireZone(ctx, zoneId));
}

/** The zone of a name (Unicode or punycode, any case, final dot or not) among those the actor sees; for the command line. */
export async function findZoneByName(ctx: Context, name: string): Promise<ZoneItem | undefined> {
  const parsed = parseZoneName(name);
  const zone = 'name' in parsed ? findVisibleZone(ctx, parsed.name) : undefined;
  return zone && zoneItem(ctx, zone);
}

function findVisibleZone(ctx: Context, name: string): ZoneRow | undefined {
  return zonesOfName(ctx.store, name).find((zone) =>
    maySeeZone(ctx.actor, toHex(zone.id), accountIdOf(ctx.store, zone)),
  );
}

export async function createZone(ctx: Context, input: ZoneInput): Promise<ZoneItem> {
  if (typeof input !== 'object' || input === null) throw badBody('expected an object');
  if (typeof input.name !== 'string') throw badBody('name must be a string', '/name');
  const parsed = parseZoneName(input.name);
  if ('reason' in parsed) throw zoneFailure('badName', parsed, { pointer: '/name' });
  const type = readZoneType(input.type) ?? 'full';
  const accountId = readAccountId(input.account);
  const create = (draft: Draft): number => {
    const account = chooseAccount(ctx, accountId);
    const zone = addZone(ctx, draft, { ...parsed, account: account.seq, type });
    draft.audit({ action: 'zone.create', zone: zone.id, object: zone.id, after: zoneItem(ctx, zone) });
    return zone.seq;
  };
  const read = (seq: number): ZoneItem => zoneItem(ctx, findZone(ctx.store, seq)!);
  return (await commitAndRead(ctx, create, read)).value;
}

function readAccountId(account: unknown): string | undefined {
  if (account === undefined || account === null) return undefined;
  const id: unknown = typeof account === 'object' ? (account as Record<string, unknown>)['id'] : account;
  if (id === undefined || id === null || id === '') return undefined;
  if (typeof id !== 'string') throw badBody('account.id must be a string', '/account/id');
  return id;
}

function readZoneType(type: unknown): ZoneType | undefined {
  if (type === undefined || type === null) return undefined;
  if (type === 'full' || type === 'partial') return type;
  if (type === 'secondary' || type === 'internal') throw zoneFailure('typeUnsupported', { type }, { pointer: '/type' });
  throw badBody('type must be full or partial', '/type');
}

export async function editZone(ctx: Context, zoneId: string, edit: ZoneEdit): Promise<ZoneItem> {
  const change = readEdit(edit);
  return zoneItem(ctx, await changeZone(ctx, zoneId, 'zone.edit', () => change));
}

function readEdit(edit: ZoneEdit): ZoneChange {
  if (typeof edit !== 'object' || edit === null) throw badBody('expected an object');
  const { paused, vanity_name_servers: vanity } = edit;
  const type = readZoneType(edit.type);
  if (paused !== undefined && paused !== null && typeof paused !== 'boolean') {
    throw zoneFailure('badEdit', { reason: 'paused must be true or false.' }, { pointer: '/paused' });
  }
  return {
    ...(typeof paused === 'boolean' ? { paused: paused ? 1 : 0 } : {}),
    ...(type ? { type } : {}),
    ...(vanity === undefined || vanity === null ? {} : { vanity_name_servers: readVanity(vanity) }),
  };
}

function readVanity(list: unknown): string | null {
  const fault = (reason: string) => zoneFailure('badEdit', { reason }, { pointer: '/vanity_name_servers' });
  if (!Array.isArray(list)) throw fault('vanity_name_servers must be a list of host names.');
  if (list.length > MOST_VANITY_NAME_SERVERS) {
    throw fault(`vanity_name_servers may have ${MOST_VANITY_NAME_SERVERS} names at most.`);
  }
  const names = list.map((item) => (typeof item === 'string' ? parseHostName(item) : undefined));
  const bad = names.indexOf(undefined);
  if (bad >= 0)
    throw fault(`vanity_name_servers holds ${JSON.stringify(list[bad]).slice(0, 60)}, which is no host name.`);
  return names.length === 0 ? null : JSON.stringify([...new Set(names)]);
}

/** Deletes the zone with all its records; returns its id. */
export async function deleteZone(ctx: Context, zoneId: string): Promise<string> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    draft.audit({ action: 'zone.delete', zone: zone.id, object: zone.id, before: zoneItem(ctx, zone) });
    draft.noteZone(zone.seq, 'zone-removed');
    removeZone(ctx.store, zone.seq);
  });
  return zoneId;
}

/**
 * Looks at the delegation again and activates the zone when it is right; returns the zone. A zone of the same name in
 * another account that was served until then has moved (v4: §3.2). A name that another account holds is refused (v4: §4).
 */
export async function checkActivation(ctx: Context, zoneId: string): Promise<ZoneItem> {
  const zone = requireZone(ctx, zoneId);
  if (zone.status !== 'active') refuseHeld(ctx, ctx.clock.nowUs(), zone);
  if (zone.status === 'active' || !(await isDelegated(ctx, zone))) return zoneItem(ctx, zone);
  const activated = await changeZone(ctx, zoneId, 'zone.activate', (current, draft) => {
    refuseHeld(ctx, draft.now, current);
    for (const other of zonesOfName(ctx.store, current.name)) {
      if (other.seq === current.seq || other.served === 0) continue;
      draft.setZone(other.seq, { status: 'moved', served: 0 });
      draft.noteZone(other.seq, 'zone-replaced');
      draft.audit({ action: 'zone.move', zone: other.id, object: other.id });
    }
    return { status: 'active', activated_at: draft.now };
  });
  return zoneItem(ctx, activated);
}

async function isDelegated(ctx: Context, zone: ZoneRow): Promise<boolean> {
  // Trust takes a name that is free; one that another account has stays there.
  if (ctx.settings.activation === 'trust') {
    return zonesOfName(ctx.store, zone.name).every((other) => other.seq === zone.seq || other.served === 0);
  }
  const found = await ctx.findDelegation?.(zone.name);
  const delegated = new Set(found?.map((name) => name.toLowerCase().replace(/\.$/, '')));
  return assignedNameServers(zone, ctx.settings.nameServers).every((name) => delegated.has(name));
}
