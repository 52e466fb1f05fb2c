/** Verifies a whole signed zone like a validating resolver: keys, signatures, denial of existence. */
import { Type } from '../dns/codes.js';
import { keyTag } from '../dns/key-tag.js';
import type { Finding } from './finding.js';
import { dsRdata, readPublicKey } from './key.js';
import { verifyNsecChain } from './nsec.js';
import { verifyNsec3Chain } from './nsec3.js';
import { apexRRsets, groupSignedZone, type PlacedRR, type SignedZone } from './signed-zone.js';
import { type SignatureCheck, verifyOwner } from './verify-signatures.js';

export interface Verification {
  readonly findings: readonly Finding[];
  /** RRsets that must be signed. */
  readonly rrsets: number;
  /** Valid signatures. */
  readonly signatures: number;
  /** When the first of them ends, seconds since 1970 modulo 2^32. */
  readonly firstExpiration: number | undefined;
  readonly denial: 'NSEC' | 'NSEC3' | undefined;
  /** Rdata of the DS records that the parent may publish, one for each entry point. */
  readonly ds: readonly Uint8Array[];
}

/** SHA-256 (RFC 8624 §3.3). */
const DIGEST_TYPE = 2;

/** More keys, or more of one tag and algorithm, cost resolvers so much that they give up (KeyTrap, CVE-2023-50387). */
const MOST_KEYS = 64;
const MOST_ALIKE = 4;
/** More findings are not made: nobody reads them. */
const MOST_FINDINGS = 10_000;

/**
 * Verifies the records of a zone at a time in seconds since 1970. Yields the finished part of the owners, from 0 to 1, or undefined
 * between other steps, and returns the findings.
 */
export function* verifyZone(
  apex: Uint8Array,
  records: Iterable<PlacedRR>,
  now: number,
): Generator<number | undefined, Verification> {
  const zone = yield* groupSignedZone(apex, records);
  const check: SignatureCheck = {
    apex: zone.apex,
    keys: [],
    now,
    findings: [],
    rrsets: 0,
    good: 0,
    firstExpiration: undefined,
  };
  const dnskeys = apexRRsets(zone).get(Type.dnskey);
  const fault = keysFault(dnskeys?.rdatas ?? []);
  if (fault) {
    check.findings.push({ severity: 'error', ...fault, place: dnskeys?.first });
    return conclude(zone, check);
  }
  for (const rdata of dnskeys?.rdatas ?? []) {
    const key = readPublicKey(rdata);
    if (key.signs) check.keys.push(key);
    yield;
  }
  if (check.keys.length === 0) {
    const message = 'the zone is not signed: it has no DNSKEY record of a zone key';
    check.findings.push({ severity: 'error', code: 'not-signed', message, place: undefined });
    return conclude(zone, check);
  }
  const count = zone.owners.length + zone.hashedOwners.length;
  let done = 0;
  for (const owners of [zone.owners, zone.hashedOwners]) {
    for (const owner of owners) {
      yield* verifyOwner(check, owner);
      yield ++done / count;
      if (check.findings.length > MOST_FINDINGS) return conclude(zone, check);
    }
  }
  yield* verifyDenial(zone, check.findings);
  return conclude(zone, check);
}

function keysFault(dnskeys: readonly Uint8Array[]): { readonly code: string; readonly message: string } | undefined {
  if (dnskeys.length > MOST_KEYS) {
    return { code: 'many-keys', message: `the zone has ${dnskeys.length} DNSKEY records; the limit is ${MOST_KEYS}` };
  }
  for (const [tag, alike] of Map.groupBy(dnskeys, (dnskey) => keyTag(dnskey))) {
    if (alike.length <= MOST_ALIKE) continue;
    const message = `${alike.length} DNSKEY records have the tag ${tag}; resolvers look at no more than ${MOST_ALIKE}`;
    return { code: 'keys-alike', message };
  }
  return undefined;
}

function denialOf(zone: SignedZone): Verification['denial'] {
  const apex = apexRRsets(zone);
  if (apex.has(Type.nsec)) return 'NSEC';
  return apex.has(Type.nsec3param) ? 'NSEC3' : undefined;
}

function* verifyDenial(zone: SignedZone, findings: Finding[]): Generator<undefined, void> {
  const message = 'nothing proves which names do not exist: the apex has neither NSEC nor NSEC3PARAM';
  const none: Finding = { severity: 'error', code: 'no-denial', message, place: undefined };
  const denial = denialOf(zone);
  const found = denial === 'NSEC' ? verifyNsecChain(zone) : denial === 'NSEC3' ? verifyNsec3Chain(zone) : [none];
  for (const finding of found) {
    if (finding) findings.push(finding);
    if (findings.length > MOST_FINDINGS) return;
    yield;
  }
}

function conclude(zone: SignedZone, { findings, rrsets, good, firstExpiration, keys }: SignatureCheck): Verification {
  const entryPoints = keys.filter(({ isEntryPoint }) => isEntryPoint);
  return {
    findings,
    rrsets,
    signatures: good,
    firstExpiration,
    denial: denialOf(zone),
    ds: (entryPoints.length > 0 ? entryPoints : keys).map((key) => dsRdata(zone.apex, key, DIGEST_TYPE)),
  };
}
