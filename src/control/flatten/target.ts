/** The new state of a target, from its previous state and a new look-up result. */
import { compareBytes } from '../../base/bytes.js';
import { isRoutable, parseIP } from '../../base/ip.js';
import { parseName } from '../../dns/name.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
import type { Resolution } from '../../resolver/resolve.js';
import { findZoneFor } from '../../serving/name-owner.js';
import type { Store } from '../../store/driver.js';
import type { FlattenTargetRow } from '../../store/flatten/targets.js';

export interface TargetPolicy {
  /** Addresses of proxied names, 4 or 16 octets each. */
  readonly edgeAddresses: readonly Uint8Array[];
  /** Whether private addresses from outside are answered, or count as a failure (DNS rebinding). */
  readonly privateAddresses: 'allow' | 'refuse';
}

export interface Heard {
  readonly ipv4: Resolution;
  readonly ipv6: Resolution;
}

/** The shortest time in seconds between two look-ups of an outside target, whatever its TTL. */
const LEAST_REFRESH = 30;
/**
 * Seconds until a target in our own zones is resolved again, as a fallback; changes of its records schedule it at once.
 */
const OWN_REFRESH = 300;
/**
 * The earliest part of its TTL after which a target is resolved again. The time is spread, so that targets resolved
 * together do not stay together.
 */
const EARLIEST_PART = 0.8;
const PART_SPREAD = 0.1;
/** Seconds until a failed target is resolved again; doubled with each failure. */
const FIRST_RETRY = 2;
const LAST_RETRY = 300;
/** How long an expired answer is used when there is no newer one (RFC 8767 §5: days). */
const LONGEST_STALE_US = 3 * 86_400_000_000;

const SECOND_US = 1_000_000;

/** `chance`: from 0 up to, but not including, 1. */
export function judgeTarget(
  before: FlattenTargetRow,
  heard: Heard,
  policy: TargetPolicy,
  nowUs: number,
  chance: number,
): FlattenTargetRow {
  const found = addressesOf(heard, policy);
  return 'reason' in found
    ? afterFailure(before, heard, found.reason, nowUs, chance)
    : afterSuccess(before, heard, found, nowUs, chance);
}

interface Found {
  readonly ipv4: Uint8Array;
  readonly ipv6: Uint8Array;
  readonly ttl: number;
}

function addressesOf(heard: Heard, { edgeAddresses, privateAddresses }: TargetPolicy): Found | { reason: string } {
  const both = [heard.ipv4, heard.ipv6];
  // The real target of one of our proxied names must not become public, in whatever zone the flattened name is.
  if (both.some(({ proxied }) => proxied)) {
    const ofSize = (size: number) => join(edgeAddresses.filter(({ length }) => length === size));
    return { ipv4: ofSize(4), ipv6: ofSize(16), ttl: AUTOMATIC_TTL };
  }
  const failed = both.find(({ status }) => status === 'servfail' || status === 'timeout');
  if (failed) return { reason: failed.reason ?? failed.status };
  const [ipv4, ipv6] = both.map(({ records }) => records.map(({ content }) => parseIP(content)!));
  if (privateAddresses === 'refuse' && both.some(({ source }) => source !== 'own')) {
    if ([...ipv4!, ...ipv6!].some((address) => !isRoutable(address)))
      return { reason: 'it leads to a private address' };
  }
  const positive = both.filter(({ records }) => records.length > 0);
  const ttl = Math.min(...(positive.length > 0 ? positive : both).map((resolution) => resolution.ttl));
  return { ipv4: join(ipv4!), ipv6: join(ipv6!), ttl };
}

/** Sorts the addresses, because resolvers rotate them. */
function join(addresses: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat([...addresses].sort(compareBytes)));
}

function afterSuccess(
  before: FlattenTargetRow,
  heard: Heard,
  { ipv4, ipv6, ttl }: Found,
  nowUs: number,
  chance: number,
): FlattenTargetRow {
  const isOwn = isFromOwn(heard);
  const rest = (isOwn ? Math.max(ttl, OWN_REFRESH) : Math.max(ttl, LEAST_REFRESH)) * 1000;
  return {
    name: before.name,
    ipv4,
    ipv6,
    ttl: steadyTtl(before, { ipv4, ipv6, ttl }, nowUs),
    asked: 1,
    stale: 0,
    own: isOwn ? 1 : 0,
    failures: 0,
    resolved_at: nowUs,
    expires_at: nowUs + ttl * SECOND_US,
    refresh_at: Math.floor(nowUs / 1000 + rest * (EARLIEST_PART + PART_SPREAD * chance)),
    chain: chainOf(heard),
    reason: null,
  };
}

/**
 * A resolver returns the remaining seconds of a cached answer, fewer each time. That does not change the data: the TTL
 * seen first stays until the answer must have been fetched again.
 */
function steadyTtl(before: FlattenTargetRow, { ipv4, ipv6, ttl }: Found, nowUs: number): number {
  const isSame = isEqual(before.ipv4, ipv4) && isEqual(before.ipv6, ipv6) && before.stale === 0;
  return isSame && nowUs < before.expires_at ? Math.max(before.ttl, ttl) : ttl;
}

function isEqual(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && Buffer.compare(a, b) === 0;
}

function afterFailure(
  before: FlattenTargetRow,
  heard: Heard,
  reason: string,
  nowUs: number,
  chance: number,
): FlattenTargetRow {
  const failures = before.failures + 1;
  const isKnown = before.ipv4 !== null && nowUs < before.expires_at + LONGEST_STALE_US;
  const retryMs = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(failures - 1, 20)) * 1000 * (1 + chance / 2);
  const isExpired = nowUs >= before.expires_at;
  const retryAt = Math.floor(nowUs / 1000 + retryMs);
  return {
    ...before,
    ipv4: isKnown ? before.ipv4 : null,
    ipv6: isKnown ? before.ipv6 : null,
    asked: 1,
    stale: isKnown && isExpired ? 1 : 0,
    failures,
    // An answer that is still valid becomes stale on time.
    refresh_at: isKnown && !isExpired ? Math.min(retryAt, Math.ceil(before.expires_at / 1000)) : retryAt,
    chain: heard.ipv4.chain.length > 0 ? chainOf(heard) : before.chain,
    reason,
  };
}

function isFromOwn({ ipv4, ipv6 }: Heard): boolean {
  return ipv4.source === 'own' && ipv6.source === 'own';
}

function chainOf({ ipv4 }: Heard): string {
  return JSON.stringify(ipv4.chain.map(({ target, ttl, source }) => ({ name: target, ttl, source })));
}

/**
 * The names of an answer in our own zones, in lower-case wire form. When one of them changes, the answer may change.
 */
export function ownNamesOf(store: Store, resolutions: readonly Resolution[], target: Uint8Array): Uint8Array[] {
  const names = new Set(resolutions.flatMap(({ chain }) => chain.map((link) => link.target)));
  const wires = [...names].map((name) => parseName(`${name}.`));
  return [target, ...wires].filter((name) => findZoneFor(store, name, undefined) !== undefined);
}
