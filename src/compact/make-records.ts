/**
 * Makes what an answer of a zone with compact denial lacks: an NSEC record with its signatures, or those of a wildcard's data.
 */
import { Lack, type MadeRecords, type MadeTable, madeKey, UNMADE } from '../answer/made.js';
import { createResponse, writeRequired } from '../answer/response.js';
import type { Engine } from '../answer/state.js';
import { concatBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import { type ReadRecord, readMessage } from '../dns/message.js';
import { nameLength } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { typesOfBitmap } from '../dns/type-bitmap.js';
import { compactNsecRdata } from '../dnssec/denial.js';
import { beginSignature, signOctets } from '../dnssec/sign.js';
import type { SigningKey } from '../dnssec/signing-key.js';
import { bodyAt, NEGATIVE_SOA, viewOf } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';

const HOUR = 3600;
const DAY = 86_400;
/** How long records are kept, and signatures are valid beyond that and the TTL of what they sign, seconds. */
export const KEPT = DAY;
const SPARE = DAY;
/** Resolvers keep nothing longer than a week. */
const LONGEST_TTL = 7 * DAY;

/** The header of a message and, in a record, what stands between a pointer as its owner and its rdata. */
const HEADER = 12;
const POINTER = 0xc00c;
const FIXED = 12;
const LONGEST_MESSAGE = 65_535;

/** What the search of an engine lacks, signed by these keys: none, when the records are only to be shown. */
export function makeRecords(
  { search }: Engine,
  image: ImageReader,
  keys: readonly SigningKey[],
  nowS: number,
): MadeRecords {
  const name = search.name.slice(0, search.nameLength);
  const apex = name.subarray(search.labelAt[search.labels - search.apexLabels]!);
  const isData = search.lack === Lack.data;
  const rrset = isData
    ? rrsetOf(image, search.lackSubject, name, name.length - apex.length)
    : absenceOf(image, search, name);
  const times = {
    inception: nowS - HOUR,
    expiration: nowS + KEPT + Math.min(rrset.ttl, LONGEST_TTL) + SPARE,
  };
  const signatures = keys.map((key) => {
    const { head, octets } = beginSignature(key, apex, name, rrset, times);
    return concatBytes(head, signOctets(key, octets));
  });
  const rrs = signatures.map((rdata) => printRR(Type.rrsig, rrset.ttl, rdata));
  if (!isData) rrs.unshift(printRR(rrset.type, rrset.ttl, rrset.rdatas[0]!));
  return { ...emptyRecords(search, image), octets: viewOf(concatBytes(...rrs)), count: rrs.length, until: nowS + KEPT };
}

/** In place of records that cannot be made. */
export function unmadeRecords({ search }: Engine, image: ImageReader): MadeRecords {
  return { ...emptyRecords(search, image), octets: viewOf(new Uint8Array(0)), count: UNMADE, until: 0 };
}

/** Records that are kept: about a thousand octets each. */
const MOST_KEPT = 10_000;

/** Keeps what was made for the search of an engine; the oldest go. */
export function keepRecords(made: MadeTable, { search }: Engine, records: MadeRecords): void {
  const key = keyOf(search, records);
  made.delete(key);
  made.set(key, records);
  if (made.size > MOST_KEPT) made.delete(made.keys().next().value!);
}

export function removeRecords(made: MadeTable, { search }: Engine, records: MadeRecords): void {
  made.delete(keyOf(search, records));
}

function keyOf({ hashes }: Engine['search'], { kind, subject }: MadeRecords): number {
  return madeKey(hashes[0]!, kind, subject);
}

function emptyRecords(
  { name, nameLength: length, lack: kind, lackSubject: subject, apexNode }: Engine['search'],
  { generation }: ImageReader,
): Omit<MadeRecords, 'octets' | 'count' | 'until'> {
  return { name: name.slice(0, length), kind, subject, generation, apexNode };
}

/** The NSEC record of a name without one (RFC 9824 §3.1, §3.2). */
function absenceOf(image: ImageReader, { lack, lackSubject, apexNode }: Engine['search'], name: Uint8Array): RRset {
  const types = lack === Lack.name ? [Type.nxname] : typesOfNode(image, lackSubject);
  const listed = [...new Set([...types, Type.rrsig, Type.nsec])];
  return { type: Type.nsec, ttl: negativeTtl(image, apexNode), rdatas: [compactNsecRdata(name, listed)] };
}

/** The types of a wildcard's node, as its NSEC record lists them; none of an empty non-terminal. */
function typesOfNode(image: ImageReader, node: number): number[] {
  const nsec = node === 0 ? 0 : image.findRRset(node, Type.nsec);
  if (nsec === 0) return [];
  const { bytes } = image;
  const at = bodyAt(image.words, nsec) * 4;
  const end = at + FIXED + ((bytes[at + FIXED - 2]! << 8) | bytes[at + FIXED - 1]!);
  return typesOfBitmap(bytes, at + FIXED + nameLength(bytes, at + FIXED), end);
}

/** That of the SOA in negative answers, which is also that of NSEC records (RFC 9077 §3). */
function negativeTtl(image: ImageReader, apexNode: number): number {
  const soa = image.findRRset(apexNode, NEGATIVE_SOA);
  return soa === 0 ? 0 : image.view.getUint32(bodyAt(image.words, soa) * 4 + 6);
}

/**
 * An RRset of the image under another name, as a resolver would read it from a message. `apexAt`: place of the apex in the
 * name.
 */
function rrsetOf(image: ImageReader, rrset: number, name: Uint8Array, apexAt: number): RRset {
  const bytes = new Uint8Array(LONGEST_MESSAGE);
  const view = viewOf(bytes);
  view.setUint16(4, 1);
  bytes.set(name, HEADER);
  const at = HEADER + name.length + 4;
  const response = { ...createResponse(), bytes, view, at, limit: LONGEST_MESSAGE, apexAt: HEADER + apexAt };
  view.setUint16(6, writeRequired(response, image, rrset, HEADER));
  const records: readonly ReadRecord[] = readMessage(bytes.subarray(0, response.at))!.answers;
  const { type, ttl } = records[0]!;
  return { type, ttl, rdatas: records.map(({ rdata }) => rdata) };
}

function printRR(type: number, ttl: number, rdata: Uint8Array): Uint8Array {
  const rr = new Uint8Array(FIXED + rdata.length);
  const view = viewOf(rr);
  view.setUint16(0, POINTER);
  view.setUint16(2, type);
  view.setUint16(4, 1);
  view.setUint32(6, ttl);
  view.setUint16(10, rdata.length);
  rr.set(rdata, FIXED);
  return rr;
}
