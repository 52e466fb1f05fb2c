/** Pools: the origins between which is chosen. */
import { toHex } from '../base/bytes.js';
import { parseIP } from '../base/ip.js';
import { type Members, memberOr, membersOf, parseMembers } from './members.js';
import type { StoredSettings } from './monitor.js';
import type { Region } from './region-codes.js';

export const ORIGIN_POLICIES = ['random', 'hash', 'least_outstanding_requests', 'least_connections'] as const;

export type OriginPolicy = (typeof ORIGIN_POLICIES)[number];

/** An origin with all defaults. */
export interface Origin {
  /** Unique in the pool. */
  readonly name: string;
  /** An address, or a host name in lower case without the final dot. */
  readonly address: string;
  /** The octets of the address; undefined for a host name. */
  readonly ip: Uint8Array | undefined;
  readonly enabled: boolean;
  /** When it was disabled, microseconds since 1970. */
  readonly disabledAt: number | undefined;
  /** 0 to 1. 0: no new traffic. */
  readonly weight: number;
  /** 0: that of the scheme. */
  readonly port: number;
  /** The Host header that it gets; undefined: that of the request, or of the monitor. */
  readonly host: string | undefined;
  readonly flattenCname: boolean;
}

/** Which part of requests goes elsewhere, in percent. */
export interface LoadShedding {
  readonly defaultPercent: number;
  readonly defaultPolicy: 'random' | 'hash';
  readonly sessionPercent: number;
}

/** Which transitions webhooks and alerts report. */
export interface NotificationFilter {
  readonly isDisabled: boolean;
  /** Undefined: of both. */
  readonly healthy: boolean | undefined;
}

/** Whether owners are told of a transition to this health. */
export function isNotified({ isDisabled, healthy }: NotificationFilter, isHealthy: boolean): boolean {
  return !isDisabled && (healthy === undefined || healthy === isHealthy);
}

/** A pool with all defaults. */
export interface Pool {
  /** 32 hexadecimal digits, here and below. */
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly origins: readonly Origin[];
  /** It is healthy with so many healthy origins. 0: always. */
  readonly minimumOrigins: number;
  /** At most one of both. Neither: health plays no part. */
  readonly monitor: string | undefined;
  readonly monitorGroup: string | undefined;
  /** Undefined: all. */
  readonly checkRegions: readonly Region[] | undefined;
  readonly healthSources: readonly ('regional' | 'global')[] | undefined;
  /** Degrees. */
  readonly place: { readonly latitude: number; readonly longitude: number } | undefined;
  readonly loadShedding: LoadShedding;
  readonly originPolicy: OriginPolicy;
  readonly notifications: { readonly pool: NotificationFilter; readonly origin: NotificationFilter };
}

/** An origin as it is stored. */
export interface StoredOrigin {
  readonly name: string;
  readonly address: string;
  readonly enabled?: boolean;
  /** Microseconds since 1970. */
  readonly disabled_at?: number;
  readonly weight?: number;
  readonly port?: number;
  readonly header?: { readonly Host?: readonly string[] } | null;
  readonly flatten_cname?: boolean;
}

/** Pools that were read last, by their identifiers: a pool that many load balancers share would be read for each of them. */
const recent = new Map<string, { readonly settings: string; readonly pool: Pool }>();
const MOST_RECENT = 64;

export function poolOf({ id, settings }: StoredSettings): Pool {
  const key = toHex(id);
  const known = recent.get(key);
  if (known?.settings === settings) return known.pool;
  const pool = readPool(key, settings);
  recent.delete(key);
  if (recent.size === MOST_RECENT) recent.delete(recent.keys().next().value!);
  recent.set(key, { settings, pool });
  return pool;
}

function readPool(id: string, settings: string): Pool {
  const members = parseMembers(settings);
  const [latitude, longitude] = [members.latitude, members.longitude] as (number | undefined | null)[];
  const checkRegions = memberOr<readonly (Region | 'ALL_REGIONS')[] | undefined>(members, 'check_regions', undefined);
  const filter = membersOf(members, 'notification_filter');
  return {
    id,
    name: memberOr(members, 'name', ''),
    enabled: memberOr<boolean>(members, 'enabled', true),
    origins: memberOr<readonly StoredOrigin[]>(members, 'origins', []).map(originOf),
    minimumOrigins: memberOr(members, 'minimum_origins', 1),
    monitor: memberOr<string>(members, 'monitor', '') || undefined,
    monitorGroup: memberOr<string>(members, 'monitor_group', '') || undefined,
    checkRegions: checkRegions?.includes('ALL_REGIONS') ? undefined : (checkRegions as readonly Region[] | undefined),
    healthSources: memberOr(members, 'health_sources', undefined),
    place: typeof latitude === 'number' && typeof longitude === 'number' ? { latitude, longitude } : undefined,
    loadShedding: loadSheddingOf(membersOf(members, 'load_shedding')),
    originPolicy: memberOr<OriginPolicy>(membersOf(members, 'origin_steering'), 'policy', 'random'),
    notifications: {
      pool: filterOf(membersOf(filter, 'pool')),
      origin: filterOf(membersOf(filter, 'origin')),
    },
  };
}

function originOf({ name, address, ...origin }: StoredOrigin): Origin {
  return {
    name,
    address,
    ip: parseIP(address),
    enabled: origin.enabled ?? true,
    disabledAt: origin.disabled_at,
    weight: origin.weight ?? 1,
    port: origin.port ?? 0,
    host: origin.header?.Host?.[0],
    flattenCname: origin.flatten_cname ?? true,
  };
}

function loadSheddingOf(members: Members): LoadShedding {
  return {
    defaultPercent: memberOr(members, 'default_percent', 0),
    defaultPolicy: memberOr<'random' | 'hash'>(members, 'default_policy', 'random'),
    sessionPercent: memberOr(members, 'session_percent', 0),
  };
}

function filterOf(members: Members): NotificationFilter {
  return {
    isDisabled: memberOr<boolean>(members, 'disable', false),
    healthy: memberOr<boolean | undefined>(members, 'healthy', undefined),
  };
}

/** Of which families a pool can answer at all, whatever its health. A host name may have both. */
export interface Families {
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  readonly hostNames: boolean;
}

/** Families of the enabled origins. */
export function familiesOf({ origins }: Pool): Families {
  const enabled = origins.filter((origin) => origin.enabled);
  return {
    ipv4: enabled.some(({ ip }) => ip?.length === 4),
    ipv6: enabled.some(({ ip }) => ip?.length === 16),
    hostNames: enabled.some(({ ip }) => ip === undefined),
  };
}
