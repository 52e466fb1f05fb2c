/**
 * CNAME flattening: a name answers the addresses at the end of its CNAME chain instead of the CNAME (v4: §5.9). So it
 * may be at the apex and have other types, which RFC 1034 §3.6.2 forbids for a CNAME.
 */
import { Ede, Type } from '../../dns/codes.js';
import { type RRset, RRsetSource } from '../../dns/rr.js';

/** The last result for a target. */
export interface TargetFacts {
  /** 4 octets each; empty when there are none; undefined when there was never a usable answer. */
  readonly ipv4: readonly Uint8Array[] | undefined;
  /** 16 octets each, likewise. */
  readonly ipv6: readonly Uint8Array[] | undefined;
  /** Seconds; the smallest TTL of the chain. */
  readonly ttl: number;
  /** Resolving the target again failed, and its TTL has ended (RFC 8767). */
  readonly stale: boolean;
}

/** By lower-case wire name; undefined for a target that has never been resolved. */
export type TargetLookup = (target: Uint8Array) => TargetFacts | undefined;

/** Has no targets. */
export const NO_TARGETS: TargetLookup = () => undefined;

/** TTL of stale answers in seconds (RFC 8767 §4). */
const STALE_TTL = 30;

/** The A and AAAA RRsets of a flattened name. `ttl`: that of its CNAME record, seconds. */
export function flattenedRRsets(ttl: number, facts: TargetFacts | undefined): RRset[] {
  return [...familyRRsets(Type.a, ttl, facts, facts?.ipv4), ...familyRRsets(Type.aaaa, ttl, facts, facts?.ipv6)];
}

function familyRRsets(
  type: number,
  ttl: number,
  facts: TargetFacts | undefined,
  addresses: readonly Uint8Array[] | undefined,
): RRset[] {
  const source = RRsetSource.flattened;
  if (addresses === undefined) {
    const extendedError = facts ? Ede.noReachableAuthority : Ede.notReady;
    return [{ type, ttl: 0, rdatas: [], extendedError, source }];
  }
  if (addresses.length === 0) return [];
  if (!facts!.stale) return [{ type, ttl: Math.min(ttl, facts!.ttl), rdatas: addresses, source }];
  return [{ type, ttl: Math.min(ttl, STALE_TTL), rdatas: addresses, extendedError: Ede.staleAnswer, source }];
}
