/**
 * Records as plain values without wire names, as use cases return them. Identifiers are 32 lower-case hexadecimal
 * digits, times are microseconds since 1970, TTLs are seconds.
 */
import { toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import { domainToUnicode } from '../../dns/idna.js';
import { lowerName } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import type { AllowedNetwork } from '../../egress/egress.js';
import type { PolicyFault } from '../../policy-records/fault.js';
import { loadBalancerAt } from '../../store/balancing/load-balancers.js';
import type { Store } from '../../store/driver.js';
import { isFlattenedOwner } from '../../store/flatten/owners.js';
import { findTarget } from '../../store/flatten/targets.js';
import { findBucketDomain } from '../../store/objects/domains.js';
import { type NewRecordRow, parseSettings, parseTags, type RecordSettings } from '../../store/records/records.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { isAddress, type PointerState, pointerState, sourceOf } from '../rules/pointers.js';
import { isProxiable } from '../rules/proxiable.js';
import { shownTtl } from '../rules/ttl.js';

export interface TargetFault {
  /**
   * `nowhere`: the chain ends without an address. `unreachable`: no server answered. `stale`: no server answers any
   * more, and the last known addresses are used.
   */
  readonly status: 'nowhere' | 'unreachable' | 'stale';
  readonly reason: string;
}

/** Whether a delegation prevents a record from being answered (v4: §5.7). */
export interface ShadowItem {
  /** Identifiers of the NS records of that delegation. */
  readonly shadowedBy: readonly string[];
  readonly isGlue: boolean;
  /** Glue of a delegation that is itself below another one. */
  readonly deadGlue: boolean;
  /** For NS records below the apex: number of records that they prevent from being answered. */
  readonly shadowedRecords?: number;
}

/** The other record of a pair: the PTR record kept for an address, or the address for which a PTR record is kept. */
export interface Counterpart {
  readonly status: PointerState['status'];
  readonly zoneId?: string;
  readonly recordId?: string;
}

export interface RecordItem {
  readonly id: string;
  readonly zoneId: string;
  /** The zone's own name as the API shows it (Unicode if internationalised). */
  readonly zoneName: string;
  /** FQDN, lower-case punycode, without the final dot. */
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
  /** For proxied and flattened CNAMEs: the problem with the target. */
  readonly targetFault?: TargetFault;
  /** Name of the bucket to which the owner is attached: the record cannot be changed. */
  readonly bucket?: string;
  /** Whether a load balancer of its name is answered instead. */
  readonly shadowedByBalancer?: true;
  /** What is wrong with the policy that it says, such as SPF or CAA. */
  readonly warnings?: readonly PolicyFault[];
  /** Only on request. */
  readonly shadow?: ShadowItem;
  /** 1 = automatic. */
  readonly ttl: number;
  readonly settings: RecordSettings;
  readonly privateRouting?: boolean;
  /** On an address record: a PTR record is kept for it. On a PTR record: it is kept for an address record. */
  readonly ptr?: true;
  /** The other record of the pair, or why there is none. */
  readonly counterpart?: Counterpart;
  /** When the service removes it; microseconds since 1970. */
  readonly expiresAt?: number;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Only if there is a comment. */
  readonly commentModifiedAt?: number;
  /** Only if there are tags. */
  readonly tagsModifiedAt?: number;
}

/** {@link recordItem} with what is known of where it leads, and whether a load balancer is answered instead. */
export function recordItemWithTarget(
  store: Store,
  row: NewRecordRow,
  zone: ZoneRow,
  origins: readonly AllowedNetwork[],
): RecordItem {
  const plain = recordItem(row, zone, origins);
  const shown = isHiddenByBalancer(store, row, zone) ? { ...plain, shadowedByBalancer: true as const } : plain;
  const item = shown.ptr ? { ...shown, counterpart: counterpartOf(store, row, zone) } : shown;
  if (row.type === Type.aaaa && row.proxied === 1) {
    const domain = findBucketDomain(store, row.name, zone.seq);
    if (domain) return { ...item, bucket: domain.bucket_name };
  }
  const targetFault = row.type === Type.cname ? findTargetFault(store, row, zone) : undefined;
  return targetFault ? { ...item, targetFault } : item;
}

function counterpartOf(store: Store, row: NewRecordRow, { account }: ZoneRow): Counterpart {
  const { status, row: other } = isAddress(row.type)
    ? pointerState(store, account, row)
    : { status: 'kept' as const, row: sourceOf(store, account, row) };
  const zone = other && findZone(store, other.zone);
  return zone ? { status, zoneId: toHex(zone.id), recordId: toHex(other.id) } : { status };
}

/** A load balancer hides the addresses and the CNAME of exactly its name. */
function isHiddenByBalancer(store: Store, { type, owner_key: ownerKey }: NewRecordRow, { seq }: ZoneRow): boolean {
  if (type !== Type.a && type !== Type.aaaa && type !== Type.cname) return false;
  return loadBalancerAt(store, seq, ownerKey)?.enabled === 1;
}

function findTargetFault(store: Store, { owner_key, rdata }: NewRecordRow, { seq }: ZoneRow): TargetFault | undefined {
  const target = isFlattenedOwner(store, seq, owner_key) ? findTarget(store, lowerName(rdata)) : undefined;
  if (!target || target.asked === 0) return undefined;
  if (target.ipv4 === null) return { status: 'unreachable', reason: target.reason ?? 'no answer' };
  if (target.stale === 1) return { status: 'stale', reason: target.reason ?? 'no answer' };
  const addresses = target.ipv4.length + (target.ipv6?.length ?? 0);
  return addresses > 0 ? undefined : { status: 'nowhere', reason: 'its chain ends without an address' };
}

/** `origins`: networks beside public addresses whose addresses are proxiable. */
export function recordItem(row: NewRecordRow, zone: ZoneRow, origins: readonly AllowedNetwork[] = []): RecordItem {
  const type = typeByCode(row.type);
  const { content, data, priority } = type.toApi(row.rdata, row.content);
  const { ptr, expires_at: expiresAt, ...settings } = parseSettings(row.settings);
  return {
    id: toHex(row.id),
    zoneId: toHex(zone.id),
    zoneName: domainToUnicode(zone.name),
    name: row.name,
    type: type.mnemonic,
    content,
    ...(priority === undefined ? {} : { priority }),
    ...(data === undefined ? {} : { data }),
    proxiable: row.proxied === 1 || isProxiable(row.type, row.rdata, origins),
    proxied: row.proxied === 1,
    ttl: shownTtl(row.ttl),
    settings,
    ...(ptr === true && { ptr }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(row.private_routing === null ? {} : { privateRouting: row.private_routing === 1 }),
    comment: row.comment,
    tags: parseTags(row.tags),
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    ...(row.comment_modified_at === null ? {} : { commentModifiedAt: row.comment_modified_at }),
    ...(row.tags_modified_at === null ? {} : { tagsModifiedAt: row.tags_modified_at }),
  };
}

/** As people call a record. */
export function nameOfRecord({ name, type }: RecordItem): string {
  return `${name} ${type}`;
}
