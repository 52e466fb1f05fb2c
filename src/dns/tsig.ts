/**
 * TSIG (RFC 8945): messages that two parties sign with a shared key. Pure: the caller finds the key and tells the time.
 *
 * The digest covers the message as it was before the TSIG record was added, with the names of key and algorithm in
 * lower case and uncompressed (§4.3.3).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ByteWriter, concatBytes } from '../base/bytes.js';
import { Class, Type } from './codes.js';
import { LONGEST_MESSAGE } from './message-writer.js';
import { lowerName, MAX_NAME_LENGTH, parseName } from './name.js';
import { copyWholeName, nameEnd, plainNameEnd } from './wire-name.js';

/** Errors of a TSIG record (RFC 8945 §3). */
export const TsigError = { none: 0, badSig: 16, badKey: 17, badTime: 18, badTrunc: 22 } as const;

/** Seconds that clocks may differ (RFC 8945 §10). */
const FUDGE = 300;
const HEADER_LENGTH = 12;
const NOTHING = new Uint8Array(0);

interface Algorithm {
  /** The domain name that stands for it, wire form, lower case. */
  readonly wire: Uint8Array;
  /** The name of the hash in node:crypto. */
  readonly hash: string;
  /** Octets of a whole MAC. */
  readonly octets: number;
}

const algorithm = (name: string, hash: string, octets: number): Algorithm => ({
  wire: parseName(`${name}.`),
  hash,
  octets,
});

const ALGORITHMS = {
  'hmac-sha256': algorithm('hmac-sha256', 'sha256', 32),
  'hmac-sha224': algorithm('hmac-sha224', 'sha224', 28),
  'hmac-sha384': algorithm('hmac-sha384', 'sha384', 48),
  'hmac-sha512': algorithm('hmac-sha512', 'sha512', 64),
  'hmac-sha1': algorithm('hmac-sha1', 'sha1', 20),
  'hmac-md5.sig-alg.reg.int': algorithm('hmac-md5.sig-alg.reg.int', 'md5', 16),
} as const satisfies Readonly<Record<string, Algorithm>>;

export type TsigAlgorithm = keyof typeof ALGORITHMS;

/** The default first (RFC 8945 §6). */
export const TSIG_ALGORITHMS = Object.keys(ALGORITHMS) as readonly TsigAlgorithm[];

/** The algorithm of this name, in any case and with or without a final dot; undefined when there is none. */
export function parseTsigAlgorithm(text: string): TsigAlgorithm | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  return TSIG_ALGORITHMS.find((known) => known === name || (name === 'hmac-md5' && known.startsWith('hmac-md5')));
}

export interface TsigKey {
  /** Wire name, lower case. */
  readonly name: Uint8Array;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Uint8Array;
}

/** A TSIG record as it was received. */
export interface TsigRecord {
  /** Offset of the record in the message. */
  readonly at: number;
  /** Wire names, lower case. */
  readonly keyName: Uint8Array;
  readonly algorithm: Uint8Array;
  /** Seconds since 1970. */
  readonly time: number;
  /** Seconds. */
  readonly fudge: number;
  readonly mac: Uint8Array;
  readonly originalId: number;
  readonly error: number;
  readonly other: Uint8Array;
}

/** The TSIG record of a message; `malformed` when it is not its last one, comes twice or cannot be read (§5.1). */
export function findTsig(message: Uint8Array): TsigRecord | 'none' | 'malformed' {
  if (message.length < HEADER_LENGTH) return 'malformed';
  const view = viewOf(message);
  let at = HEADER_LENGTH;
  for (let left = view.getUint16(4); left > 0; left--) {
    at = nameEnd(message, at, message.length);
    if (at < 0 || at + 4 > message.length) return 'malformed';
    at += 4;
  }
  const additional = view.getUint16(10);
  const records = view.getUint16(6) + view.getUint16(8) + additional;
  for (let left = records; left > 0; left--) {
    const fixed = nameEnd(message, at, message.length);
    if (fixed < 0 || fixed + 10 > message.length) return 'malformed';
    const end = fixed + 10 + view.getUint16(fixed + 8);
    if (end > message.length) return 'malformed';
    if (view.getUint16(fixed) === Type.tsig) {
      const isLast = left === 1 && additional > 0 && end === message.length;
      return isLast ? (readRecord(message, at, fixed) ?? 'malformed') : 'malformed';
    }
    at = end;
  }
  return 'none';
}

function readRecord(message: Uint8Array, at: number, fixed: number): TsigRecord | undefined {
  const view = viewOf(message);
  const start = fixed + 10;
  const timeAt = plainNameEnd(message, start, message.length);
  // Some clients compress it (RFC 8945 §4.3.3 has it uncompressed in the digest).
  const keyName = new Uint8Array(MAX_NAME_LENGTH);
  const nameLength = copyWholeName(message, 0, at, message.length, keyName);
  if (nameLength < 0 || timeAt < 0 || timeAt + 10 > message.length) return undefined;
  if (view.getUint16(fixed + 2) !== Class.any || view.getUint32(fixed + 4) !== 0) return undefined;
  const macAt = timeAt + 10;
  const after = macAt + view.getUint16(timeAt + 8);
  if (after + 6 > message.length || after + 6 + view.getUint16(after + 4) !== message.length) return undefined;
  return {
    at,
    keyName: lowerName(keyName.slice(0, nameLength)),
    algorithm: lowerName(copyOf(message, start, timeAt)),
    time: view.getUint16(timeAt) * 0x1_0000_0000 + view.getUint32(timeAt + 2),
    fudge: view.getUint16(timeAt + 6),
    mac: copyOf(message, macAt, after),
    originalId: view.getUint16(after),
    error: view.getUint16(after + 2),
    other: copyOf(message, after + 6, message.length),
  };
}

/** Whether a record names this key and its algorithm. */
export function isOfKey({ keyName, algorithm: name }: TsigRecord, key: TsigKey): boolean {
  return Buffer.compare(keyName, key.name) === 0 && Buffer.compare(name, ALGORITHMS[key.algorithm].wire) === 0;
}

/** What a signed message was checked against: the MAC before it, and whether it continues a stream. */
export interface Signed {
  /** The MAC of the request, or of the message before; absent for a request. */
  readonly prior?: Uint8Array;
  /** Whether it is a later message of a stream, whose digest has only the times (RFC 8945 §5.3.1). */
  readonly continues?: boolean;
  /** The messages of the stream since the last signed one, which the digest covers too. */
  readonly unsigned?: readonly Uint8Array[];
}

/**
 * Checks a message of this key in the order of RFC 8945 §5.2: the form of the MAC, the MAC, the time, the length of the
 * MAC. `nowSeconds`: since 1970. `malformed` is answered with FORMERR; the others are errors of TSIG, 0 for none.
 */
export function verifyMessage(
  message: Uint8Array,
  tsig: TsigRecord,
  key: TsigKey,
  nowSeconds: number,
  signed: Signed = {},
): number | 'malformed' {
  const whole = ALGORITHMS[key.algorithm].octets;
  const { length } = tsig.mac;
  if (length > whole || length < Math.max(10, whole / 2)) return 'malformed';
  const expected = macOf(key, withoutTsig(message, tsig, tsig.originalId), tsig, signed);
  if (!timingSafeEqual(expected.subarray(0, length), tsig.mac)) return TsigError.badSig;
  if (Math.abs(nowSeconds - tsig.time) > tsig.fudge) return TsigError.badTime;
  return length < whole ? TsigError.badTrunc : TsigError.none;
}

/** The message without its TSIG record, with this ID. */
export function withoutTsig(message: Uint8Array, { at }: TsigRecord, id: number): Uint8Array {
  const rest = copyOf(message, 0, at);
  const view = viewOf(rest);
  view.setUint16(0, id);
  view.setUint16(10, view.getUint16(10) - 1);
  return rest;
}

export interface Signing extends Signed {
  /** Seconds since 1970. */
  readonly time: number;
  readonly error?: number;
  readonly other?: Uint8Array;
}

/** Octets that signing adds, with `other` octets of other data. */
export function tsigLength({ name, algorithm: of }: TsigKey, other = 0): number {
  return name.length + 10 + ALGORITHMS[of].wire.length + 16 + ALGORITHMS[of].octets + other;
}

/** A signed copy of a message, and its MAC. Throws a RangeError when there is no room for the signature. */
export function signMessage(
  message: Uint8Array,
  key: TsigKey,
  signing: Signing,
): { readonly message: Uint8Array; readonly mac: Uint8Array } {
  const variables = {
    keyName: key.name,
    algorithm: ALGORITHMS[key.algorithm].wire,
    time: signing.time,
    fudge: FUDGE,
    error: signing.error ?? TsigError.none,
    other: signing.other ?? NOTHING,
  };
  const mac = macOf(key, message, variables, signing);
  return { message: appendRecord(message, { ...variables, mac, originalId: viewOf(message).getUint16(0) }), mac };
}

/** The message with an unsigned TSIG record that tells an error about the received one (RFC 8945 §5.3.2). */
export function appendTsigError(message: Uint8Array, received: TsigRecord, error: number): Uint8Array {
  return appendRecord(message, { ...received, error, mac: NOTHING, other: NOTHING });
}

/** Messages without a signature that may follow each other (RFC 8945 §5.3.1). */
export const MOST_UNSIGNED = 99;

/**
 * Signs the messages of one answer, one after the other. Each has a signature, because some clients demand that, but for those
 * that have no room for one: the next signature covers them, too (RFC 8945 §5.3.1). So there has to be room in the first and
 * the last. The message that is returned may be the one that was given. Throws a RangeError when too many have no room.
 */
export function createStreamSigner(
  key: TsigKey,
  requestMac: Uint8Array,
  seconds: () => number,
): (message: Uint8Array) => Uint8Array {
  let prior = requestMac;
  let continues = false;
  let unsigned: Uint8Array[] = [];
  return (message) => {
    const hasRoom = message.length + tsigLength(key) <= LONGEST_MESSAGE;
    if (continues && !hasRoom && unsigned.length < MOST_UNSIGNED) {
      unsigned.push(message.slice());
      return message;
    }
    const signed = signMessage(message, key, { prior, continues, unsigned, time: seconds() });
    prior = signed.mac;
    continues = true;
    unsigned = [];
    return signed.message;
  };
}

/** The 48 bits of a time, as in the other data of BADTIME (RFC 8945 §5.2.3). */
export function timeOctets(seconds: number): Uint8Array {
  const writer = new ByteWriter(6);
  write48(writer, seconds);
  return writer.bytes();
}

type Variables = Pick<TsigRecord, 'keyName' | 'algorithm' | 'time' | 'fudge' | 'error' | 'other'>;

function macOf(
  key: TsigKey,
  message: Uint8Array,
  variables: Variables,
  { prior, continues, unsigned = [] }: Signed,
): Uint8Array {
  const hmac = createHmac(ALGORITHMS[key.algorithm].hash, key.secret);
  if (prior) hmac.update(Uint8Array.of(prior.length >>> 8, prior.length)).update(prior);
  for (const earlier of unsigned) hmac.update(earlier);
  hmac.update(message).update(continues ? timersOf(variables) : variablesOf(variables));
  return hmac.digest();
}

function variablesOf({ keyName, algorithm: name, time, fudge, error, other }: Variables): Uint8Array {
  const writer = new ByteWriter();
  writer.octets(keyName);
  writer.u16(Class.any);
  writer.u32(0);
  writer.octets(name);
  write48(writer, time);
  writer.u16(fudge);
  writer.u16(error);
  writer.u16(other.length);
  writer.octets(other);
  return writer.bytes();
}

function timersOf({ time, fudge }: Variables): Uint8Array {
  const writer = new ByteWriter(8);
  write48(writer, time);
  writer.u16(fudge);
  return writer.bytes();
}

function appendRecord(message: Uint8Array, record: Omit<TsigRecord, 'at'>): Uint8Array {
  const { keyName, algorithm: name, time, fudge, mac, originalId, error, other } = record;
  const writer = new ByteWriter();
  writer.octets(keyName);
  writer.u16(Type.tsig);
  writer.u16(Class.any);
  writer.u32(0);
  writer.u16(name.length + 16 + mac.length + other.length);
  writer.octets(name);
  write48(writer, time);
  writer.u16(fudge);
  writer.u16(mac.length);
  writer.octets(mac);
  writer.u16(originalId);
  writer.u16(error);
  writer.u16(other.length);
  writer.octets(other);
  const whole = concatBytes(message, writer.bytes());
  if (whole.length > LONGEST_MESSAGE) throw new RangeError('there is no room for the signature');
  const view = viewOf(whole);
  view.setUint16(10, view.getUint16(10) + 1);
  return whole;
}

function write48(writer: ByteWriter, value: number): void {
  writer.u16(Math.floor(value / 0x1_0000_0000) & 0xffff);
  writer.u32(value >>> 0);
}

/** Not slice: for a Buffer that is a view, and the caller's octets would change. */
function copyOf(octets: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(octets.subarray(start, end));
}

function viewOf(octets: Uint8Array): DataView {
  return new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
}
