/** Reads the events after a position that an actor may see, for event streams. */
import { toHex } from '../../base/bytes.js';
import { findAccountById } from '../../store/access/accounts.js';
import { type Condition, joinConditions, matchNothing } from '../../store/condition.js';
import {
  matchAccountOf,
  matchBehind,
  type NamedEventRow,
  newestEvent,
  selectEvents,
} from '../../store/log/events-query.js';
import { type Asked, maySeeAccount, maySeeZone, parseId } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { decide } from '../guard/decision.js';
import { type Area, inRecordScopes, type RecordScope } from '../guard/permissions.js';
import { coversKind } from '../kernel/event.js';

export interface EventFilter {
  /** Identifier of the only account whose events are read; undefined for all. */
  readonly account?: string | undefined;
  /** Identifiers or names; empty: all. */
  readonly zones: readonly string[];
  /** Kinds, or `thing.*`; empty: all. */
  readonly kinds: readonly string[];
}

export interface EventQuery extends EventFilter {
  /** Number of the last event already known. */
  readonly after: number;
}

export interface SeenEvent {
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly kind: string;
  readonly account: { readonly id: string; readonly name: string | null } | null;
  readonly zone: { readonly id: string; readonly name: string | null } | null;
  readonly subject: { readonly id: string | null; readonly name: string | null };
  /** Null if the reader may not read the audit log. */
  readonly actor: { readonly email: string; readonly kind: string } | null;
  readonly source: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface EventSlice {
  readonly events: readonly SeenEvent[];
  /** Number of the last event that was examined. */
  readonly position: number;
  /** Whether there may be more events after it. */
  readonly more: boolean;
}

/** Rows examined in one turn. */
const AT_ONCE = 200;
/** Characters in one slice, unless its first event has more: many streams may wait for slow readers. */
const MOST_CHARACTERS = 128 * 1024;

/** Returns the oldest events first. */
export function readEvents(asked: Pick<Asked, 'store' | 'actor'>, query: EventQuery): EventSlice {
  const { store, actor } = asked;
  return store.snapshot(() => {
    const newest = newestEvent(store);
    const after = Math.min(query.after, newest);
    const conditions = [...accountsOf(asked, query), matchBehind(after, 'asc')];
    const rows = selectEvents(store, { conditions, direction: 'asc', limit: AT_ONCE, offset: 0 });
    let characters = 0;
    let position = newest;
    let more = rows.length === AT_ONCE;
    const events: SeenEvent[] = [];
    for (const row of rows) {
      const sight = isWanted(query, row) ? sightOf(actor, row) : undefined;
      characters += sight ? lengthOf(row) : 0;
      if (events.length > 0 && characters > MOST_CHARACTERS) {
        more = true;
        break;
      }
      if (sight) events.push(seenEvent(row, sight));
      position = row.seq;
    }
    return { events, position: more ? position : newest, more };
  });
}

function lengthOf({ before, after }: NamedEventRow): number {
  return (before?.length ?? 0) + (after?.length ?? 0);
}

function accountsOf({ store, actor }: Pick<Asked, 'store' | 'actor'>, { account }: EventFilter): Condition[] {
  if (account === undefined && actor.superAdministrator) return [];
  const ids = account === undefined ? actor.accountIds : [account].filter((id) => maySeeAccount(actor, id));
  const own = ids.flatMap((id) => {
    const octets = parseId(id);
    const row = octets && findAccountById(store, octets);
    return row ? [matchAccountOf(row.seq)] : [];
  });
  return [own.length === 0 ? matchNothing() : joinConditions('any', own)];
}

function isWanted({ zones, kinds }: EventFilter, { zone, zone_name: name, kind }: NamedEventRow): boolean {
  if (zones.length > 0 && !(zone && (zones.includes(toHex(zone)) || (name !== null && zones.includes(name))))) {
    return false;
  }
  return kinds.length === 0 || kinds.some((wanted) => coversKind(wanted, kind));
}

/** `audit`: everything, as in the audit log. Otherwise without the actor, and only events of `records` if given. */
type Sight = 'audit' | { readonly records: readonly RecordScope[] | undefined } | undefined;

function sightOf(actor: Actor, { account_id: accountId, zone, kind, name }: NamedEventRow): Sight {
  if (accountId === null) return actor.superAdministrator ? 'audit' : undefined;
  const account = toHex(accountId);
  if (!maySeeAccount(actor, account)) return undefined;
  const zoneId = zone && toHex(zone);
  if (actor.zoneIds !== undefined && !(zoneId && actor.zoneIds.includes(zoneId))) return undefined;
  if (decide(actor, 'audit', 'read', { account }).allowed) return 'audit';
  const area = AREAS[kind.slice(0, kind.indexOf('.'))];
  if (!zoneId || area === undefined || !maySeeZone(actor, zoneId, account)) return undefined;
  const decision = decide(actor, area, 'read', { account, zone: zoneId });
  if (!decision.allowed) return undefined;
  const { records } = decision;
  if (!records) return { records };
  // Record events are named `owner type`.
  const [owner = '', type = ''] = (name ?? '').split(' ');
  const isRecord = kind.startsWith('record.') && type !== '';
  return isRecord && inRecordScopes(records, owner.toLowerCase(), type) ? { records } : undefined;
}

/** The permission that shows the events of each kind of subject in a zone. */
const AREAS: Readonly<Partial<Record<string, Area>>> = {
  record: 'dns',
  dnssec: 'dns',
  incoming: 'dns',
  outgoing: 'dns',
  secondary: 'dns',
  dns_settings: 'zone',
  zone: 'zone',
  zone_hold: 'zone',
  zone_settings: 'zoneSettings',
  cache: 'zoneSettings',
  certificate: 'certificates',
  certificate_pack: 'certificates',
  universal_certificate: 'certificates',
  custom_hostname: 'certificates',
  fallback_origin: 'certificates',
  load_balancer: 'loadBalancers',
};

/** Judges each state on its own, because an edit may change the name and type of a record. */
function isShown(state: unknown, sight: Sight): boolean {
  if (sight === 'audit' || !sight?.records) return true;
  const { name, type } = (state ?? {}) as { readonly name?: unknown; readonly type?: unknown };
  return inRecordScopes(sight.records, String(name).toLowerCase(), String(type));
}

function seenEvent(row: NamedEventRow, sight: Sight): SeenEvent {
  const parsed = (text: string | null): unknown => {
    const state: unknown = text === null ? null : JSON.parse(text);
    return isShown(state, sight) ? state : null;
  };
  return {
    id: String(row.seq),
    at: new Date(row.at_us / 1000).toISOString(),
    kind: row.kind,
    account: row.account_id && { id: toHex(row.account_id), name: row.account_name },
    zone: row.zone && { id: toHex(row.zone), name: row.zone_name },
    subject: { id: row.subject && toHex(row.subject), name: row.name },
    actor: sight === 'audit' ? { email: row.actor, kind: row.actor_kind } : null,
    source: row.source,
    before: parsed(row.before),
    after: parsed(row.after),
  };
}
