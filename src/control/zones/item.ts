/**
 * Zones as plain values, as use cases return them. Identifiers are 32 lower-case hexadecimal digits, times are
 * microseconds since 1970, TTLs are seconds.
 */
import { toHex } from '../../base/bytes.js';
import { domainToUnicode } from '../../dns/idna.js';
import { isContested, isProven } from '../../serving/name-owner.js';
import { assignedNameServers, provingNameServers } from '../../serving/name-servers.js';
import { findAccount } from '../../store/access/accounts.js';
import type { ZoneDefaultsRow } from '../../store/access/dns-settings.js';
import { findIncoming } from '../../store/secondary/incoming.js';
import {
  defaultMailbox,
  type NameProof,
  type NameServerMode,
  soaOfZone,
  ZONE_DEFAULTS,
  type ZoneMode,
  type ZoneRow,
  type ZoneSoa,
  type ZoneStatus,
  type ZoneType,
} from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import { type TransferState, transferStateOf } from '../rules/transfer-state.js';
import { tellsApart } from './claims.js';
import { developmentModeSeconds } from './development-mode.js';
import { type ProofRecord, proofRecord } from './proof-record.js';

export interface ZoneItem {
  readonly id: string;
  /** For people: Unicode if the name is internationalised (v4: §3.2). */
  readonly name: string;
  /** Lower-case punycode, the suffix of the zone's record names. */
  readonly asciiName: string;
  readonly status: ZoneStatus;
  readonly paused: boolean;
  readonly type: ZoneType;
  /** Host names without the final dot. */
  readonly nameServers: readonly string[];
  readonly originalNameServers: readonly string[] | null;
  readonly vanityNameServers: readonly string[] | null;
  readonly verificationKey: string | null;
  readonly account: { readonly id: string; readonly name: string };
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly activatedAt: number | null;
  /** Seconds until development mode ends; negative: since it ended; 0: it was never on. */
  readonly developmentMode: number;
  readonly recordCount: number;
  /** For If-Match: increases with every change of the zone or its records. */
  readonly version: number;
  readonly soa: ZoneSoa;
  readonly nameServerMode: NameServerMode;
  readonly proof: ZoneProof;
  /** How far the copy is; null: the zone is written here. */
  readonly transferState: TransferState | null;
}

/** Whose the zone's name is (docs/tenants.md). */
export interface ZoneProof {
  /** What shows that the name is the account's; null: nothing does yet. */
  readonly by: NameProof | null;
  readonly at: number | null;
  /** Since when what showed it is no longer found; null: it was there when it was last looked for. */
  readonly lostAt: number | null;
  /** Whether its delegation can show it: of those who claim the name, nobody else has these name servers. */
  readonly byDelegation: boolean;
  /** Whether another account claims the name, or one above or below it; said only while nothing proves whose it is. */
  readonly contested: boolean;
  /** What would prove it outside, beside its delegation to {@link ZoneItem.nameServers}. */
  readonly record: ProofRecord;
}

/** `dns_settings` of a zone, or the defaults of an account for its new zones (v4: §8); complete. */
export interface DnsSettingsItem {
  readonly flattenAllCnames: boolean;
  readonly foundationDns: boolean;
  readonly multiProvider: boolean;
  readonly secondaryOverrides: boolean;
  readonly nsTtl: number;
  readonly zoneMode: ZoneMode;
  readonly soa: {
    /** Null = assigned by the service. */
    readonly mname: string | null;
    readonly rname: string;
    readonly refresh: number;
    readonly retry: number;
    readonly expire: number;
    readonly minTtl: number;
    readonly ttl: number;
  };
}

export function zoneItem(ctx: Context, zone: ZoneRow): ZoneItem {
  const account = findAccount(ctx.store, zone.account)!;
  const { nameServers } = ctx.settings;
  return {
    id: toHex(zone.id),
    name: domainToUnicode(zone.name),
    asciiName: zone.name,
    status: zone.status,
    paused: zone.paused === 1,
    type: zone.type,
    developmentMode: developmentModeSeconds(ctx.store, zone.seq, ctx.clock.nowMs()),
    nameServers: assignedNameServers(zone, nameServers),
    originalNameServers: parseList(zone.original_name_servers),
    vanityNameServers: parseList(zone.vanity_name_servers),
    verificationKey: zone.verification_key,
    account: { id: toHex(account.id), name: account.name },
    createdAt: zone.created_at,
    modifiedAt: zone.modified_at,
    activatedAt: zone.activated_at,
    recordCount: zone.record_count,
    version: zone.version,
    soa: soaOfZone(zone, provingNameServers(zone, nameServers)),
    nameServerMode: zone.name_server_mode,
    proof: {
      by: zone.proven_by,
      at: zone.proven_at,
      lostAt: zone.proof_lost_at,
      byDelegation: (isProven(zone) && zone.proof_lost_at === null) || tellsApart(ctx, zone),
      contested: !isProven(zone) && isContested(ctx.store, zone),
      record: proofRecord(zone),
    },
    transferState: zone.type === 'secondary' ? transferStateOf(zone, findIncoming(ctx.store, zone.seq)) : null,
  };
}

function parseList(text: string | null): readonly string[] | null {
  return text === null ? null : (JSON.parse(text) as string[]);
}

export function dnsSettingsItem(zone: ZoneDefaultsRow, nameServers: readonly string[]): DnsSettingsItem {
  return {
    flattenAllCnames: zone.flatten_all_cnames === 1,
    foundationDns: zone.foundation_dns === 1,
    multiProvider: zone.multi_provider === 1,
    secondaryOverrides: zone.secondary_overrides === 1,
    nsTtl: zone.ns_ttl ?? ZONE_DEFAULTS.nsTtl,
    zoneMode: zone.zone_mode,
    soa: {
      mname: zone.soa_mname,
      rname: zone.soa_rname ?? defaultMailbox(nameServers),
      refresh: zone.soa_refresh ?? ZONE_DEFAULTS.refresh,
      retry: zone.soa_retry ?? ZONE_DEFAULTS.retry,
      expire: zone.soa_expire ?? ZONE_DEFAULTS.expire,
      minTtl: zone.soa_minimum ?? ZONE_DEFAULTS.minimum,
      ttl: zone.soa_ttl ?? ZONE_DEFAULTS.soaTtl,
    },
  };
}
