/**
 * CNAME flattening: a name answers the addresses at the end of the chain that its CNAME begins, and no CNAME (v4: §5.9). So it
 * may stand at the apex and beside other types, which RFC 1034 §3.6.2 does not let a CNAME do.
 */
import { Ede, Type } from '../../dns/codes.js';
import type { RRset } from '../../dns/rr.js';

/** What was last heard of a target. */
export interface TargetFacts {
  /** 4 octets each, none when there are none; undefined when nothing usable was ever heard. */
  readonly ipv4: readonly Uint8Array[] | undefined;
  /** 16 octets each, likewise. */
  readonly ipv6: readonly Uint8Array[] | undefined;
  /** Seconds, the least along the chain. */
  readonly ttl: number;
  /** It could not be asked for again, and its time is over (RFC 8767). */
  readonly stale: boolean;
}

/** By lower-case wire name; undefined for a target nobody has asked for yet. */
export type TargetLookup = (target: Uint8Array) => TargetFacts | undefined;

/** Nothing is known of any target. */
export const NO_TARGETS: TargetLookup = () => undefined;

/** TTL of answers that are stale, seconds (RFC 8767 §4). */
const STALE_TTL = 30;

/** What a flattened name answers for A and AAAA. `ttl`: that of its CNAME record, seconds. */
export function flattenedRRsets(ttl: number, facts: TargetFacts | undefined): RRset[] {
  return [...familyRRsets(Type.a, ttl, facts, facts?.ipv4), ...familyRRsets(Type.aaaa, ttl, facts, facts?.ipv6)];
}

function familyRRsets(
  type: number,
  ttl: number,
  facts: TargetFacts | undefined,
  addresses: readonly Uint8Array[] | undefined,
): RRset[] {
  if (addresses === undefined) {
    return [{ type, ttl: 0, rdatas: [], extendedError: facts ? Ede.noReachableAuthority : Ede.notReady }];
  }
  if (addresses.length === 0) return [];
  const least = Math.min(ttl, facts!.ttl);
  if (!facts!.stale) return [{ type, ttl: least, rdatas: addresses }];
  return [{ type, ttl: Math.min(least, STALE_TTL), rdatas: addresses, extendedError: Ede.staleAnswer }];
}
