/** What is known of a target after it was asked for: from what was known before and what has been heard now. */
import { compareBytes } from '../../base/bytes.js';
import { isRoutable, parseIP } from '../../base/ip.js';
import { parseName } from '../../dns/name.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
import { findActiveZone } from '../../resolver/own-zones.js';
import type { Resolution } from '../../resolver/resolve.js';
import type { Store } from '../../store/driver.js';
import type { FlattenTargetRow } from '../../store/flatten/targets.js';

export interface TargetPolicy {
  /** Addresses of proxied names, 4 or 16 octets each. */
  readonly edgeAddresses: readonly Uint8Array[];
  /** Whether private addresses that the outside world gives are answered, or count as a failure (DNS rebinding). */
  readonly privateAddresses: 'allow' | 'refuse';
}

export interface Heard {
  readonly ipv4: Resolution;
  readonly ipv6: Resolution;
}

/** Seconds between two questions for a target of the outside world at least, whatever its TTL. */
const LEAST_REFRESH = 30;
/** Targets in our own zones are asked for again when these change; this is for what that overlooks. */
const OWN_REFRESH = 300;
/** Part of its time after which a target is asked for again: spread, so that what came together does not stay together. */
const EARLIEST_PART = 0.8;
const PART_SPREAD = 0.1;
/** Seconds until a target that failed is asked for again: doubled with each failure. */
const FIRST_RETRY = 2;
const LAST_RETRY = 300;
/** How long an answer is used after its time is over, while there is no other (RFC 8767 §5: days). */
const LONGEST_STALE_US = 3 * 86_400_000_000;

const SECOND_US = 1_000_000;

/** `chance`: from 0 up to 1. */
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
  // What a proxied name of ours really leads to is not for the world to see, in whoever's zone it is asked for.
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

/** In one order, whatever order they came in: resolvers rotate them. */
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
 * A resolver that has an answer in its cache gives the seconds it has left, less every time. That is no change of the data: the
 * TTL first seen stays, until the answer must have been fetched anew.
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
    // What is still good turns stale on time.
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

/** The names of an answer that are in our own zones, lower-case wire names: when one changes, the answer may. */
export function ownNamesOf(store: Store, resolutions: readonly Resolution[], target: Uint8Array): Uint8Array[] {
  const names = new Set(resolutions.flatMap(({ chain }) => chain.map((link) => link.target)));
  const wires = [...names].map((name) => parseName(`${name}.`));
  return [target, ...wires].filter((name) => findActiveZone(store, name) !== undefined);
}
