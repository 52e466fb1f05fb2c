/** Signs an RRset at once. */
import type { RRset } from '../../src/dns/rr.js';
import { beginSignature, type SignatureTimes, signOctets } from '../../src/dnssec/sign.js';
import type { SigningKey } from '../../src/dnssec/signing-key.js';

/** The rdata of the RRSIG over an RRset, see `beginSignature`. */
export function signRRset(
  key: SigningKey,
  apex: Uint8Array,
  owner: Uint8Array,
  rrset: Pick<RRset, 'type' | 'ttl' | 'rdatas'>,
  times: SignatureTimes,
): Uint8Array {
  const { head, octets } = beginSignature(key, apex, owner, rrset, times);
  return Buffer.concat([head, signOctets(key, octets)]);
}
