/** Use cases of the audit log: changes to an account and its zones, and changes by a user. */
import { toHex } from '../../base/bytes.js';
import { parseIP, printIP } from '../../base/ip.js';
import { domainToAscii } from '../../dns/idna.js';
import { allAccounts } from '../../store/access/accounts.js';
import { type Condition, joinConditions, matchNothing } from '../../store/condition.js';
import {
  countEvents,
  matchAccountOf,
  matchBehind,
  matchColumn,
  matchResource,
  matchTime,
  matchVerbs,
  matchZoneNames,
  matchZones,
  type NamedEventRow,
  selectEvents,
} from '../../store/log/events-query.js';
import { parseId, requireAccount } from '../guard/access.js';
import type { Context, Page, PageQuery } from '../kernel/context.js';

/** The kind of change, in one of the v4 words. */
export type AuditVerb = 'create' | 'update' | 'delete';

export interface AuditItem {
  readonly id: string;
  /** Microseconds since 1970. */
  readonly at: number;
  /** Such as `record.create`. */
  readonly action: string;
  /** The first part of the action. */
  readonly resource: string;
  readonly verb: AuditVerb;
  readonly actor: {
    readonly id: string | null;
    readonly email: string;
    readonly kind: string;
    readonly address: string | null;
    /** With which it was done; null for the operator, the service, and before that was noted. */
    readonly credential: { readonly id: string; readonly name: string | null } | null;
    /** The user of the machine who typed the command; null for others, and before that was noted. */
    readonly systemUser: string | null;
  };
  /** `api` or `cli`. */
  readonly source: string;
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly zone: { readonly id: string; readonly name: string | null } | null;
  /** Identifier of the changed object. */
  readonly object: string | null;
  /** What people call it. */
  readonly name: string | null;
  readonly requestId: string;
  /** Parsed JSON; undefined when there is none. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Values of which one must match, and values that must not match. */
export interface Choice {
  readonly any: readonly string[];
  readonly none: readonly string[];
}

export interface AuditFilter {
  readonly id?: Choice;
  /** Whole actions, such as `record.create`. */
  readonly action?: Choice;
  readonly verb?: Choice;
  readonly resource?: Choice;
  readonly actorEmail?: Choice;
  readonly actorId?: Choice;
  readonly address?: Choice;
  readonly zoneId?: Choice;
  readonly zoneName?: Choice;
  readonly objectId?: Choice;
  readonly requestId?: Choice;
  /** Microseconds since 1970: from `since` on, before `before`. */
  readonly since?: number;
  readonly before?: number;
}

export interface AuditQuery extends PageQuery {
  readonly filter: AuditFilter;
}

const VERBS: Readonly<Record<AuditVerb, readonly string[]>> = {
  create: ['create', 'import', 'invite', 'add'],
  update: [
    'edit',
    'replace',
    'activate',
    'move',
    'restore',
    'purge',
    'roll',
    'update',
    'accept',
    'reject',
    'suspend',
    'resume',
  ],
  delete: ['delete', 'revoke', 'remove'],
};

const DEFAULT_PER_PAGE = 100;
const MOST_PER_PAGE = 1000;

/** Entries of an account, newest first by default. Default 100 a page, at most 1000. */
export async function listAccountAudit(ctx: Context, accountId: string, query: AuditQuery): Promise<Page<AuditItem>> {
  return selectPage(ctx, [...visibleIn(ctx, accountId), ...conditionsOf(query.filter)], query);
}

/**
 * Changes by the credential's user, in all accounts. Whether inviting somebody made or removed other users is for administrators: it
 * would tell who works here already, and whom other accounts invited.
 */
export async function listUserAudit(ctx: Context, query: AuditQuery): Promise<Page<AuditItem>> {
  const id = parseId(ctx.actor.userId);
  const own = id ? matchColumn('actorId', [id]) : matchNothing();
  const shown = ctx.actor.superAdministrator ? [] : [notAboutOthers(id)];
  return selectPage(ctx, [own, ...shown, ...inZones(ctx), ...conditionsOf(query.filter)], query);
}

function notAboutOthers(user: Uint8Array | undefined): Condition {
  return joinConditions('any', [matchResource(['user'], true), matchColumn('subject', user ? [user] : [])]);
}

export interface AuditSlice {
  readonly items: readonly AuditItem[];
  /** Start of the next slice; undefined at the end. */
  readonly next: string | undefined;
}

export interface AuditSliceQuery {
  readonly filter: AuditFilter;
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly cursor?: number;
}

/**
 * Entries of an account from a position in the list, no more than `limit`. `cursor`: returned with the previous slice.
 */
export async function sliceAccountAudit(ctx: Context, accountId: string, query: AuditSliceQuery): Promise<AuditSlice> {
  const { items, next } = await lazyAccountAudit(ctx, accountId, query);
  return { items: [...items], next };
}

/** The same; each entry, which may be long, is made when it is asked for. */
export async function lazyAccountAudit(
  ctx: Context,
  accountId: string,
  { filter, direction, limit, cursor }: AuditSliceQuery,
): Promise<{ readonly items: Iterable<AuditItem>; readonly next: AuditSlice['next'] }> {
  const behind = cursor === undefined ? [] : [matchBehind(cursor, direction)];
  const conditions = [...visibleIn(ctx, accountId), ...conditionsOf(filter), ...behind];
  const rows = selectEvents(ctx.store, { conditions, direction, limit: limit + 1, offset: 0 });
  const shown = rows.slice(0, limit);
  return { items: itemsOf(shown), next: rows.length > limit ? String(shown.at(-1)!.seq) : undefined };
}

function visibleIn(ctx: Context, accountId: string): Condition[] {
  const { seq } = requireAccount(ctx, accountId);
  // What is of no account is shown to administrators, beside the oldest account.
  const isOldest = ctx.actor.superAdministrator && allAccounts(ctx.store)[0]?.seq === seq;
  return [matchAccountOf(seq, isOldest), ...inZones(ctx)];
}

/** A credential for certain zones sees only their entries. */
function inZones(ctx: Context): Condition[] {
  const ids = ctx.actor.zoneIds?.flatMap((id) => parseId(id) ?? []);
  return ids ? [matchZones(ids)] : [];
}

function selectPage(ctx: Context, conditions: readonly Condition[], query: AuditQuery): Page<AuditItem> {
  const page = Math.max(1, Math.trunc(query.page ?? 1));
  const perPage = Math.min(MOST_PER_PAGE, Math.max(1, Math.trunc(query.perPage ?? DEFAULT_PER_PAGE)));
  return ctx.store.snapshot(() => {
    const direction = query.direction ?? 'desc';
    const rows = selectEvents(ctx.store, { conditions, direction, limit: perPage, offset: (page - 1) * perPage });
    return { items: rows.map(auditItem), page, perPage, totalCount: countEvents(ctx.store, conditions) };
  });
}

/** What happens to origins by itself is not a change to an account. */
const NO_CHANGES = ['pool.health'];

function conditionsOf(filter: AuditFilter): Condition[] {
  const lower = (text: string): string => text.toLowerCase();
  const octets = (text: string): Uint8Array => parseId(text) ?? new Uint8Array(0);
  return [
    matchColumn('kind', NO_CHANGES, true),
    ...chosen(filter.id, (ids, not) => matchColumn('seq', ids.map(Number), not)),
    ...chosen(filter.action, (actions, not) => matchColumn('kind', actions.map(lower), not)),
    ...chosen(filter.verb, (verbs, not) => matchVerbs(verbs.flatMap(wordsOf), not)),
    ...chosen(filter.resource, (types, not) => matchResource(types.map(lower), not)),
    ...chosen(filter.actorEmail, (emails, not) => matchColumn('actor', emails.map(lower), not)),
    ...chosen(filter.actorId, (ids, not) => matchColumn('actorId', ids.map(octets), not)),
    ...chosen(filter.address, (texts, not) => matchColumn('address', texts.map(plainAddress), not)),
    ...chosen(filter.zoneId, (ids, not) => matchColumn('zone', ids.map(octets), not)),
    ...chosen(filter.zoneName, (names, not) => matchZoneNames(names.map(asciiName), not)),
    ...chosen(filter.objectId, (ids, not) => matchColumn('subject', ids.map(octets), not)),
    ...chosen(filter.requestId, (ids, not) => matchColumn('request', ids.map(lower), not)),
    ...matchTime(filter.since, filter.before),
  ];
}

function chosen(
  choice: Choice | undefined,
  condition: (values: readonly string[], not: boolean) => Condition,
): Condition[] {
  const { any = [], none = [] } = choice ?? {};
  return [...(any.length === 0 ? [] : [condition(any, false)]), ...(none.length === 0 ? [] : [condition(none, true)])];
}

function wordsOf(verb: string): readonly string[] {
  return VERBS[verb.toLowerCase() as AuditVerb] ?? [verb.toLowerCase()];
}

function plainAddress(text: string): string {
  const address = parseIP(text);
  return address ? printIP(address) : text;
}

function asciiName(text: string): string {
  const name = text.replace(/\.$/, '');
  return (domainToAscii(name) ?? name).toLowerCase();
}

function verbOf(action: string): AuditVerb {
  const word = action.slice(action.indexOf('.') + 1);
  if (VERBS.create.includes(word)) return 'create';
  return VERBS.delete.includes(word) ? 'delete' : 'update';
}

function* itemsOf(rows: readonly NamedEventRow[]): Generator<AuditItem> {
  for (const row of rows) yield auditItem(row);
}

function auditItem(row: NamedEventRow): AuditItem {
  return {
    id: String(row.seq),
    at: row.at_us,
    action: row.kind,
    resource: row.kind.slice(0, Math.max(0, row.kind.indexOf('.'))),
    verb: verbOf(row.kind),
    actor: {
      id: row.actor_id && toHex(row.actor_id),
      email: row.actor,
      kind: row.actor_kind,
      address: row.address,
      credential: row.credential && { id: toHex(row.credential), name: row.credential_name },
      systemUser: row.actor_kind === 'operator' ? row.credential_name : null,
    },
    source: row.source,
    account: row.account_id && { id: toHex(row.account_id), name: row.account_name ?? '' },
    zone: row.zone && { id: toHex(row.zone), name: row.zone_name },
    object: row.subject && toHex(row.subject),
    name: row.name,
    requestId: row.request_id,
    before: row.before === null ? undefined : JSON.parse(row.before),
    after: row.after === null ? undefined : JSON.parse(row.after),
  };
}
