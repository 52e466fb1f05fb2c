/**
 * What the parent of a signed zone has, and what follows from it: the state of the delegation, and the steps of
 * rollovers that are due.
 */
import { Type } from '../../dns/codes.js';
import { ROOT } from '../../dns/name.js';
import { parseRdata, typeByCode } from '../../dns/rr/registry.js';
import { type AgreedDs, nextDelegationState } from '../../dnssec/delegation-states.js';
import type { ParentDs } from '../../dnssec/key-states.js';
import type { ParentServerDs } from '../../resolver/parent-ds.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { findParent, type ParentRow, putParent } from '../../store/dnssec/parents.js';
import { type DnssecState, type DnssecZoneRow, findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { dsOf, isEntryPoint } from './ds.js';

const NOTHING_KNOWN: Omit<ParentRow, 'zone'> = {
  servers: '[]',
  checked_at: null,
  agreed: null,
  since: null,
  ttl: 86_400,
  remove_at: null,
};

export function parentOf(store: Store, zone: number): ParentRow {
  return findParent(store, zone) ?? { zone, ...NOTHING_KNOWN };
}

/**
 * Stores what the servers of the parent answered; undefined when they could not be found out. Call inside a write.
 * `now`: microseconds since 1970.
 */
export function noteParent(
  store: Store,
  zone: number,
  servers: readonly ParentServerDs[] | undefined,
  now: number,
): ParentRow {
  const before = parentOf(store, zone);
  // Where nobody answers, what a person said stands; what servers said earlier does not.
  const isSaid = before.servers === '[]';
  const agreed = servers && servers.length > 0 ? agreedOf(servers) : isSaid ? before.agreed : null;
  const row = findDnssecZone(store, zone)!;
  const ttl = dsTtl(servers ?? []);
  const ttlBefore = dsTtl(JSON.parse(before.servers) as readonly ParentServerDs[]);
  // Resolvers keep records with a TTL that was lowered as long as they were told at first.
  const isSame = agreed !== null && agreed === before.agreed && (ttl ?? 0) >= (ttlBefore ?? 0);
  const isFirst = row.ds_seen_at === null;
  const after: ParentRow = {
    ...before,
    servers: servers ? JSON.stringify(servers) : before.servers,
    checked_at: servers ? now : null,
    agreed,
    since: agreed === null ? null : isSame ? before.since : now,
    ttl: isFirst ? (ttl ?? before.ttl) : isSame ? before.ttl : Math.max(ttlBefore ?? 0, rememberedFor(before, now)),
  };
  putParent(store, after);
  // Resolvers may have it from then on, whatever becomes of it.
  if (ttl !== undefined) updateDnssecZone(store, zone, { ds_seen_at: now });
  return after;
}

/** The largest TTL of the DS records that the servers of a parent have; undefined when none has any. */
function dsTtl(servers: readonly ParentServerDs[]): number | undefined {
  const ttls = servers.filter(({ ds }) => ds && ds.length > 0).map(({ ttl }) => ttl ?? 0);
  return ttls.length > 0 ? Math.max(...ttls) : undefined;
}

/** Seconds until resolvers have forgotten the DS records from before those that are there. */
function rememberedFor({ since, ttl }: ParentRow, now: number): number {
  return since === null ? ttl : Math.max(0, Math.ceil((since - now) / 1e6) + ttl);
}

/**
 * Stores what a person says of the parent: that it has the DS record of a key, or none (null). Call inside a write.
 * `now`: microseconds since 1970.
 */
export function noteSaidDs(store: Store, { seq, apex }: ZoneRow, dnskey: Uint8Array | null, now: number): void {
  const contents = dnskey ? [typeByCode(Type.ds).contentOf(dsOf(apex, dnskey))] : [];
  const said = { servers: '[]', checked_at: null, agreed: JSON.stringify(contents), since: now };
  putParent(store, { ...parentOf(store, seq), ...said });
  if (dnskey) updateDnssecZone(store, seq, { ds_seen_at: now });
}

/**
 * When signatures can go after a user asked for it, microseconds since 1970: when no resolver has a DS record any more.
 * Where the parent cannot be asked, one may be there that nobody saw.
 */
export function removalTime({ ds_seen_at: seenAt }: DnssecZoneRow, parent: ParentRow, now: number): number {
  const isSurelyAbsent = parent.agreed === '[]' || (parent.checked_at !== null && parent.servers === '[]');
  if (seenAt === null && isSurelyAbsent) return now;
  return (parent.since ?? now) + parent.ttl * 1e6;
}

/** What all servers have, as JSON; null while they differ, one does not answer, or none is known. */
function agreedOf(servers: readonly ParentServerDs[]): string | null {
  const [first, ...others] = servers.map(({ ds }) => (ds ? JSON.stringify(ds) : null));
  return first !== undefined && others.every((other) => other === first) ? first : null;
}

/** The same as rdata. */
export function agreedDs({ agreed }: ParentRow): AgreedDs {
  if (agreed === null) return undefined;
  return (JSON.parse(agreed) as readonly string[]).map((content) => parseRdata(Type.ds, content, ROOT));
}

/** The same as rollovers are judged by. */
export function parentDs(row: ParentRow): ParentDs {
  const keys = agreedDs(row)?.map((ds) => ({ tag: (ds[0]! << 8) | ds[1]!, algorithm: ds[2]! }));
  return { keys, since: Math.floor((row.since ?? 0) / 1e6), ttl: row.ttl };
}

/** The state of the delegation by what the parent has. */
export function stateByParent(store: Store, { apex }: ZoneRow, row: DnssecZoneRow, parent: ParentRow): DnssecState {
  const dnskeys = keysOfZone(store, row.zone)
    .filter((key) => key.published === 1 && isEntryPoint(key))
    .map((key) => key.public);
  return nextDelegationState(row.state, agreedDs(parent), apex, dnskeys);
}
