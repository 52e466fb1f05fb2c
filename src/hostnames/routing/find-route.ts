/**
 * Decides where a request for a host goes and whose certificates serve it: the one rule for the edge and for explanations (edge
 * specification §7). It reads only the store and lists the zones it read, so that callers can cache the result.
 *
 * The order: an active custom hostname with exactly this name; a proxied record (of an origin, or of a bucket to which the name
 * is attached) or proxied wildcard record in the zone that the name belongs to; an active wildcard hostname one label above,
 * unless the name belongs to a zone other than the hostname's. Such a zone takes precedence even if it has no record for the
 * name. Hostnames count only where they may decide (serving/name-owner.ts): one that is not active explains why nothing is there,
 * and hides nothing.
 */
import { domainToASCII } from 'node:url';
import { toHex } from '../../base/bytes.js';
import { NameError, parseName } from '../../dns/name.js';
import type { CorsRule } from '../../http/cors.js';
import { type Balanced, balancedAt } from '../../serving/balanced.js';
import { decidesFor } from '../../serving/hostname-proof.js';
import { locate } from '../../serving/look-up.js';
import { findRoutingZone, isNameOfOthers, isProvenByOthers } from '../../serving/name-owner.js';
import { type ServingSettings, type ServingZone, servingZone } from '../../serving/zone.js';
import { type ZoneSettings, zoneSettings } from '../../serving/zone-settings.js';
import type { Store } from '../../store/driver.js';
import { findFallbackOrigin } from '../../store/hostnames/fallback-origins.js';
import { type HostnameRow, hostnamesOfName } from '../../store/hostnames/hostnames.js';
import { findBucketDomain, type NamedBucketDomainRow } from '../../store/objects/domains.js';
import { rulesOfBucket } from '../../store/objects/rules.js';
import { findServedZone, findZone, type ZoneRow } from '../../store/zones/zones.js';
import { certificateOwner, sslConfigurationOf } from '../item.js';
import type { SslSettings } from '../ssl-input.js';
import { isProxiedOwner, type OriginPlace, originPlaces, recordsAtName } from './origin.js';

/** Why a known host has no origin: the causes of error 1016. */
export type RouteCause = 'ownership' | 'fallback_origin' | 'standalone_zone' | 'origin_dns' | 'load_balancer';

export type RouteSource = 'hostname' | 'record' | 'wildcard-record' | 'wildcard-hostname';

/** Owners of certificates, as certs/ names them. */
export interface CertificateHolder {
  readonly kind: 'hostname' | 'zone';
  readonly id: string;
  /** TLS settings of the custom hostname or of the bucket's domain, which take precedence over those of the zone. */
  readonly tls: SslSettings;
}

export interface RoutedZone {
  /** Store numbers. */
  readonly seq: number;
  readonly account: number;
  readonly id: string;
  readonly name: string;
}

interface RouteBase {
  readonly host: string;
  /** The zone whose settings apply; undefined if the host is unknown. */
  readonly zone: RoutedZone | undefined;
  readonly settings: ZoneSettings | undefined;
  /** The custom hostname that was found, whatever its state. */
  readonly hostname: { readonly id: string; readonly hostname: string } | undefined;
  /** In order of preference; the first whose certificate covers the host is used. */
  readonly holders: readonly CertificateHolder[];
  /** Store numbers of the zones that decided. */
  readonly zones: readonly number[];
}

export type Route = RouteBase &
  (
    | {
        readonly kind: 'origin';
        readonly by: RouteSource;
        readonly places: readonly OriginPlace[];
        /** Whether the places are those of the zone's fallback origin. */
        readonly isFallback: boolean;
        /** The server name to send to the origin in TLS. */
        readonly sni: string;
        /** The load balancer that chooses an origin for each request; `places` are some of its origins. */
        readonly balanced?: Balanced | undefined;
        readonly zone: NonNullable<RouteBase['zone']>;
        readonly settings: ZoneSettings;
      }
    | {
        /** The name shows the objects of a bucket. */
        readonly kind: 'bucket';
        /** `seq`: its number in the store. Nothing is shown unless `enabled`. `cors`: what pages of other origins may do. */
        readonly bucket: {
          readonly seq: number;
          readonly name: string;
          readonly enabled: boolean;
          readonly cors: readonly CorsRule[] | undefined;
        };
        readonly zone: NonNullable<RouteBase['zone']>;
        readonly settings: ZoneSettings;
      }
    | { readonly kind: 'failure'; readonly cause: RouteCause }
    | { readonly kind: 'unknown' }
  );

export type OriginRoute = Extract<Route, { kind: 'origin' }>;
export type BucketRoute = Extract<Route, { kind: 'bucket' }>;

/** `host`: lower case, A-labels, no final dot, no port. All reads are from one snapshot. */
export function findRoute(store: Store, serving: ServingSettings, host: string): Route {
  return store.snapshot(() => new Search(store, serving, host).run());
}

const SNI_OF_REQUEST = ':request_host_header:';

interface Place {
  readonly row: ZoneRow;
  readonly zone: ServingZone;
}

class Search {
  private readonly read = new Set<number>();
  /** The host in wire form. */
  private readonly name: Uint8Array | undefined;
  private readonly exact: HostnameRow | undefined;
  private readonly own: Place | undefined;
  private readonly wildcard: HostnameRow | undefined;
  /** Those that would decide if they were active. */
  private readonly inactive: Readonly<Record<'exact' | 'wildcard', HostnameRow | undefined>>;
  /** The bucket to which the name belongs in its zone. */
  private readonly domain: NamedBucketDomainRow | undefined;

  constructor(
    private readonly store: Store,
    private readonly serving: ServingSettings,
    private readonly host: string,
  ) {
    this.name = wireName(host);
    this.own = this.placeAbove();
    const [exact, wildcards] = [hostnamesOfName(store, host), wildcardsAbove(store, host)];
    this.exact = exact.find((row) => this.decides(row));
    this.wildcard = wildcards.find((row) => this.decides(row));
    this.inactive = { exact: exact.find(isInactive), wildcard: wildcards.find(isInactive) };
    this.domain = this.own && findBucketDomain(store, host, this.own.row.seq);
  }

  run(): Route {
    if (this.exact) return this.byHostname(this.exact, 'hostname');
    const record = this.byRecord();
    if (record) return record;
    const { wildcard, own } = this;
    const isStandalone = own !== undefined && own.row.seq !== wildcard?.zone;
    if (wildcard && !isStandalone) return this.byHostname(wildcard, 'wildcard-hostname');
    const inactive = this.inactiveClaim(own);
    if (inactive) return this.failure('ownership', inactive);
    return wildcard ? this.failure('standalone_zone', wildcard) : this.unknown();
  }

  /** Anybody may claim names of others: what is not verified says nothing about names of other accounts' zones. */
  private inactiveClaim(own: Place | undefined): HostnameRow | undefined {
    const { exact, wildcard } = this.inactive;
    if (!own) return [exact, wildcard].find((row) => row && !this.isOthers(row));
    if (exact && findZone(this.store, exact.zone)?.account === own.row.account) return exact;
    return wildcard?.zone === own.row.seq ? wildcard : undefined;
  }

  /** Whether another account has proven a zone at or above the host, although that zone routes nothing. */
  private isOthers({ zone }: HostnameRow): boolean {
    const account = findZone(this.store, zone)?.account;
    return account === undefined || isProvenByOthers(this.store, { name: this.host, account });
  }

  private decides(row: HostnameRow): boolean {
    const zone = findZone(this.store, row.zone);
    return zone !== undefined && this.name !== undefined && decidesFor(this.store, row, zone.account, this.name);
  }

  /** The proxied record of the name, or the proxied wildcard that stands for it. */
  private byRecord(): Route | undefined {
    if (!this.own) return undefined;
    const { row, zone } = this.own;
    const located = locate(this.store, zone, this.name!, 0);
    if (located.kind !== 'name' && located.kind !== 'wildcard') return undefined;
    if (!isProxiedOwner(zone, located.records)) return undefined;
    if (this.domain && located.kind === 'name') return this.byDomain(row, this.domain);
    const by = located.kind === 'name' ? 'record' : 'wildcard-record';
    return this.origin(row, by, {
      places: originPlaces(located.records),
      isFallback: false,
      sni: this.host,
      balanced: this.balanced(row, located.ownerKey),
      hostname: undefined,
    });
  }

  /** The hosts of its origins were the account's own when they were set: others may have proven since that they are theirs. */
  private balanced({ seq, account }: ZoneRow, ownerKey: Uint8Array): Balanced | undefined {
    const found = balancedAt(this.store, seq, ownerKey);
    const isOthers = (host: string | undefined): boolean =>
      host !== undefined && isNameOfOthers(this.store, { name: domainToASCII(host.replace(/:\d+$/, '')), account });
    const pools = found?.pools.map((one) => {
      const origins = one.pool.origins.map((origin) =>
        isOthers(origin.host) ? { ...origin, host: undefined } : origin,
      );
      return { ...one, pool: { ...one.pool, origins } };
    });
    return found && pools && { ...found, pools };
  }

  private byDomain(row: ZoneRow, { bucket: seq, bucket_name: name, enabled }: NamedBucketDomainRow): Route {
    const { id, settings } = this.describe(row);
    const cors = rulesOfBucket<CorsRule>(this.store, seq, 'cors');
    const bucket = { seq, name, enabled: enabled === 1, cors };
    return { ...this.base(undefined), kind: 'bucket', bucket, zone: id, settings };
  }

  private byHostname(hostname: HostnameRow, by: RouteSource): Route {
    const row = findServedZone(this.store, hostname.zone);
    if (!row) return this.unknown();
    this.read.add(row.seq);
    const zone = servingZone(this.store, row, this.serving);
    const custom = hostname.origin;
    const name = custom ?? findFallbackOrigin(this.store, row.seq)?.origin;
    const records = name === undefined ? [] : recordsAtName(this.store, zone, name, row.name);
    const places = originPlaces(records);
    const usable = custom === null ? isProxiedOwner(zone, records) : !zone.facts.dnsOnly;
    if (places.length === 0 || !usable)
      return this.failure(custom === null ? 'fallback_origin' : 'origin_dns', hostname);
    return this.origin(row, by, { places, isFallback: custom === null, sni: this.sniOf(hostname), hostname });
  }

  /** The edge sends a custom origin its own name, unless the customer sets another. */
  private sniOf({ origin, origin_sni }: HostnameRow): string {
    if (origin_sni !== null) return origin_sni === SNI_OF_REQUEST ? this.host : origin_sni;
    return origin ?? this.host;
  }

  private origin(
    row: ZoneRow,
    by: RouteSource,
    found: {
      readonly places: readonly OriginPlace[];
      readonly isFallback: boolean;
      readonly sni: string;
      readonly balanced?: Balanced | undefined;
      readonly hostname: HostnameRow | undefined;
    },
  ): Route {
    const { id, settings } = this.describe(row);
    const { hostname, ...to } = found;
    return { ...this.base(hostname), kind: 'origin', by, ...to, zone: id, settings };
  }

  private failure(cause: RouteCause, hostname: HostnameRow): Route {
    const row = findServedZone(this.store, hostname.zone);
    const described = row && this.describe(row);
    return { ...this.base(hostname), kind: 'failure', cause, zone: described?.id, settings: described?.settings };
  }

  private unknown(): Route {
    return { ...this.base(undefined), kind: 'unknown', zone: undefined, settings: undefined };
  }

  private base(hostname: HostnameRow | undefined) {
    return {
      host: this.host,
      hostname: hostname && { id: hostname.id, hostname: hostname.hostname },
      holders: this.holders(),
      zones: [...this.read],
    };
  }

  private describe(row: ZoneRow) {
    this.read.add(row.seq);
    const id = { seq: row.seq, account: row.account, id: toHex(row.id), name: row.name };
    return { id, settings: zoneSettings(this.store, row) };
  }

  /** Prefers the certificate of the exact name, then that of its zone, then that of a wildcard. */
  private holders(): CertificateHolder[] {
    const holders: CertificateHolder[] = [];
    const add = (row: HostnameRow | undefined): void => {
      const configuration = row && sslConfigurationOf(row);
      if (row && configuration)
        holders.push({ ...certificateOwner(row.id), kind: 'hostname', tls: configuration.settings });
    };
    add(this.exact);
    if (this.own) holders.push({ kind: 'zone', id: toHex(this.own.row.id), tls: tlsOfDomain(this.domain) });
    add(this.wildcard);
    return holders;
  }

  private placeAbove(): Place | undefined {
    const row = this.name && findRoutingZone(this.store, this.name);
    if (!row) return undefined;
    this.read.add(row.seq);
    return { row, zone: servingZone(this.store, row, this.serving) };
  }
}

/** Undefined for a text that is not a name. */
function wireName(text: string): Uint8Array | undefined {
  try {
    return parseName(`${text}.`);
  } catch (error) {
    if (error instanceof NameError) return undefined;
    throw error;
  }
}

/** A bucket's domain may have TLS settings of its own. */
function tlsOfDomain(domain: NamedBucketDomainRow | undefined): SslSettings {
  if (!domain) return {};
  const ciphers = JSON.parse(domain.ciphers) as string[];
  return {
    ...(domain.min_tls !== null && { min_tls_version: domain.min_tls }),
    ...(ciphers.length > 0 && { ciphers }),
  };
}

/** The hostnames that cover all names one label below: `*.x`, and `x` with a certificate for `*.x`. Active ones go before others. */
function wildcardsAbove(store: Store, host: string): readonly HostnameRow[] {
  const dot = host.indexOf('.');
  if (dot < 0) return [];
  const parent = host.slice(dot + 1);
  const rows = [...hostnamesOfName(store, `*.${parent}`), ...hostnamesOfName(store, parent).filter(isWildcard)];
  return rows.sort((a, b) => Number(b.state === 'active') - Number(a.state === 'active'));
}

function isInactive({ state }: HostnameRow): boolean {
  return state !== 'active';
}

function isWildcard(row: HostnameRow): boolean {
  return sslConfigurationOf(row)?.wildcard === true;
}
