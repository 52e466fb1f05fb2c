/**
 * Parsing of a query: header, question, OPT and TSIG (RFC 1035 §4.1, RFC 6891 §6.1, RFC 8945 §5.1), into one reused object.
 * Never throws, never allocates; whatever is wrong comes back as a status.
 */
// hot
import { Class, EdnsOption, Opcode, Rcode, Type } from '../dns/codes.js';

/** What became of a packet; values >= 0 are response codes to answer with, {@link Rcode}.noError meaning: go on. */
export const DROP = -1;

export const HEADER_LENGTH = 12;

/** One query. Offsets of the request are absolute; those of the name count from its first length octet. */
export interface Query {
  request: Uint8Array;
  start: number;
  end: number;
  id: number;
  /** The two octets of flags as received. */
  flags: number;
  opcode: number;
  /** Whether the question was read and may be echoed. */
  hasQuestion: boolean;
  /** Octets of the question's name; it starts at `start + 12`. */
  nameLength: number;
  type: number;
  class: number;
  /** The name in lower case. */
  name: Uint8Array;
  labels: number;
  /** Position of each label's length octet in `name`, the root's included. */
  labelAt: Uint8Array;
  /** Whether an OPT record came. */
  edns: boolean;
  ednsVersion: number;
  /** The client's payload size, octets. */
  ednsSize: number;
  dnssecOk: boolean;
  /** NSID was asked for (RFC 5001). */
  wantsNsid: boolean;
  /** The version of the zone was asked for (RFC 9660). */
  wantsZoneVersion: boolean;
  /** How long idle connections are kept was asked for (RFC 7828). */
  wantsKeepalive: boolean;
  /** The query was padded, so the answer may be (RFC 7830 §4). */
  wantsPadding: boolean;
  /** Offset of the TSIG record, 0 if none. */
  tsigAt: number;
}

export function createQuery(): Query {
  return {
    request: new Uint8Array(0),
    start: 0,
    end: 0,
    id: 0,
    flags: 0,
    opcode: 0,
    hasQuestion: false,
    nameLength: 0,
    type: 0,
    class: 0,
    name: new Uint8Array(256),
    labels: 0,
    labelAt: new Uint8Array(129),
    edns: false,
    ednsVersion: 0,
    ednsSize: 512,
    dnssecOk: false,
    wantsNsid: false,
    wantsZoneVersion: false,
    wantsKeepalive: false,
    wantsPadding: false,
    tsigAt: 0,
  };
}

/** Fills `query` from `length` octets of `request` at `start`. Returns DROP or a response code. */
export function parseQuery(query: Query, request: Uint8Array, start: number, length: number): number {
  query.request = request;
  query.start = start;
  query.end = start + length;
  query.hasQuestion = false;
  query.nameLength = 0;
  query.edns = false;
  query.dnssecOk = false;
  query.wantsNsid = false;
  query.wantsZoneVersion = false;
  query.wantsKeepalive = false;
  query.wantsPadding = false;
  query.tsigAt = 0;
  query.ednsSize = 512;
  if (length < HEADER_LENGTH) return DROP;
  query.id = u16(request, start);
  query.flags = u16(request, start + 2);
  // Never answer an answer: two servers would talk for ever (RFC 1035 §7.3).
  if (query.flags & 0x8000) return DROP;
  query.opcode = (query.flags >>> 11) & 15;
  if (query.opcode !== Opcode.query && query.opcode !== Opcode.notify && query.opcode !== Opcode.update) {
    // Only to echo the question and answer OPT with OPT; what such an opcode carries is not ours to judge.
    const records = u16(request, start + 4) === 1 ? parseQuestion(query) : -1;
    if (records >= 0) parseRecords(query, records);
    return Rcode.notImp;
  }
  // RFC 9619: QDCOUNT greater than one is a format error; zero has no meaning without cookies.
  if (u16(request, start + 4) !== 1) return Rcode.formErr;
  const at = parseQuestion(query);
  if (at < 0) return Rcode.formErr;
  return parseRecords(query, at);
}

/** Reads the question; returns the offset behind it, or -1. */
function parseQuestion(query: Query): number {
  const request = query.request;
  const name = query.name;
  const labelAt = query.labelAt;
  const end = query.end;
  const first = query.start + HEADER_LENGTH;
  let at = first;
  let labels = 0;
  for (;;) {
    if (at >= end) return -1;
    const length = request[at]!;
    const to = at - first;
    labelAt[labels] = to;
    name[to] = length;
    at++;
    if (length === 0) break;
    // Pointers have nothing earlier to point to, other label types do not exist (RFC 6891 §5).
    if (length > 63 || to + length + 2 > 255 || at + length > end) return -1;
    for (const stop = at + length; at < stop; at++) {
      const octet = request[at]!;
      name[at - first] = octet >= 65 && octet <= 90 ? octet | 0x20 : octet;
    }
    labels++;
  }
  if (at + 4 > end) return -1;
  query.labels = labels;
  query.nameLength = at - first;
  query.type = u16(request, at);
  query.class = u16(request, at + 2);
  query.hasQuestion = true;
  return at + 4;
}

/** Walks the records behind the question, for OPT and TSIG. */
function parseRecords(query: Query, from: number): number {
  const request = query.request;
  const start = query.start;
  const before = u16(request, start + 6) + u16(request, start + 8);
  const total = before + u16(request, start + 10);
  let at = from;
  for (let index = 0; index < total; index++) {
    // TSIG is the last record of the additional section (RFC 8945 §5.1).
    if (query.tsigAt !== 0) return Rcode.formErr;
    const fixed = skipName(request, at, query.end);
    if (fixed < 0 || fixed + 10 > query.end) return Rcode.formErr;
    const type = u16(request, fixed);
    const rdata = fixed + 10;
    const next = rdata + u16(request, fixed + 8);
    if (next > query.end) return Rcode.formErr;
    if (type === Type.opt) {
      // One OPT, in the additional section, at the root (RFC 6891 §6.1.1, §6.1.2).
      if (index < before || query.edns || fixed - at !== 1) return Rcode.formErr;
      const status = parseOpt(query, fixed, rdata, next);
      if (status !== Rcode.noError) return status;
    } else if (type === Type.tsig) {
      if (index < before) return Rcode.formErr;
      query.tsigAt = at;
    }
    at = next;
  }
  if (query.edns && query.ednsVersion > 0) return Rcode.badVers;
  return Rcode.noError;
}

function parseOpt(query: Query, fixed: number, rdata: number, end: number): number {
  const request = query.request;
  let at = rdata;
  while (at < end) {
    if (at + 4 > end) return Rcode.formErr;
    const code = u16(request, at);
    const length = u16(request, at + 2);
    if (at + 4 + length > end) return Rcode.formErr;
    noteOption(query, code, length);
    at += 4 + length;
  }
  query.edns = true;
  query.ednsSize = u16(request, fixed + 2);
  query.ednsVersion = request[fixed + 5]!;
  query.dnssecOk = (request[fixed + 6]! & 0x80) !== 0;
  return Rcode.noError;
}

/** Unknown options are ignored (RFC 6891 §6.1.2). */
function noteOption(query: Query, code: number, length: number): void {
  if (code === EdnsOption.nsid) query.wantsNsid = true;
  else if (code === EdnsOption.zoneVersion && length === 0) query.wantsZoneVersion = true;
  else if (code === EdnsOption.tcpKeepalive && length === 0) query.wantsKeepalive = true;
  else if (code === EdnsOption.padding) query.wantsPadding = true;
}

/** Offset behind a name that may be compressed; -1 when it runs out of the message or is malformed. */
function skipName(request: Uint8Array, from: number, end: number): number {
  // 255 octets are the most a name has (RFC 1035 §2.3.4).
  const stop = Math.min(end, from + 255);
  let at = from;
  while (at < stop) {
    const length = request[at]!;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2 <= end ? at + 2 : -1;
    if (length > 63) return -1;
    at += 1 + length;
  }
  return -1;
}

export function u16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

/** Class ANY asks for what there is; only IN is there. */
export function isInternet(query: Query): boolean {
  return query.class === Class.in || query.class === Class.any;
}
