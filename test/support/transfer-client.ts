/** A client of zone transfers that shares no code with the server: framing and decoding of its own. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readMessage } from '../../src/dns/message.js';
import { findTsig, signMessage, type TsigKey, tsigLength, verifyMessage } from '../../src/dns/tsig.js';
import { type DecodedRR, decodeMessage, makeQuery } from './message.js';

export interface TransferOptions {
  readonly key?: TsigKey;
  /** For IXFR: the serial that the client has. */
  readonly from?: number;
  readonly edns?: number;
  /** The time in signatures, seconds since 1970; default: now. */
  readonly time?: number;
}

export interface Transfer {
  readonly rcode: number;
  /** All records of the answer sections, in order. */
  readonly records: readonly DecodedRR[];
  readonly messages: readonly Buffer[];
}

const AXFR = 252;
const IXFR = 251;
const SOA = 6;

/**
 * Asks for a whole zone, or for differences, at a port of 127.0.0.1 or over a connection that is being made. Throws when a
 * signature is missing or wrong, or the stream ends early.
 */
export async function transfer(
  place: number | Socket,
  name: Uint8Array,
  options: TransferOptions = {},
): Promise<Transfer> {
  const { key, from } = options;
  const plain = from === undefined ? makeQuery(name, AXFR, options) : makeIxfr(name, from);
  const now = options.time ?? Math.floor(Date.now() / 1000);
  const signed = key && signMessage(new Uint8Array(plain), key, { time: now });
  const query = signed ? Buffer.from(signed.message) : plain;
  const socket = typeof place === 'number' ? connect(place, '127.0.0.1') : place;
  await once(socket, typeof place === 'number' ? 'connect' : 'secureConnect');
  const frame = Buffer.alloc(2);
  frame.writeUInt16BE(query.length);
  socket.write(Buffer.concat([frame, query]));
  const messages: Buffer[] = [];
  const records: DecodedRR[] = [];
  const check = signed && createStreamCheck(key, signed.mac, now);
  let rest = Buffer.alloc(0);
  try {
    for await (const piece of socket) {
      rest = Buffer.concat([rest, piece as Buffer]);
      while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
        const message = rest.subarray(2, 2 + rest.readUInt16BE(0));
        rest = rest.subarray(2 + message.length);
        check?.(message);
        messages.push(message);
        const { rcode, answer } = decodeMessage(message);
        records.push(...answer);
        if (rcode !== 0 || isComplete(records, from)) return { rcode, records, messages };
      }
    }
  } finally {
    socket.destroy();
  }
  throw new Error(`the stream ended after ${messages.length} messages`);
}

/** Throws unless every message is signed that has room for a signature. The first and the last have: SOAs are in them. */
function createStreamCheck(key: TsigKey, requestMac: Uint8Array, now: number): (message: Buffer) => void {
  let prior = requestMac;
  let continues = false;
  let unsigned: Buffer[] = [];
  return (message) => {
    const tsig = findTsig(message);
    if (tsig === 'none' && message.length + tsigLength(key) > 65_535) {
      unsigned.push(message);
      return;
    }
    if (tsig === 'none' || tsig === 'malformed') throw new Error(`message with a signature that is ${tsig}`);
    const error = verifyMessage(message, tsig, key, now, { prior, continues, unsigned });
    if (error !== 0 || tsig.error !== 0) throw new Error(`signature: ${error}, error ${tsig.error}`);
    prior = tsig.mac;
    continues = true;
    unsigned = [];
  };
}

/** The answer ends with the SOA with which it began (RFC 5936 §2.2, RFC 1995 §4). */
function isComplete(records: readonly DecodedRR[], from: number | undefined): boolean {
  const first = records[0];
  if (!first || first.type !== SOA) return true;
  // The client has this version, or a newer one.
  if (from !== undefined && records.length === 1) return ((from - serialOf(first)) | 0) >= 0;
  if (records.length === 1) return false;
  const isIncremental = from !== undefined && records[1]!.type === SOA;
  const current = records.filter(({ type, rdata }) => type === SOA && rdata === first.rdata).length;
  const last = records.at(-1)!;
  return last.type === SOA && last.rdata === first.rdata && current === (isIncremental ? 3 : 2);
}

export function serialOf({ rdata }: DecodedRR): number {
  return Buffer.from(rdata, 'hex').readUInt32BE(rdata.length / 2 - 20);
}

function makeIxfr(name: Uint8Array, serial: number): Buffer {
  const query = makeQuery(name, IXFR);
  query.writeUInt16BE(1, 8);
  const soa = Buffer.alloc(2 + 20);
  soa.writeUInt32BE(serial, 2);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(SOA, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(soa.length, 8);
  return Buffer.concat([query, Buffer.from([0xc0, 0x0c]), fixed, soa]);
}

/** Records as texts that compare, without repeated ones. */
export function asSet(records: readonly DecodedRR[]): string[] {
  return [...new Set(records.map(({ owner, type, ttl, rdata }) => `${owner} ${ttl} ${type} ${rdata}`))].sort();
}

/** The zone after an incremental answer is applied to it (RFC 1995 §4); the answer may also be the whole zone. */
export function applyDifferences(zone: readonly string[], records: readonly DecodedRR[]): string[] {
  if (records.length === 1) return [...zone];
  if (records[1]!.type !== SOA) return asSet(records);
  const state = new Set(zone);
  let adding = true;
  for (const record of records.slice(1, -1)) {
    if (record.type === SOA) adding = !adding;
    const [text] = asSet([record]);
    if (adding) {
      if (state.has(text!)) throw new Error(`added twice: ${text}`);
      state.add(text!);
    } else if (!state.delete(text!)) throw new Error(`removed but not there: ${text}`);
  }
  return [...state].sort();
}

/** The serial over UDP, unsigned; undefined when it has none. */
export function serialInAnswer(answer: Buffer | undefined): number | undefined {
  const soa = answer && readMessage(new Uint8Array(answer))?.answers.find(({ type }) => type === SOA);
  return soa && new DataView(soa.rdata.buffer, soa.rdata.byteOffset + soa.rdata.length - 20).getUint32(0);
}
