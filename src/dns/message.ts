/**
 * Parses messages of other servers strictly (RFC 1035 §4.1): every name, length and count must fit, or the whole
 * message is rejected.
 *
 * dns2 does not parse them, because it continues after records that it could not parse, joins labels that contain dots,
 * and spends more than a second on twelve octets that announce 65535 records.
 */
import { Class, Type } from './codes.js';
import { COMPRESSED } from './compressed-types.js';
import { isAtOrBelow, MAX_NAME_LENGTH } from './name.js';
import { typeByCode } from './rr/registry.js';
import { RdataError } from './rr/type.js';
import { copyWholeName, nameEnd } from './wire-name.js';

const HEADER_LENGTH = 12;
/** The flag that says that the answer was truncated. */
export const TRUNCATED = 0x0200;
/** Octets of the shortest record: owner of one octet, type, class, TTL and length. */
const SHORTEST_RECORD = 11;

export interface ReadRecord {
  /** Wire name, uncompressed, case unchanged. */
  readonly owner: Uint8Array;
  readonly type: number;
  readonly class: number;
  /** Seconds; 0 if the highest bit was set (RFC 2181 §8). Where an update only names records, it is as it was sent. */
  readonly ttl: number;
  /** With uncompressed names. */
  readonly rdata: Uint8Array;
}

/** The parts of a message that its answer repeats. */
export interface MessageHead {
  readonly id: number;
  /** The second 16 bits of the header. */
  readonly flags: number;
  /** Wire name, case unchanged. */
  readonly question: { readonly name: Uint8Array; readonly type: number; readonly class: number };
}

export interface ReadMessage extends MessageHead {
  /** All 12 bits when there is an OPT record (RFC 6891 §6.1.3). */
  readonly rcode: number;
  readonly answers: readonly ReadRecord[];
  readonly authorities: readonly ReadRecord[];
  /** Octets over UDP that the sender takes (RFC 6891 §6.2.3); undefined without an OPT record. */
  readonly payload: number | undefined;
  /** The options of the OPT record (RFC 6891 §6.1.2). */
  readonly options?: Uint8Array;
}

/** The octets are not a DNS message. */
class Unreadable extends Error {}

/**
 * The parsed message; undefined when any part cannot be parsed, or when the message does not have exactly one question.
 */
export function readMessage(octets: Uint8Array): ReadMessage | undefined {
  return orUndefined(() => readWhole(octets));
}

/**
 * The same for a later message of a transfer, which may come without the question (RFC 5936 §2.2.1); it is then taken to be
 * `question`.
 */
export function readLaterMessage(octets: Uint8Array, question: ReadMessage['question']): ReadMessage | undefined {
  return orUndefined(() => readWhole(octets, question));
}

/** The first part of a message with exactly one question, whatever follows; undefined when it cannot be read. */
export function readHead(octets: Uint8Array): MessageHead | undefined {
  return orUndefined(() => takeHead({ octets, at: 0 }));
}

/** A part of a message and where it stands. */
export interface MessagePart {
  readonly part: 'header' | 'question' | 'answer' | 'authority' | 'additional';
  /** The offset of its first octet, and the one after its last. */
  readonly at: number;
  readonly end: number;
  /** Only of the question. */
  readonly question?: MessageHead['question'];
  /** Only of the parts that are records. */
  readonly record?: ReadRecord;
}

/** The parts of a whole message with one question, in order and without gaps; undefined when it cannot be read. */
export function readParts(octets: Uint8Array): MessagePart[] | undefined {
  return orUndefined(() => {
    const cursor: Cursor = { octets, at: 0 };
    const { question, counts } = takeHead(cursor);
    const parts: MessagePart[] = [
      { part: 'header', at: 0, end: HEADER_LENGTH },
      { part: 'question', at: HEADER_LENGTH, end: cursor.at, question },
    ];
    for (const [i, part] of (['answer', 'authority', 'additional'] as const).entries()) {
      for (let n = 0; n < counts[i]!; n++) {
        const { at } = cursor;
        const record = takeRecord(cursor, ORDINARY);
        parts.push({ part, at, end: cursor.at, record });
      }
    }
    if (cursor.at !== octets.length) throw new Unreadable();
    return parts;
  });
}

/** An update (RFC 2136 §2): its head, whose question is the zone, and its sections. */
export interface ReadUpdate extends MessageHead {
  readonly prerequisites: readonly ReadRecord[];
  readonly updates: readonly ReadRecord[];
}

/**
 * The parsed update. Records without data are those that name only an owner and a type (RFC 2136 §2.4, §2.5). Undefined when
 * any part cannot be parsed, or when the message does not have exactly one zone.
 */
export function readUpdate(octets: Uint8Array): ReadUpdate | undefined {
  return orUndefined(() => {
    const cursor: Cursor = { octets, at: 0 };
    const head = takeHead(cursor);
    const prerequisites = takeRecords(cursor, head.counts[0], PREREQUISITE);
    const updates = takeRecords(cursor, head.counts[1], INSTRUCTION);
    takeRecords(cursor, head.counts[2]);
    if (cursor.at !== octets.length) throw new Unreadable();
    return { ...head, prerequisites, updates };
  });
}

function orUndefined<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable || error instanceof RdataError) return undefined;
    throw error;
  }
}

interface Cursor {
  readonly octets: Uint8Array;
  at: number;
}

interface Head extends MessageHead {
  readonly counts: readonly [number, number, number];
}

/** `absent`: the question, if the message may come without it. */
function takeHead(cursor: Cursor, absent?: MessageHead['question']): Head {
  const { octets } = cursor;
  const id = take16(cursor);
  const flags = take16(cursor);
  const questions = take16(cursor);
  const counts = [take16(cursor), take16(cursor), take16(cursor)] as const;
  const announced = counts[0] + counts[1] + counts[2];
  const isAbsent = questions === 0 && absent !== undefined;
  if (
    (questions !== 1 && !isAbsent) ||
    (!(flags & TRUNCATED) && announced * SHORTEST_RECORD > octets.length - HEADER_LENGTH)
  )
    throw new Unreadable();
  const question = isAbsent ? absent : { name: takeName(cursor), type: take16(cursor), class: take16(cursor) };
  return { id, flags, question, counts };
}

function readWhole(octets: Uint8Array, absent?: MessageHead['question']): ReadMessage {
  const cursor: Cursor = { octets, at: 0 };
  const { id, flags, question, counts } = takeHead(cursor, absent);
  // The rest of a truncated answer must not be used (RFC 2181 §9), and may be cut off anywhere.
  if (flags & TRUNCATED)
    return { id, flags, rcode: flags & 15, question, answers: [], authorities: [], payload: undefined };
  const answers = takeRecords(cursor, counts[0]);
  const authorities = takeRecords(cursor, counts[1]);
  const opt = takeRecords(cursor, counts[2]).find(({ type }) => type === Type.opt);
  if (cursor.at !== octets.length) throw new Unreadable();
  const rcode = (flags & 15) | ((opt ? opt.ttl >>> 20 : 0) & 0xff0);
  return { id, flags, rcode, question, answers, authorities, payload: opt?.class, ...(opt && { options: opt.rdata }) };
}

/** How a record of some kind is read. */
interface Reading {
  readonly takeRdata: (cursor: Cursor, type: number, end: number, recordClass: number) => Uint8Array;
  /** What becomes of the 32 bits of the TTL. */
  readonly ttlOf: (sent: number, type: number, recordClass: number) => number;
}

const ORDINARY: Reading = {
  takeRdata,
  // In an OPT record this field contains flags, one of which is the highest bit.
  ttlOf: (sent, type) => (sent < 0x8000_0000 || type === Type.opt ? sent : 0),
};
/** It has no TTL, so that anything but 0 is an error (RFC 2136 §3.2); data only in the class of the zone (§2.4). */
const PREREQUISITE: Reading = {
  takeRdata: (cursor, type, end, recordClass) =>
    recordClass === Class.none ? takeNoData(cursor, end) : takeInstructed(cursor, type, end, recordClass),
  ttlOf: (sent) => sent,
};
/** The same for deletions (RFC 2136 §3.4.1.2); those of class NONE have data (§2.5.4). */
const INSTRUCTION: Reading = {
  takeRdata: takeInstructed,
  ttlOf: (sent, type, recordClass) => (recordClass === Class.in ? ORDINARY.ttlOf(sent, type, recordClass) : sent),
};

function takeRecords(cursor: Cursor, count: number, reading = ORDINARY): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (let i = 0; i < count; i++) records.push(takeRecord(cursor, reading));
  return records;
}

function takeRecord(cursor: Cursor, reading: Reading): ReadRecord {
  const owner = takeName(cursor);
  const type = take16(cursor);
  const recordClass = take16(cursor);
  const sent = take16(cursor) * 0x10000 + take16(cursor);
  const length = take16(cursor);
  const end = cursor.at + length;
  if (end > cursor.octets.length) throw new Unreadable();
  const rdata = reading.takeRdata(cursor, type, end, recordClass);
  if (cursor.at !== end) throw new Unreadable();
  return { owner, type, class: recordClass, ttl: reading.ttlOf(sent, type, recordClass), rdata };
}

function takeRdata(cursor: Cursor, type: number, end: number): Uint8Array {
  const shape = COMPRESSED[type];
  if (shape === undefined) {
    const rdata = takeOctets(cursor, end);
    if (type !== Type.opt) typeByCode(type).check(rdata);
    return rdata;
  }
  const parts = [takeOctets(cursor, cursor.at + shape[0])];
  for (let i = 0; i < shape[1]; i++) parts.push(takeName(cursor));
  if (cursor.at > end) throw new Unreadable();
  parts.push(takeOctets(cursor, end));
  const rdata = new Uint8Array(Buffer.concat(parts));
  typeByCode(type).check(rdata);
  return rdata;
}

/** They stand in the additional section only (RFC 6891 §6.1.1, RFC 2930 §2, RFC 8945 §5.1). */
const OF_ADDITIONAL: ReadonlySet<number> = new Set([Type.opt, Type.tkey, Type.tsig]);

/** Data of classes that have no meaning here are not looked into. */
function takeInstructed(cursor: Cursor, type: number, end: number, recordClass: number): Uint8Array {
  if (OF_ADDITIONAL.has(type)) throw new Unreadable();
  if (recordClass === Class.any) return takeNoData(cursor, end);
  const isKnown = recordClass === Class.in || recordClass === Class.none;
  return isKnown ? takeRdata(cursor, type, end) : takeOctets(cursor, end);
}

function takeNoData(cursor: Cursor, end: number): Uint8Array {
  if (cursor.at !== end) throw new Unreadable();
  return new Uint8Array(0);
}

function takeOctets(cursor: Cursor, end: number): Uint8Array {
  if (end > cursor.octets.length) throw new Unreadable();
  const octets = new Uint8Array(cursor.octets.subarray(cursor.at, end));
  cursor.at = end;
  return octets;
}

function take16(cursor: Cursor): number {
  const { octets, at } = cursor;
  if (at + 2 > octets.length) throw new Unreadable();
  cursor.at = at + 2;
  return (octets[at]! << 8) | octets[at + 1]!;
}

/** Reads a name and follows its pointers (RFC 1035 §4.1.4). */
function takeName(cursor: Cursor): Uint8Array {
  const { octets, at } = cursor;
  const name = new Uint8Array(MAX_NAME_LENGTH);
  const length = copyWholeName(octets, 0, at, octets.length, name);
  if (length < 0) throw new Unreadable();
  cursor.at = nameEnd(octets, at, octets.length);
  return name.slice(0, length);
}

/** The data of the first option with this code (RFC 6891 §6.1.2); undefined without one. */
export function findOption({ options }: ReadMessage, code: number): Uint8Array | undefined {
  for (let at = 0; options && at + 4 <= options.length; ) {
    const length = (options[at + 2]! << 8) | options[at + 3]!;
    const end = at + 4 + length;
    if (((options[at]! << 8) | options[at + 1]!) === code)
      return end <= options.length ? options.subarray(at + 4, end) : undefined;
    at = end;
  }
  return undefined;
}

/**
 * Seconds that a negative answer may be cached (RFC 2308 §5): the smaller of the SOA's TTL and its MINIMUM. Undefined
 * without an SOA of a zone that contains the name.
 */
export function negativeTtlOf(message: ReadMessage, name: Uint8Array): number | undefined {
  const soa = message.authorities.find((record) => record.type === Type.soa && isAtOrBelow(name, record.owner));
  if (soa === undefined) return undefined;
  const minimum = new DataView(soa.rdata.buffer, soa.rdata.byteOffset + soa.rdata.length - 4).getUint32(0);
  return Math.min(soa.ttl, minimum);
}
