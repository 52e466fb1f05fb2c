/**
 * What use cases hand out: plain values without wire names, ready for any surface. Identifiers are 32 lower-case hexadecimal
 * digits, instants microseconds since 1970, TTLs seconds.
 */
import type { KeyKind } from '../store/keys.js';
import type { RecordSettings } from '../store/records.js';
import type { NameServerMode, ZoneMode, ZoneSoa, ZoneStatus, ZoneType } from '../store/zones.js';
import type { Policy } from './permissions.js';

export interface AccountItem {
  readonly id: string;
  readonly name: string;
  readonly type: 'standard' | 'enterprise';
  readonly createdAt: number;
}

export interface UserItem {
  readonly id: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly superAdministrator: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number;
}

export interface MembershipItem {
  readonly id: string;
  readonly account: AccountItem;
  readonly createdAt: number;
}

/** Networks as CIDR texts: used from one of `in`, when there are any, and from none of `notIn`. */
export interface Networks {
  readonly in: readonly string[];
  readonly notIn: readonly string[];
}

export interface KeyItem {
  readonly id: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly userEmail: string;
  readonly accountId: string | null;
  readonly zoneIds: readonly string[] | null;
  readonly readOnly: boolean;
  /** What it may do; null for everything its user may, within the limits above. */
  readonly policies: readonly Policy[] | null;
  /** Where it may be used; null for anywhere. */
  readonly networks: Networks | null;
  /** Belongs to its account, not to the user who made it. */
  readonly accountOwned: boolean;
  readonly status: 'active' | 'expired' | 'disabled';
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly notBefore: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

export interface ZoneItem {
  readonly id: string;
  /** For people: Unicode where the name is internationalised (v4: §3.2). */
  readonly name: string;
  /** Lower-case punycode, the suffix of the zone's record names. */
  readonly asciiName: string;
  readonly status: ZoneStatus;
  readonly paused: boolean;
  readonly type: ZoneType;
  /** Host names without final dot. */
  readonly nameServers: readonly string[];
  readonly originalNameServers: readonly string[] | null;
  readonly vanityNameServers: readonly string[] | null;
  readonly verificationKey: string | null;
  readonly account: { readonly id: string; readonly name: string };
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly activatedAt: number | null;
  readonly recordCount: number;
  /** For If-Match: grows with every change of the zone or its records. */
  readonly version: number;
  readonly soa: ZoneSoa;
  readonly nameServerMode: NameServerMode;
}

/** `dns_settings` of a zone (v4: §8), defaults filled in. */
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
