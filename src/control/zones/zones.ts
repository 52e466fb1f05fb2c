/** Use cases of zones: list, get, create, edit, delete, activation. */
import { toHex } from '../../base/bytes.js';
import { domainToAscii } from '../../dns/idna.js';
import { type Condition, matchNothing } from '../../store/condition.js';
import { signalsOfChild } from '../../store/dnssec/signals.js';
import { activeHostnamesOfZone } from '../../store/hostnames/hostnames.js';
import { forgetRemovedZone } from '../../store/secondary/removed-zones.js';
import {
  LISTED_TYPES,
  matchAccount,
  matchName,
  matchStatuses,
  matchZoneNames,
  type NameOperator,
  selectZones,
  type ZoneOrder,
  type ZoneSelection,
} from '../../store/zones/query.js';
import {
  findZone,
  removeZone,
  type ZoneChange,
  type ZoneRow,
  type ZoneStatus,
  type ZoneType,
  zonesOfName,
} from '../../store/zones/zones.js';
import { dropCertificatesOfZone } from '../certificates/drop.js';
import { accountIdOf, chooseAccount, maySeeZone, parseId, requireZone } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { commit, commitAndRead, type Draft } from '../kernel/commit.js';
import { type Context, type Page, type PageQuery, PageTooLong } from '../kernel/context.js';
import { planRemoval } from '../kernel/unused-records.js';
import { parseHostName, parseNewZoneName, parseZoneName } from '../rules/names.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { dropIncoming } from '../schedule/refresh.js';
import { lookAtParentSoon } from '../schedule/signing.js';
import { settleClaims } from './claims.js';
import { type ZoneItem, zoneItem } from './item.js';
import { addZone, changeAnswers, changeZone } from './write.js';

export type { NameOperator, ZoneOrder } from '../../store/zones/query.js';

export interface NameFilter {
  readonly operator: NameOperator;
  readonly value: string;
}

export interface ZoneQuery extends PageQuery {
  readonly name?: NameFilter;
  /** A name at or below the zones' names. */
  readonly encloses?: string;
  readonly accountId?: string;
  readonly accountName?: NameFilter;
  readonly statuses?: readonly ZoneStatus[];
  /** Default: all except 'internal'. */
  readonly types?: readonly ZoneType[];
  readonly match?: 'all' | 'any';
  readonly order?: ZoneOrder;
  /** Zones that may be looked through for a page; where there are more, {@link PageTooLong} is thrown. */
  readonly mostRead?: number | undefined;
}

/** A zone as a client sends it (v4: §3.1). Null and an empty account mean that a member is absent. */
export interface ZoneInput {
  readonly name: string;
  readonly account?: string | { readonly id?: string | null | undefined } | null | undefined;
  readonly type?: ZoneType | null | undefined;
}

/** PATCH of a zone; null means that a member is absent. */
export interface ZoneEdit {
  readonly paused?: boolean | null | undefined;
  readonly type?: ZoneType | null | undefined;
  readonly vanity_name_servers?: readonly string[] | null | undefined;
}

const DEFAULT_PER_PAGE = 20;
const MOST_PER_PAGE = 1000;

/** The zones that match the query and that the actor may see. Default 20 a page, at most 1000. */
export async function listZones(ctx: Context, query: ZoneQuery): Promise<Page<ZoneItem>> {
  const page = Math.max(1, Math.trunc(query.page ?? 1));
  const perPage = Math.min(MOST_PER_PAGE, Math.max(1, Math.trunc(query.perPage ?? DEFAULT_PER_PAGE)));
  const { actor } = ctx;
  return ctx.store.snapshot(() => {
    const found = selectZones(ctx.store, {
      ...visibleIn(actor),
      zones: actor.zoneIds?.flatMap((id) => parseId(id) ?? []),
      types: query.types ?? LISTED_TYPES,
      match: query.match ?? 'all',
      conditions: conditionsOf(query),
      order: query.order ?? 'name',
      direction: query.direction ?? 'asc',
      limit: perPage,
      offset: (page - 1) * perPage,
      mostRead: isOneName(query) ? undefined : query.mostRead,
    });
    if (!found) throw new PageTooLong();
    return { items: found.rows.map((row) => zoneItem(ctx, row)), page, perPage, totalCount: found.total };
  });
}

/** An index finds it. */
function isOneName({ name, match }: ZoneQuery): boolean {
  return name?.operator === 'equal' && match !== 'any';
}

/** Accounts of which the actor sees all zones, and zones that it sees besides. */
function visibleIn({
  superAdministrator,
  accountIds,
  zonesIn = {},
}: Actor): Pick<ZoneSelection, 'accounts' | 'besides'> {
  if (superAdministrator) return { accounts: undefined };
  const octets = (ids: readonly string[]): Uint8Array[] => ids.flatMap((id) => parseId(id) ?? []);
  const besides = accountIds.flatMap((id) => zonesIn[id] ?? []);
  return { accounts: octets(accountIds.filter((id) => !zonesIn[id])), besides: octets(besides) };
}

function conditionsOf(query: ZoneQuery): Condition[] {
  const conditions: Condition[] = [];
  if (query.name) {
    const { operator, value } = query.name;
    const text = value.trim().replace(/\.$/, '');
    conditions.push(matchName('zone', operator, domainToAscii(text) ?? text));
  }
  if (query.encloses !== undefined) conditions.push(matchEnclosing(query.encloses));
  if (query.accountId) {
    const id = parseId(query.accountId);
    conditions.push(id ? matchAccount(id) : matchNothing());
  }
  if (query.accountName) conditions.push(matchName('account', query.accountName.operator, query.accountName.value));
  if (query.statuses && query.statuses.length > 0) conditions.push(matchStatuses(query.statuses));
  return conditions;
}

/** Zones in which a name may lie. */
function matchEnclosing(text: string): Condition {
  const parsed = parseZoneName(text);
  if ('reason' in parsed) return matchNothing();
  const labels = parsed.name.split('.');
  return matchZoneNames(labels.map((_, first) => labels.slice(first).join('.')));
}

/** Throws 404/1001 when there is none, 403/10000 when it is another account's. */
export async function getZone(ctx: Context, zoneId: string): Promise<ZoneItem> {
  return zoneItem(ctx, requireZone(ctx, zoneId));
}

/**
 * The zone with a name (Unicode or punycode, any case, with or without the final dot) among those the actor sees; for
 * the command line.
 */
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
  const parsed = parseNewZoneName(input.name);
  if ('reason' in parsed) throw zoneFailure('badName', parsed, { pointer: '/name' });
  const type = input.type === 'secondary' ? input.type : (creatableType(input.type) ?? 'full');
  const { account } = input;
  const accountId = (typeof account === 'string' ? account : account?.id) || undefined;
  const create = (draft: Draft): number => {
    const account = chooseAccount(ctx, accountId);
    const nameServerMode = type === 'secondary' ? 'records' : 'service';
    const zone = addZone(ctx, draft, { ...parsed, account: account.seq, type, nameServerMode });
    draft.event({ kind: 'zone.create', zone, after: zoneItem(ctx, zone) });
    return zone.seq;
  };
  const read = (seq: number): ZoneItem => zoneItem(ctx, findZone(ctx.store, seq)!);
  return (await commitAndRead(ctx, create, read)).value;
}

function creatableType(type: ZoneType | null | undefined): 'full' | 'partial' | undefined {
  if (type === 'internal') throw zoneFailure('typeUnsupported', { type }, { pointer: '/type' });
  if (type === 'secondary') throw zoneFailure('becomesSecondary', {}, { pointer: '/type' });
  return type ?? undefined;
}

export async function editZone(ctx: Context, zoneId: string, edit: ZoneEdit): Promise<ZoneItem> {
  const change = readEdit(edit);
  const changed =
    change.type === undefined
      ? changeAnswers(ctx, zoneId, 'zone.edit', () => change)
      : changeZone(ctx, zoneId, 'zone.edit', (zone) => ({ ...change, ...detach(ctx, zone, change) }));
  return zoneItem(ctx, await changed);
}

/** A secondary zone of another type keeps its records, and has no primaries any more. */
function detach({ store }: Context, { seq, type }: ZoneRow, change: ZoneChange): ZoneChange {
  if (type !== 'secondary' || change.type === undefined) return {};
  dropIncoming(store, seq);
  forgetRemovedZone(store, seq);
  return { expired: 0 };
}

function readEdit(edit: ZoneEdit): ZoneChange {
  const { paused, vanity_name_servers: vanity } = edit;
  const type = creatableType(edit.type);
  return {
    ...(typeof paused === 'boolean' ? { paused: paused ? 1 : 0 } : {}),
    ...(type ? { type } : {}),
    ...(vanity === undefined || vanity === null ? {} : { vanity_name_servers: readVanity(vanity) }),
  };
}

function readVanity(list: readonly string[]): string | null {
  const names = list.map(parseHostName);
  const bad = names.indexOf(undefined);
  if (bad >= 0) {
    const reason = `vanity_name_servers holds ${JSON.stringify(list[bad]).slice(0, 60)}, which is not a host name.`;
    throw zoneFailure('badEdit', { reason }, { pointer: '/vanity_name_servers' });
  }
  return names.length === 0 ? null : JSON.stringify([...new Set(names)]);
}

/** Deletes the zone with its records, custom hostnames and certificates; returns its id. */
export async function deleteZone(ctx: Context, zoneId: string): Promise<string> {
  await commit(ctx, (draft) => {
    dropZone(ctx, draft, requireZone(ctx, zoneId));
  });
  return zoneId;
}

/** The same inside a commit. */
export function dropZone(ctx: Context, draft: Draft, zone: ZoneRow): void {
  draft.event({ kind: 'zone.delete', zone, before: zoneItem(ctx, zone) });
  draft.noteZone(zone.seq, 'zone-removed');
  dropCertificatesOfZone(ctx, zone);
  const hostnames = activeHostnamesOfZone(ctx.store, zone.seq);
  // What other zones tell of it goes, too.
  if (signalsOfChild(ctx.store, zone.id).length > 0) lookAtParentSoon(ctx, zone);
  if (!removeZone(ctx.store, zone.seq)) planRemoval(ctx);
  for (const name of [zone.name, ...hostnames]) settleClaims(ctx, draft, { name, account: zone.account });
}
