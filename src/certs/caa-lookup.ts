/**
 * Finds the CAA records that apply to a name: from the name towards the root, following aliases at every step (RFC 8659
 * §3).
 */
import { type Clock, steadyMs } from '../base/clock.js';
import { ROOT } from '../dns/name.js';
import { latin1Text } from '../dns/presentation.js';
import { parseRdata } from '../dns/rr/registry.js';
import type { CaaProperty } from '../policy-records/caa.js';
import type { ResolveOptions, Resolver } from '../resolver/resolve.js';
import { TYPE_CODES } from '../resolver/types.js';
import type { CaaLookup } from './caa.js';

/** Milliseconds for the whole search; the resolver has a shorter limit for each step. */
const DEADLINE_MS = 30_000;

/** Never rejects because of DNS. `name`: A-labels, without `*.`; the search ends at its last label. */
export async function lookUpCaa(
  resolver: Resolver,
  clock: Clock,
  name: string,
  options: ResolveOptions = {},
): Promise<CaaLookup> {
  const endMs = steadyMs(clock) + DEADLINE_MS;
  let at = name.toLowerCase().replace(/\.$/, '');
  let isOwn = false;
  for (;;) {
    if (steadyMs(clock) > endMs) return { kind: 'unknown', name: at, reason: 'looking them up took too long' };
    // Above one of our zones: registries hardly have such records, and issuance must work without the Internet.
    const isRegistry: boolean = isOwn && !at.includes('.');
    const asked = isRegistry ? {} : options;
    const { status, records, end, source, reason = status } = await resolver.resolve(at, 'CAA', asked);
    if (status === 'servfail' || status === 'timeout') {
      // An unknown result is neither a permission nor a refusal.
      if (!isRegistry) return { kind: 'unknown', name: at, reason };
    }
    isOwn = isRegistry || source === 'own';
    if (records.length > 0) {
      return { kind: 'set', name: at, owner: end, records: records.map(({ content }) => readCaa(content)) };
    }
    const dot = at.indexOf('.');
    if (dot < 0) return { kind: 'none' };
    at = at.slice(dot + 1);
  }
}

/** Parses a record in presentation form, such as `0 issue "ca.test"`. */
function readCaa(content: string): CaaProperty {
  const rdata = parseRdata(TYPE_CODES.CAA, content, ROOT);
  const value = 2 + rdata[1]!;
  return {
    flags: rdata[0]!,
    tag: latin1Text(rdata.subarray(2, value)),
    value: latin1Text(rdata.subarray(value)),
  };
}
