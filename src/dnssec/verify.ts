/** Verifies a whole signed zone like a validating resolver: keys, signatures, denial of existence. */
import { Type } from '../dns/codes.js';
import type { Finding } from './finding.js';
import { dsRdata, type PublicKey, readPublicKey } from './key.js';
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

/**
 * Verifies the records of a zone at a time in seconds since 1970. Yields the finished part, from 0 to 1, and returns
 * the findings.
 */
export function* verifyZone(
  apex: Uint8Array,
  records: Iterable<PlacedRR>,
  now: number,
): Generator<number, Verification> {
  const zone = groupSignedZone(apex, records);
  const keys = readKeys(zone);
  const check: SignatureCheck = {
    apex: zone.apex,
    keys: keys.filter(({ signs }) => signs),
    now,
    findings: [],
    rrsets: 0,
    good: 0,
    firstExpiration: undefined,
  };
  if (check.keys.length === 0) {
    const message = 'the zone is not signed: it has no DNSKEY record of a zone key';
    check.findings.push({ severity: 'error', code: 'not-signed', message, place: undefined });
    return conclude(zone, check);
  }
  const owners = [...zone.owners, ...zone.hashedOwners];
  for (let i = 0; i < owners.length; i++) {
    verifyOwner(check, owners[i]!);
    yield (i + 1) / owners.length;
  }
  check.findings.push(...verifyDenial(zone));
  return conclude(zone, check);
}

function readKeys(zone: SignedZone): PublicKey[] {
  return (apexRRsets(zone).get(Type.dnskey)?.rdatas ?? []).map(readPublicKey);
}

function denialOf(zone: SignedZone): Verification['denial'] {
  const apex = apexRRsets(zone);
  if (apex.has(Type.nsec)) return 'NSEC';
  return apex.has(Type.nsec3param) ? 'NSEC3' : undefined;
}

function verifyDenial(zone: SignedZone): Finding[] {
  switch (denialOf(zone)) {
    case 'NSEC':
      return verifyNsecChain(zone);
    case 'NSEC3':
      return verifyNsec3Chain(zone);
    default: {
      const message = 'nothing proves which names do not exist: the apex has neither NSEC nor NSEC3PARAM';
      return [{ severity: 'error', code: 'no-denial', message, place: undefined }];
    }
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
