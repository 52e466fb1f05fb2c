/**
 * What is stored of a signed owner, in one octet string: how it stands in the zone, and for each signed RRset a digest of its
 * data and the signatures. The NSEC record is stored there too.
 *
 * First an octet: the standing, and a bit for a DNAME. Then for each RRset, by type: type (2 octets), digest (8), number of
 * signatures (1), for NSEC and NSEC3 TTL (4), length (2) and rdata, and the signatures, each with its length (2).
 */
import { ByteReader, ByteWriter } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import type { RRset } from '../dns/rr.js';

/**
 * 'authority': the zone's own name. 'cut': a delegation; only its DS and NSEC are signed. 'occluded': below a delegation or a
 * DNAME, or glue; nothing is signed, and the chain leaves it out (RFC 4035 §2.2, §2.3).
 */
export type Standing = 'authority' | 'cut' | 'occluded';

/** A record that is stored with its signatures because nothing else has it: NSEC or NSEC3. */
export interface DenialRecord {
  /** Seconds. */
  readonly ttl: number;
  readonly rdata: Uint8Array;
}

export interface SignedSet {
  readonly type: number;
  /** Of type, TTL and data, see {@link digestOf}. */
  readonly digest: number;
  /** For NSEC and NSEC3 only. */
  readonly denial?: DenialRecord;
  /** Rdata of RRSIGs. */
  readonly signatures: readonly Uint8Array[];
}

export interface SignedOwner {
  readonly standing: Standing;
  /** Whether it has a DNAME, which occludes the names below it. */
  readonly redirects: boolean;
  /** By type. */
  readonly sets: readonly SignedSet[];
}

const STANDINGS: readonly Standing[] = ['authority', 'cut', 'occluded'];
const REDIRECTS = 0x10;

/** The standing and DNAME bit alone, without reading the rest. */
export function standingOf(octets: Uint8Array): Pick<SignedOwner, 'standing' | 'redirects'> {
  return { standing: STANDINGS[octets[0]! & 0x0f]!, redirects: (octets[0]! & REDIRECTS) !== 0 };
}

/** The rdata of signatures and records are views of `octets`. */
export function readSignedOwner(octets: Uint8Array): SignedOwner {
  const sets: SignedSet[] = [];
  const reader = new ByteReader(octets, 1);
  while (reader.remaining > 0) {
    const type = reader.u16();
    const digest = reader.u32() * 0x100000000 + reader.u32();
    const count = reader.u8();
    const denial = isDenialType(type) ? { ttl: reader.u32(), rdata: reader.octets(reader.u16()) } : undefined;
    const signatures: Uint8Array[] = [];
    for (let i = 0; i < count; i++) signatures.push(reader.octets(reader.u16()));
    sets.push(denial ? { type, digest, denial, signatures } : { type, digest, signatures });
  }
  const { standing, redirects } = standingOf(octets);
  return { standing, redirects, sets };
}

export function writeSignedOwner({ standing, redirects, sets }: SignedOwner): Uint8Array {
  const writer = new ByteWriter(256);
  writer.u8(STANDINGS.indexOf(standing) | (redirects ? REDIRECTS : 0));
  for (const { type, digest, denial, signatures } of sets) {
    writer.u16(type);
    writer.u32(Math.floor(digest / 0x100000000));
    writer.u32(digest >>> 0);
    writer.u8(signatures.length);
    if (denial) {
      writer.u32(denial.ttl);
      writer.u16(denial.rdata.length);
      writer.octets(denial.rdata);
    }
    for (const signature of signatures) {
      writer.u16(signature.length);
      writer.octets(signature);
    }
  }
  return writer.bytes();
}

function isDenialType(type: number): boolean {
  return type === Type.nsec || type === Type.nsec3;
}

/**
 * A digest of the data that a signature covers, 53 bits. It finds signatures that were made for other data; it need not
 * withstand anyone, because only signatures of the zone's own keys are compared. The order of the rdata does not matter.
 */
export function digestOf({ type, ttl, rdatas }: Pick<RRset, 'type' | 'ttl' | 'rdatas'>): number {
  let high = Math.imul(type, 0x9e3779b1) ^ ttl;
  let low = Math.imul(ttl, 0x85ebca6b) ^ type;
  for (const rdata of rdatas) {
    let a = 0x811c9dc5;
    let b = rdata.length;
    for (let i = 0; i < rdata.length; i++) {
      a = Math.imul(a ^ rdata[i]!, 0x01000193);
      b = Math.imul(b + rdata[i]!, 0x27d4eb2f) ^ (b >>> 15);
    }
    high = (high + a) | 0;
    low = (low + b) | 0;
  }
  return (high >>> 11) * 0x100000000 + (low >>> 0);
}
