/**
 * Records as use cases hand them out: plain values without wire names, ready for any surface. Identifiers are 32 lower-case hexadecimal
 * digits, instants microseconds since 1970, TTLs seconds.
 */
import { toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import { domainToUnicode } from '../../dns/idna.js';
import { lowerName } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import type { Store } from '../../store/driver.js';
import { isFlattenedOwner } from '../../store/flatten/owners.js';
import { findTarget } from '../../store/flatten/targets.js';
import { type NewRecordRow, parseSettings, parseTags, type RecordSettings } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { isProxiable } from '../rules/proxiable.js';

export interface TargetFault {
  /** The chain ends without an address; nobody answers for it; nobody does any more, and what was heard last is used. */
  readonly status: 'nowhere' | 'unreachable' | 'stale';
  readonly reason: string;
}

/** Whether a delegation keeps a record from being answered (v4: §5.7). */
export interface ShadowItem {
  /** Identifiers of the NS records that do. */
  readonly shadowedBy: readonly string[];
  readonly isGlue: boolean;
  /** Glue of a delegation that is itself below another one. */
  readonly deadGlue: boolean;
  /** Of NS records below the apex: records they keep from being answered. */
  readonly shadowedRecords?: number;
}

export interface RecordItem {
  readonly id: string;
  readonly zoneId: string;
  /** As the zone's own name is answered (Unicode where internationalised). */
  readonly zoneName: string;
  /** FQDN, lower-case punycode, no final dot. */
  readonly name: string;
  /** Mnemonic, upper case. */
  readonly type: string;
  readonly content: string;
  /** Only on MX, SRV and URI. */
  readonly priority?: number;
  /** Only on structured types. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly proxiable: boolean;
  readonly proxied: boolean;
  /** Of a CNAME that is proxied or flattened: what is wrong with where it leads. */
  readonly targetFault?: TargetFault;
  /** Only when asked for. */
  readonly shadow?: ShadowItem;
  /** 1 = automatic. */
  readonly ttl: number;
  readonly settings: RecordSettings;
  readonly privateRouting?: boolean;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Only while there is a comment. */
  readonly commentModifiedAt?: number;
  /** Only while there are tags. */
  readonly tagsModifiedAt?: number;
}

/** {@link recordItem}, with what is wrong with the target of a CNAME, as far as it was heard of. */
export function recordItemWithTarget(store: Store, row: NewRecordRow, zone: ZoneRow): RecordItem {
  const item = recordItem(row, zone);
  const targetFault = row.type === Type.cname ? findTargetFault(store, row, zone) : undefined;
  return targetFault ? { ...item, targetFault } : item;
}

function findTargetFault(store: Store, { owner_key, rdata }: NewRecordRow, { seq }: ZoneRow): TargetFault | undefined {
  const target = isFlattenedOwner(store, seq, owner_key) ? findTarget(store, lowerName(rdata)) : undefined;
  if (!target || target.asked === 0) return undefined;
  if (target.ipv4 === null) return { status: 'unreachable', reason: target.reason ?? 'no answer' };
  if (target.stale === 1) return { status: 'stale', reason: target.reason ?? 'no answer' };
  const addresses = target.ipv4.length + (target.ipv6?.length ?? 0);
  return addresses > 0 ? undefined : { status: 'nowhere', reason: 'its chain ends without an address' };
}

export function recordItem(row: NewRecordRow, zone: ZoneRow): RecordItem {
  const type = typeByCode(row.type);
  const { content, data, priority } = type.toApi(row.rdata, row.content);
  return {
    id: toHex(row.id),
    zoneId: toHex(zone.id),
    zoneName: domainToUnicode(zone.name),
    name: row.name,
    type: type.mnemonic,
    content,
    ...(priority === undefined ? {} : { priority }),
    ...(data === undefined ? {} : { data }),
    proxiable: isProxiable(row.type, row.rdata),
    proxied: row.proxied === 1,
    ttl: row.ttl,
    settings: parseSettings(row.settings),
    ...(row.private_routing === null ? {} : { privateRouting: row.private_routing === 1 }),
    comment: row.comment,
    tags: parseTags(row.tags),
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    ...(row.comment_modified_at === null ? {} : { commentModifiedAt: row.comment_modified_at }),
    ...(row.tags_modified_at === null ? {} : { tagsModifiedAt: row.tags_modified_at }),
  };
}
