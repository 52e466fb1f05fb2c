/** Which events an actor may see, and those behind a position: what streams of events are made of. */
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
import { type Area, inRecordScopes } from '../guard/permissions.js';
import { coversKind } from '../kernel/event.js';

export interface EventFilter {
  /** Identifier: only this account's. */
  readonly account?: string | undefined;
  /** Identifiers or names; empty: all. */
  readonly zones: readonly string[];
  /** Kinds, or `thing.*`; empty: all. */
  readonly kinds: readonly string[];
}

export interface EventQuery extends EventFilter {
  /** Number of the last event that is known. */
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
  /** Null for who may not read the audit log. */
  readonly actor: { readonly email: string; readonly kind: string } | null;
  readonly source: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface EventSlice {
  readonly events: readonly SeenEvent[];
  /** Up to which number events were looked at. */
  readonly position: number;
  /** Whether there may be others behind it. */
  readonly more: boolean;
}

/** Rows that are looked at in one turn. */
const AT_ONCE = 200;

/** The oldest first. */
export function readEvents(asked: Pick<Asked, 'store' | 'actor'>, query: EventQuery): EventSlice {
  const { store, actor } = asked;
  return store.snapshot(() => {
    const newest = newestEvent(store);
    const after = Math.min(query.after, newest);
    const conditions = [...accountsOf(asked, query), matchBehind(after, 'asc')];
    const rows = selectEvents(store, { conditions, direction: 'asc', limit: AT_ONCE, offset: 0 });
    const more = rows.length === AT_ONCE;
    const events = rows.flatMap((row) => {
      const sight = isWanted(query, row) ? sightOf(actor, row) : undefined;
      return sight ? [seenEvent(row, sight)] : [];
    });
    return { events, position: more ? rows.at(-1)!.seq : newest, more };
  });
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

/** `audit`: as in the audit log. `zone`: what happened to the zone, not who did it. */
type Sight = 'audit' | 'zone' | undefined;

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
  if (!decision.records) return 'zone';
  // The name of a record's event ends with its type.
  const [owner = '', type = ''] = (name ?? '').split(' ');
  return kind.startsWith('record.') && inRecordScopes(decision.records, owner.toLowerCase(), type) ? 'zone' : undefined;
}

/** What one must be allowed to read of a zone to see what happens to it. */
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

function seenEvent(row: NamedEventRow, sight: Sight): SeenEvent {
  const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
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
