/** Makes signatures of RRsets (RFC 4034 §3). */
import { sign } from 'node:crypto';
import { lowerName } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { hashOfAlgorithm } from './key.js';
import { signedLabels, signedOctets } from './signature.js';
import type { SigningKey } from './signing-key.js';

/** Seconds since 1970. */
export interface SignatureTimes {
  readonly inception: number;
  readonly expiration: number;
}

/**
 * The rdata of the RRSIG over an RRset. `apex`: the signer; `owner`: the owner of the RRset, for a wildcard with its `*`.
 * Both are wire names in any case.
 */
export function signRRset(
  { key, algorithm, tag }: SigningKey,
  apex: Uint8Array,
  owner: Uint8Array,
  { type, ttl, rdatas }: Pick<RRset, 'type' | 'ttl' | 'rdatas'>,
  { inception, expiration }: SignatureTimes,
): Uint8Array {
  const head = Buffer.alloc(18);
  head.writeUInt16BE(type, 0);
  head[2] = algorithm;
  head[3] = signedLabels(owner);
  head.writeUInt32BE(ttl, 4);
  // Times are modulo 2^32 (RFC 4034 §3.1.5).
  head.writeUInt32BE(expiration >>> 0, 8);
  head.writeUInt32BE(inception >>> 0, 12);
  head.writeUInt16BE(tag, 16);
  const octets = signedOctets(
    { head, typeCovered: type, labels: head[3], originalTtl: ttl, signer: apex },
    owner,
    rdatas,
  );
  // An ECDSA signature is the concatenation of r and s (RFC 6605 §4).
  const signature = sign(hashOfAlgorithm(algorithm), octets, { key, dsaEncoding: 'ieee-p1363' });
  return Buffer.concat([head, lowerName(apex), signature]);
}
