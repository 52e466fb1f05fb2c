/**
 * What our own active zones say about a name: the stored records, without the edge addresses and flattened answers that
 * replace them in DNS answers. This is the only reader of zones that bypasses these replacements.
 *
 * A pending zone is not authoritative yet, so its names are looked up outside; so are names below a delegation. Zones that nobody
 * has proven say something to their own account only (serving/name-owner.ts). Other accounts hear of a proxied name what DNS
 * answers, which is the addresses of the edge.
 */
import { concatBytes } from '../base/bytes.js';
import { printIP } from '../base/ip.js';
import { Type } from '../dns/codes.js';
import { MAX_NAME_LENGTH, nameOfOwnerKey, parseName, ROOT, toFqdn } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { AUTOMATIC_TTL } from '../dns/ttl.js';
import { locate } from '../serving/look-up.js';
import { findZoneFor } from '../serving/name-owner.js';
import { type StandingOwner, writtenAtOwner } from '../serving/owner.js';
import { type ServingSettings, type ServingZone, servingZone } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import { contentOf, TYPE_CODES, type UpstreamType } from './types.js';

interface Traffic {
  /** The name is proxied: DNS answers the edge's addresses, and these records must not be shown outside. */
  readonly proxied?: boolean;
}

/** `zone`: store number of the zone that says it. */
export type OwnAnswer =
  | { readonly kind: 'outside' }
  | (Exclude<Said, { kind: 'outside' }> & { readonly zone?: number });

type Said =
  | { readonly kind: 'outside' }
  | (Traffic & { readonly kind: 'link'; readonly target: string; readonly ttl: number })
  | (Traffic & {
      readonly kind: 'records';
      readonly records: readonly { readonly content: string; readonly ttl: number }[];
    })
  /** `ttl`: seconds that the absence may be cached. */
  | (Traffic & { readonly kind: 'nodata' | 'nxdomain'; readonly ttl: number })
  | { readonly kind: 'failure'; readonly reason: string };

const OUTSIDE: OwnAnswer = { kind: 'outside' };

export interface OwnZones {
  /**
   * `name`: lower case, wire form. `asker`: store number of the account that asks; undefined: nobody in particular. The whole
   * answer comes from one database snapshot.
   */
  ask(name: Uint8Array, type: UpstreamType, asker: number | undefined): OwnAnswer;
}

export function createOwnZones(store: Store, settings: ServingSettings): OwnZones {
  return {
    ask: (name, type, asker) =>
      store.snapshot(() => {
        const row = findZoneFor(store, name, asker);
        if (!row) return OUTSIDE;
        const zone = servingZone(store, row, settings);
        const said = askZone(store, zone, name, type, row.account === asker);
        return said.kind === 'outside' ? OUTSIDE : { ...said, zone: row.seq };
      }),
  };
}

function askZone(store: Store, zone: ServingZone, name: Uint8Array, type: UpstreamType, isOwn: boolean): Said {
  const located = locate(store, zone, name, TYPE_CODES[type]);
  switch (located.kind) {
    case 'cut':
      return { kind: 'outside' };
    case 'dname':
      return substitute(zone, located, name);
    case 'nowhere':
      return { kind: 'nxdomain', ttl: negativeTtl(zone) };
    default: {
      if (!isProxied(zone, located)) return answerAt(zone, located, type);
      const answer = isOwn ? answerAt(zone, located, type) : shownAt(zone, located, type);
      return answer.kind === 'outside' || answer.kind === 'failure' ? answer : { ...answer, proxied: true };
    }
  }
}

/** What everybody sees of a proxied name. */
function shownAt(zone: ServingZone, owner: StandingOwner, type: UpstreamType): Said {
  const { ipv4, ipv6 } = zone.edge;
  const addresses = type === 'A' ? ipv4 : type === 'AAAA' ? ipv6 : [];
  if (addresses.length > 0) {
    return {
      kind: 'records',
      records: addresses.map((address) => ({ content: printIP(address), ttl: AUTOMATIC_TTL })),
    };
  }
  const answer = answerAt(zone, owner, type);
  return answer.kind === 'link' || type === 'A' || type === 'AAAA'
    ? { kind: 'nodata', ttl: negativeTtl(zone) }
    : answer;
}

function negativeTtl({ facts: { soa } }: ServingZone): number {
  return Math.min(soa.ttl, soa.minimum);
}

function isProxied({ facts }: ServingZone, { records }: StandingOwner): boolean {
  return !facts.dnsOnly && records.some(({ proxied }) => proxied);
}

function answerAt(zone: ServingZone, owner: StandingOwner, type: UpstreamType): Said {
  const written = writtenAtOwner(zone, owner);
  const rrsetOf = (code: number): RRset | undefined => written.find((rrset) => rrset.type === code);
  const rrset = rrsetOf(TYPE_CODES[type]);
  if (rrset) {
    const { ttl, rdatas } = rrset;
    return { kind: 'records', records: rdatas.map((rdata) => ({ content: contentOf(type, rdata), ttl })) };
  }
  const alias = rrsetOf(Type.cname);
  if (alias) return { kind: 'link', target: toFqdn(alias.rdatas[0]!), ttl: alias.ttl };
  return { kind: 'nodata', ttl: negativeTtl(zone) };
}

/** The name with its DNAME owner replaced by the DNAME's target (RFC 6672 §2.2). */
function substitute(zone: ServingZone, located: StandingOwner, name: Uint8Array): Said {
  const { ttl, rdatas } = writtenAtOwner(zone, located).find((rrset) => rrset.type === Type.dname)!;
  const owner = nameOfOwnerKey(located.ownerKey, zone.facts.apex);
  const prefix = name.subarray(0, name.length - owner.length);
  const target = rdatas[0]!;
  if (prefix.length + target.length > MAX_NAME_LENGTH) {
    return { kind: 'failure', reason: `the DNAME of ${toFqdn(owner)} results in a name of more than 255 octets` };
  }
  return { kind: 'link', target: toFqdn(concatBytes(prefix, target)), ttl };
}

/** The wire form of a name, lower case; the final dot is optional. Throws NameError. */
export function wireOf(text: string): Uint8Array {
  return text === '' ? ROOT : parseName(`${text}.`);
}
