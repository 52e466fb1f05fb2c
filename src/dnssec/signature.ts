/** Signatures of RRsets: RRSIG rdata, and the signed octets (RFC 4034 §3, §6). */
import { compareBytes, equalBytes } from '../base/bytes.js';
import { isWildcard, labelCount, labelsOf, lowerName, nameLength, nameOfLabels } from '../dns/name.js';
import { typeByCode } from '../dns/rr/registry.js';

export interface Signature {
  /** Of the RRSIG. */
  readonly rdata: Uint8Array;
  readonly typeCovered: number;
  readonly algorithm: number;
  /** Labels of the signed owner, without the root and a leading `*`. */
  readonly labels: number;
  /** Seconds. */
  readonly originalTtl: number;
  /** Seconds since 1970, modulo 2^32 (RFC 4034 §3.1.5). */
  readonly expiration: number;
  readonly inception: number;
  readonly keyTag: number;
  /** Wire name. */
  readonly signer: Uint8Array;
  readonly signature: Uint8Array;
}

/** Octets of RRSIG rdata before the signer's name. */
const FIXED = 18;
const CLASS_IN = 1;

/** Reads the rdata of an RRSIG that dns/rr has checked. */
export function readSignature(rdata: Uint8Array): Signature {
  const view = new DataView(rdata.buffer, rdata.byteOffset, rdata.byteLength);
  const signerEnd = FIXED + nameLength(rdata, FIXED);
  return {
    rdata,
    typeCovered: view.getUint16(0),
    algorithm: view.getUint8(2),
    labels: view.getUint8(3),
    originalTtl: view.getUint32(4),
    expiration: view.getUint32(8),
    inception: view.getUint32(12),
    keyTag: view.getUint16(16),
    signer: rdata.subarray(FIXED, signerEnd),
    signature: rdata.subarray(signerEnd),
  };
}

/** The signed labels of an owner: without the root and a leading `*` (RFC 4034 §3.1.3). */
export function signedLabels(owner: Uint8Array): number {
  const labels = labelCount(owner);
  return isWildcard(owner) ? labels - 1 : labels;
}

/** The parts of a signature that it covers itself. */
export interface SignatureHead extends Pick<Signature, 'typeCovered' | 'labels' | 'originalTtl' | 'signer'> {
  /** The octets of the RRSIG before the signer's name, and possibly more. */
  readonly head: Uint8Array;
}

/** The octets that a signature covers (RFC 4034 §3.1.8.1). `rdatas`: those of the whole RRset, in any order. */
export function signedOctets(signature: SignatureHead, owner: Uint8Array, rdatas: readonly Uint8Array[]): Uint8Array {
  const { head: fixed, typeCovered, originalTtl, signer, labels } = signature;
  const name = ownerAsSigned(owner, labels);
  const head = Buffer.alloc(name.length + 8);
  head.set(name);
  head.writeUInt16BE(typeCovered, name.length);
  head.writeUInt16BE(CLASS_IN, name.length + 2);
  head.writeUInt32BE(originalTtl, name.length + 4);
  const pieces: Uint8Array[] = [fixed.subarray(0, FIXED), lowerName(signer)];
  for (const canonical of canonicalRdatas(typeCovered, rdatas)) {
    pieces.push(head, Uint8Array.of(canonical.length >>> 8, canonical.length & 0xff), canonical);
  }
  return Buffer.concat(pieces);
}

/** Rdata in canonical form and order, each once (RFC 4034 §6.2, §6.3). */
function canonicalRdatas(type: number, rdatas: readonly Uint8Array[]): Uint8Array[] {
  const rrType = typeByCode(type);
  const sorted = rdatas.map((rdata) => rrType.canonical(rdata)).sort(compareBytes);
  return sorted.filter((rdata, i) => i === 0 || !equalBytes(rdata, sorted[i - 1]!));
}

/** An answer from a wildcard has more labels than were signed; they are replaced by `*` (RFC 4035 §5.3.2). */
function ownerAsSigned(owner: Uint8Array, labels: number): Uint8Array {
  const lower = lowerName(owner);
  if (labelCount(lower) <= labels) return lower;
  const own = labelsOf(lower);
  return nameOfLabels([Uint8Array.of(0x2a), ...own.slice(own.length - labels)]);
}
