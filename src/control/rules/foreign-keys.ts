/** Which keys of other signers a zone may have (RFC 8901 §2.1.2): they are DNSKEY records. */
import { defineErrors } from '../../base/errors.js';
import { isSupportedAlgorithm, readPublicKey } from '../../dnssec/key.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { findDnssecZone } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import type { ZoneRow } from '../../store/zones/zones.js';

const foreignKeyFailure = defineErrors('dnssec', {
  multiSignerOff: {
    status: 400,
    code: 1004,
    text: '{zone} has one signer, whose keys are added by themselves. Keys of other signers can be added with dnssec_multi_signer.',
  },
  notZoneKey: {
    status: 400,
    code: 1004,
    text: 'This is not a key of a zone: flags 256 or 257, and a public key of a supported algorithm.',
  },
  otherAlgorithm: {
    status: 400,
    code: 1004,
    text: 'All signers of a zone use the same algorithm. This key has {algorithm}, the keys of this server have {own}.',
  },
});

/**
 * Whether DNSKEY records of a zone may be changed: not while it has one signer, whose keys are the service's. Throws when not;
 * returns false for a zone that is not signed here.
 */
export function requireSeveralSigners(store: Store, { seq, name }: Pick<ZoneRow, 'seq' | 'name'>): boolean {
  const row = findDnssecZone(store, seq);
  if (!row || row.phase === 'unsigning') return false;
  if (row.multi_signer !== 1) throw foreignKeyFailure('multiSignerOff', { zone: name });
  return true;
}

/**
 * Whether a DNSKEY record may be added to a zone; in one that is not signed here, nothing depends on it. Throws when not.
 * `dnskey`: its rdata.
 */
export function requireForeignKey(
  store: Store,
  { seq, name }: Pick<ZoneRow, 'seq' | 'name'>,
  dnskey: Uint8Array,
): void {
  if (!requireSeveralSigners(store, { seq, name })) return;
  const { algorithm, key, signs } = readPublicKey(dnskey);
  if (!signs || !isSupportedAlgorithm(algorithm) || !key) throw foreignKeyFailure('notZoneKey');
  // Each algorithm of the keys has to sign everything, and no signer makes signatures of another's (RFC 8901 §5).
  const own = keysOfZone(store, seq).map((known) => known.algorithm);
  if (!own.includes(algorithm))
    throw foreignKeyFailure('otherAlgorithm', { algorithm, own: [...new Set(own)].join(', ') });
}
