/** When signatures begin, end and are replaced. All times are seconds since 1970. */
import type { SignatureTimes } from '../../../dnssec/sign.js';
import type { DnssecZoneRow } from '../../../store/dnssec/zones.js';
import { nsTtlOfZone, type ZoneRow } from '../../../store/zones/zones.js';

const HOUR = 3600;
const DAY = 86_400;
/** Clocks of resolvers may be behind. */
const BEFORE_NOW = HOUR;
const SHORTEST_LIFE = 21 * DAY;
const SHORTEST_REFRESH = 10 * DAY;
/** The ends of signatures are spread over this time, so that not all come due at once. */
const SPREAD = 3 * DAY;

export interface SigningTimes {
  readonly now: number;
  readonly inception: number;
  /** Signatures that end earlier are replaced. */
  readonly refreshBefore: number;
  /** The last end; owners have earlier ones. */
  readonly expiration: number;
}

/**
 * How long before its end a signature is replaced: a secondary that is cut off expires the zone before it serves a signature
 * that has ended, and caches forget it earlier still (RFC 6781 §4.4.1).
 */
export function refreshSpan(soaExpire: number, largestTtl: number): number {
  return Math.max(SHORTEST_REFRESH, soaExpire + largestTtl + DAY);
}

/** From when on a signature is valid that is made now. */
export function inceptionAt(now: number): number {
  return now - BEFORE_NOW;
}

/** 2026-01-01: a clock that says an earlier time is wrong. */
const EARLIEST = 1_767_225_600;

/**
 * Whether the clock was put back since the zone was signed, or the other way round: it was ahead when the zone was signed. The newest
 * setting of a clock is believed, so those signatures are not valid yet.
 */
export function wasPutBack({ newest_inception: newest }: DnssecZoneRow, now: number): boolean {
  return now < newest && now >= EARLIEST;
}

export function signingTimes(now: number, refresh: number): SigningTimes {
  const life = Math.max(SHORTEST_LIFE, 2 * refresh);
  return { now, inception: inceptionAt(now), refreshBefore: now + refresh, expiration: now + life };
}

/** The times of the signatures of one owner. */
export function timesOfOwner(
  { inception, expiration }: SigningTimes,
  apex: Uint8Array,
  ownerKey: Uint8Array,
): SignatureTimes {
  return { inception, expiration: expiration - (hashOf(apex, ownerKey) % SPREAD) };
}

/** FNV-1a. */
function hashOf(...parts: readonly Uint8Array[]): number {
  let hash = 0x811c9dc5;
  for (const part of parts) for (const octet of part) hash = Math.imul(hash ^ octet, 0x01000193);
  return hash >>> 0;
}

/** The largest TTL of the zone's data as far as it is known, seconds. */
export function largestTtlOf(
  { largest_ttl: signed }: DnssecZoneRow,
  soa: { readonly ttl: number },
  zone: ZoneRow,
): number {
  return Math.max(signed, soa.ttl, nsTtlOfZone(zone));
}
