/**
 * What our own active zones say about a name: the records as they were written, not the edge's addresses or flattened answers
 * that take their place in DNS answers (RFC 1034 §4.3.2, RFC 4592, RFC 6672).
 *
 * A zone that is only waiting for its delegation is nobody's truth yet, so its names are asked for outside; so are those below
 * a delegation. Whose account the zone is in does not matter: to the world it is served all the same.
 */
import { Type } from '../dns/codes.js';
import {
  isWildcard,
  labelsOf,
  MAX_NAME_LENGTH,
  nameOfLabels,
  ownerKeyOf,
  parentName,
  parseName,
  ROOT,
  toFqdn,
} from '../dns/name.js';
import { AUTOMATIC_TTL } from '../dns/ttl.js';
import type { Store } from '../store/driver.js';
import { hasDescendants } from '../store/records/records.js';
import { type StoredTuple, storedRowsOfOwner } from '../store/records/stored-rows.js';
import { assignedNameServers, findZoneByName, nsTtlOfZone, soaOfZone, type ZoneRow } from '../store/zones/zones.js';
import { contentOf, TYPE_CODES, type UpstreamType } from './types.js';

interface Traffic {
  /** The name is proxied: DNS answers the edge's addresses, and these records are nobody's business outside. */
  readonly proxied?: boolean;
}

export type OwnAnswer =
  | { readonly kind: 'outside' }
  | (Traffic & { readonly kind: 'link'; readonly target: string; readonly ttl: number })
  | (Traffic & {
      readonly kind: 'records';
      readonly records: readonly { readonly content: string; readonly ttl: number }[];
    })
  /** `ttl`: seconds the absence may be remembered. */
  | (Traffic & { readonly kind: 'nodata' | 'nxdomain'; readonly ttl: number })
  | { readonly kind: 'failure'; readonly reason: string };

const OUTSIDE: OwnAnswer = { kind: 'outside' };

export interface OwnZones {
  /** `name`: lower case, wire form. All of an answer is from the same moment. */
  ask(name: Uint8Array, type: UpstreamType): OwnAnswer;
}

/** `nameServers`: host names of the service, without final dots. */
export function createOwnZones(store: Store, nameServers: readonly string[]): OwnZones {
  return {
    ask: (name, type) =>
      store.snapshot(() => {
        const zone = findActiveZone(store, name);
        return zone ? askZone({ store, zone, nameServers, type }, name) : OUTSIDE;
      }),
  };
}

/** The active zone with the longest apex at or above the name. */
export function findActiveZone(store: Store, name: Uint8Array): ZoneRow | undefined {
  for (let apex = name; apex.length > 1; apex = parentName(apex)) {
    // The served one of several accounts' comes first.
    const zone = findZoneByName(store, toFqdn(apex));
    if (zone?.served === 1 && zone.status === 'active' && zone.type === 'full') return zone;
  }
  return undefined;
}

interface Asked {
  readonly store: Store;
  readonly zone: ZoneRow;
  readonly nameServers: readonly string[];
  readonly type: UpstreamType;
}

/** Down from the apex: the topmost cut or DNAME decides (RFC 1034 §4.3.2 step 3). */
function askZone(asked: Asked, name: Uint8Array): OwnAnswer {
  const { store, zone } = asked;
  const path = pathTo(name, zone.apex);
  for (const [depth, owner] of path.entries()) {
    const key = ownerKeyOf(owner, zone.apex);
    const rows = storedRowsOfOwner(store, zone.seq, key);
    const isLast = depth === path.length - 1;
    if (depth > 0 && rows.some(isOfType(Type.ns))) return OUTSIDE;
    if (isLast && rows.length > 0) return answerAt(asked, rows, depth === 0);
    const dname = rows.find(isOfType(Type.dname));
    if (!isLast && dname) return substitute(name, owner, dname);
    if (depth === 0 || rows.length > 0 || hasDescendants(store, zone.seq, key)) {
      if (isLast) return answerAt(asked, rows, depth === 0);
      continue;
    }
    return askWildcard(asked, path[depth - 1]!);
  }
  return OUTSIDE;
}

/** The names from the apex down to `name`, both included. */
function pathTo(name: Uint8Array, apex: Uint8Array): Uint8Array[] {
  const path = [name];
  while (path[0]!.length > apex.length) path.unshift(parentName(path[0]!));
  return path;
}

function isOfType(type: number): (row: StoredTuple) => boolean {
  return (row) => row[1] === type;
}

/** The wildcard of the closest encloser, if it exists; without records NODATA (RFC 4592 §2.2.1, §3.3.1). */
function askWildcard(asked: Asked, encloser: Uint8Array): OwnAnswer {
  const { store, zone } = asked;
  if (encloser.length + 2 <= MAX_NAME_LENGTH) {
    const owner = nameOfLabels([Uint8Array.of(ASTERISK), ...labelsOf(encloser)]);
    const key = ownerKeyOf(owner, zone.apex);
    const rows = storedRowsOfOwner(store, zone.seq, key);
    if (isWildcard(owner) && (rows.length > 0 || hasDescendants(store, zone.seq, key))) {
      return answerAt(asked, rows, false);
    }
  }
  return { kind: 'nxdomain', ttl: negativeTtl(asked) };
}

const ASTERISK = 42;

function negativeTtl({ zone, nameServers }: Asked): number {
  const { ttl, minimum } = soaOfZone(zone, nameServers);
  return Math.min(ttl, minimum);
}

function answerAt(asked: Asked, rows: readonly StoredTuple[], isApex: boolean): OwnAnswer {
  const { type, zone } = asked;
  const isProxied = zone.paused === 0 && zone.zone_mode !== 'dns_only' && rows.some((row) => row[3] === 1);
  const traffic = isProxied ? { proxied: true } : {};
  const records = isApex ? [...apexRecords(asked), ...recordsOf(asked, rows)] : recordsOf(asked, rows);
  if (records.length > 0) {
    // One TTL an RRset, the lowest (RFC 2181 §5.2).
    const ttl = Math.min(...records.map((record) => record.ttl));
    return { kind: 'records', records: records.map(({ content }) => ({ content, ttl })), ...traffic };
  }
  const alias = type === 'CNAME' ? undefined : rows.find(isOfType(Type.cname));
  if (alias) return { kind: 'link', target: toFqdn(alias[4]), ttl: secondsOf(alias[2]), ...traffic };
  return { kind: 'nodata', ttl: negativeTtl(asked), ...traffic };
}

function recordsOf({ zone, type }: Asked, rows: readonly StoredTuple[]): { content: string; ttl: number }[] {
  const own = zone.name_server_mode === 'records' || zone.multi_provider === 1;
  return rows
    .filter(([ownerKey, code]) => code === TYPE_CODES[type] && (own || type !== 'NS' || ownerKey.length > 0))
    .map(([, , ttl, , rdata]) => ({ content: contentOf(type, rdata), ttl: secondsOf(ttl) }));
}

/** What nobody wrote: the SOA, and the name servers of the service. */
function apexRecords({ zone, nameServers, type }: Asked): { content: string; ttl: number }[] {
  if (type === 'SOA') {
    const { mname, rname, serial, refresh, retry, expire, minimum, ttl } = soaOfZone(zone, nameServers);
    return [{ content: [mname, rname, serial, refresh, retry, expire, minimum].join(' '), ttl }];
  }
  if (type !== 'NS' || zone.name_server_mode === 'records') return [];
  return assignedNameServers(zone, nameServers).map((content) => ({ content, ttl: nsTtlOfZone(zone) }));
}

function secondsOf(ttl: number): number {
  return ttl === 1 ? AUTOMATIC_TTL : ttl;
}

/** The name with the DNAME's target in place of its owner (RFC 6672 §2.2). */
function substitute(name: Uint8Array, owner: Uint8Array, dname: StoredTuple): OwnAnswer {
  const prefix = name.subarray(0, name.length - owner.length);
  const target = dname[4];
  if (prefix.length + target.length > MAX_NAME_LENGTH) {
    return { kind: 'failure', reason: `the DNAME of ${toFqdn(owner)} makes a name of more than 255 octets` };
  }
  return { kind: 'link', target: toFqdn(new Uint8Array(Buffer.concat([prefix, target]))), ttl: secondsOf(dname[2]) };
}

/** Wire form of a name in text, lower case, with or without final dot. Throws NameError. */
export function wireOf(text: string): Uint8Array {
  return text === '' ? ROOT : parseName(`${text}.`);
}
