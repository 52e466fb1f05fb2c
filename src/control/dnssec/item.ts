/** Signed zones as callers of use cases see them. */
import type { DenialKind, DnssecState } from '../../store/dnssec/zones.js';

/** A key of a zone. Times in microseconds since 1970. */
export interface KeyItem {
  readonly id: Uint8Array;
  readonly role: 'ksk' | 'zsk' | 'csk';
  readonly tag: number;
  readonly algorithm: number;
  /** Such as `ECDSAP256SHA256`. */
  readonly algorithmName: string;
  /** Of the DNSKEY, with its rdata, the key in it, and its TTL in seconds. */
  readonly flags: number;
  readonly dnskey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly ttl: number;
  /** A state of dnssec/key-states.ts, or `external` for a key of another signer. */
  readonly state: string;
  readonly since: number;
  /** What its next step waits for; undefined when it is at rest. */
  readonly wait: KeyWaitItem | undefined;
  /** Its DS record; undefined for keys that the parent does not point to. */
  readonly ds: DsItem | undefined;
}

export interface KeyWaitItem {
  /** In words. */
  readonly waitingFor: string;
  /** When it is over at the earliest; undefined when it depends on something else. */
  readonly until: number | undefined;
}

export interface DsItem {
  /** 2: SHA-256. */
  readonly digestType: number;
  readonly digestName: string;
  readonly digest: Uint8Array;
  /** The whole record as a line of a zone file. */
  readonly line: string;
}

export interface DnssecItem {
  /** Name of the zone. */
  readonly zone: string;
  readonly status: DnssecState;
  /** The key whose DS the parent publishes, or is to publish; undefined when the zone is not signed by us. */
  readonly key: KeyItem | undefined;
  /** Undefined when signing was never changed. */
  readonly modifiedAt: number | undefined;
  readonly multiSigner: boolean;
  readonly presigned: boolean;
  /** Whether it tells of the keys of zones whose name servers have names in it (RFC 9615). */
  readonly signals: boolean;
  /** Whether it takes the DS records of the zones below it from their CDS records (RFC 7344). */
  readonly parentalAgent: boolean;
  /** The kind of denial that is served, or is being prepared. */
  readonly denial: DenialKind | undefined;
}
