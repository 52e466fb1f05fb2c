/** Public keys of zones: DNSKEY rdata, key tags, DS digests, and checking signatures (RFC 4034 §2, §5, B). */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { keyTag } from '../dns/key-tag.js';
import { lowerName } from '../dns/name.js';

/** Flags of a DNSKEY (RFC 4034 §2.1.1, RFC 5011 §3). */
const ZONE_KEY = 0x0100;
const REVOKED = 0x0080;
const SECURE_ENTRY_POINT = 0x0001;
/** (RFC 4034 §2.1.2). */
const PROTOCOL = 3;

export interface PublicKey {
  /** Of the DNSKEY. */
  readonly rdata: Uint8Array;
  readonly algorithm: number;
  readonly tag: number;
  /** Whether its signatures count: it is a zone key and not revoked. */
  readonly signs: boolean;
  /** Whether a parent's DS may point to it. */
  readonly isEntryPoint: boolean;
  /** Undefined when the algorithm is not supported, or the octets are invalid. */
  readonly key: KeyObject | undefined;
}

/** A JSON Web Key (RFC 7517). */
type Jwk = Readonly<Record<string, string>>;

interface Algorithm {
  readonly mnemonic: string;
  /** Undefined if the algorithm includes its own hash. */
  readonly hash: string | undefined;
  /** The public key in a DNSKEY; undefined when its octets are invalid. */
  read(octets: Uint8Array): Jwk | undefined;
  /** The same in the other direction. */
  write(key: Jwk): Uint8Array;
}

/** Algorithms whose signatures can be checked (RFC 8624 §3.1). The others are not in use or broken. */
const ALGORITHMS: ReadonlyMap<number, Algorithm> = new Map([
  [5, rsa('RSASHA1', 'sha1')],
  [7, rsa('NSEC3RSASHA1', 'sha1')],
  [8, rsa('RSASHA256', 'sha256')],
  [10, rsa('RSASHA512', 'sha512')],
  [13, ecdsa('ECDSAP256SHA256', 'sha256', 'P-256', 32)],
  [14, ecdsa('ECDSAP384SHA384', 'sha384', 'P-384', 48)],
  [15, edwards('ED25519', 'Ed25519', 32)],
  [16, edwards('ED448', 'Ed448', 57)],
]);

const DIGESTS: ReadonlyMap<number, string> = new Map([
  [1, 'sha1'],
  [2, 'sha256'],
  [4, 'sha384'],
]);

export const isSupportedAlgorithm = (algorithm: number): boolean => ALGORITHMS.has(algorithm);

/** The name of an algorithm, such as `ECDSAP256SHA256`; undefined when it is not supported. */
export function algorithmMnemonic(algorithm: number): string | undefined {
  return ALGORITHMS.get(algorithm)?.mnemonic;
}

/** The hash that a signature is made over; undefined if the algorithm includes its own. */
export function hashOfAlgorithm(algorithm: number): string | undefined {
  return ALGORITHMS.get(algorithm)?.hash;
}

/** The rdata of the DNSKEY of a zone key. `key`: private or public, of a supported algorithm. */
export function dnskeyRdata(key: KeyObject, algorithm: number, flags: number): Uint8Array {
  const octets = ALGORITHMS.get(algorithm)!.write(key.export({ format: 'jwk' }) as Jwk);
  return Buffer.concat([Buffer.of(flags >>> 8, flags & 0xff, PROTOCOL, algorithm), octets]);
}

/** Reads the rdata of a DNSKEY that dns/rr has checked. */
export function readPublicKey(rdata: Uint8Array): PublicKey {
  const flags = (rdata[0]! << 8) | rdata[1]!;
  const algorithm = rdata[3]!;
  return {
    rdata,
    algorithm,
    tag: keyTag(rdata),
    signs: (flags & ZONE_KEY) !== 0 && (flags & REVOKED) === 0 && rdata[2] === PROTOCOL,
    isEntryPoint: (flags & SECURE_ENTRY_POINT) !== 0,
    key: importKey(algorithm, rdata.subarray(4)),
  };
}

/** The rdata of the DS of a key (RFC 4034 §5.1.4). `owner`: the zone's wire name; `digestType`: 1, 2 or 4. */
export function dsRdata(owner: Uint8Array, { rdata, tag, algorithm }: PublicKey, digestType: number): Uint8Array {
  const digest = createHash(DIGESTS.get(digestType)!).update(lowerName(owner)).update(rdata).digest();
  return Buffer.concat([Buffer.of(tag >>> 8, tag & 0xff, algorithm, digestType), digest]);
}

/** Whether an RRSIG's signature over these octets was made by the key. */
export function isSignedBy({ algorithm, key }: PublicKey, octets: Uint8Array, signature: Uint8Array): boolean {
  const known = ALGORITHMS.get(algorithm);
  // An ECDSA signature is the concatenation of r and s (RFC 6605 §4).
  return known !== undefined && key !== undefined
    ? verify(known.hash, octets, { key, dsaEncoding: 'ieee-p1363' }, signature)
    : false;
}

function importKey(algorithm: number, octets: Uint8Array): KeyObject | undefined {
  const key = ALGORITHMS.get(algorithm)?.read(octets);
  if (!key) return undefined;
  try {
    return createPublicKey({ key, format: 'jwk' });
  } catch {
    // The point is not on the curve, or the modulus is too small.
    return undefined;
  }
}

/** Length of the exponent in one octet or three, exponent, modulus (RFC 3110 §2). */
function rsa(mnemonic: string, hash: string): Algorithm {
  return { mnemonic, hash, read: readRsa, write: writeRsa };
}

function readRsa(octets: Uint8Array): Jwk | undefined {
  const isLong = octets[0] === 0;
  const length = isLong ? ((octets[1] ?? 0) << 8) | (octets[2] ?? 0) : (octets[0] ?? 0);
  const at = isLong ? 3 : 1;
  if (length === 0 || at + length >= octets.length) return undefined;
  return { kty: 'RSA', e: text(octets.subarray(at, at + length)), n: text(octets.subarray(at + length)) };
}

function writeRsa({ e, n }: Jwk): Uint8Array {
  const [exponent, modulus] = [octetsOf(e), octetsOf(n)];
  const { length } = exponent;
  const head = length < 256 ? [length] : [0, length >>> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), exponent, modulus]);
}

/** Both coordinates, concatenated (RFC 6605 §4). */
function ecdsa(mnemonic: string, hash: string, crv: string, size: number): Algorithm {
  return {
    mnemonic,
    hash,
    read: (octets) =>
      octets.length === size * 2
        ? { kty: 'EC', crv, x: text(octets.subarray(0, size)), y: text(octets.subarray(size)) }
        : undefined,
    write: ({ x, y }) => Buffer.concat([octetsOf(x), octetsOf(y)]),
  };
}

/** (RFC 8080 §3). */
function edwards(mnemonic: string, crv: string, size: number): Algorithm {
  return {
    mnemonic,
    hash: undefined,
    read: (octets) => (octets.length === size ? { kty: 'OKP', crv, x: text(octets) } : undefined),
    write: ({ x }) => octetsOf(x),
  };
}

function text(octets: Uint8Array): string {
  return Buffer.from(octets).toString('base64url');
}

function octetsOf(member: string | undefined): Uint8Array {
  return Buffer.from(member ?? '', 'base64url');
}
