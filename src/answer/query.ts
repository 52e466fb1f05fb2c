/**
 * Parses a query: header, question, OPT and TSIG (RFC 1035 §4.1, RFC 6891 §6.1, RFC 8945 §5.1), into one reused object.
 * It never throws and never allocates; errors are returned as a status.
 */
// hot

import { Class, EdnsOption, Opcode, Rcode, Type } from '../dns/codes.js';
import { copyInLowerCase, nameEnd } from '../dns/wire-name.js';
import { viewOf } from '../image/layout.js';

/** The packet gets no answer. Other results are response codes; {@link Rcode}.noError means that the query is valid. */
export const DROP = -1;

export const HEADER_LENGTH = 12;

/** One query. Offsets in the request are absolute; offsets in the name count from its first length octet. */
export interface Query {
  request: Uint8Array;
  /** The request as a DataView, for reading several octets at a time. */
  view: DataView;
  start: number;
  end: number;
  id: number;
  /** The two octets of flags as received. */
  flags: number;
  opcode: number;
  /** Whether the question was parsed and may be echoed. */
  hasQuestion: boolean;
  /** Octets of the question's name; it starts at `start + 12`. */
  nameLength: number;
  type: number;
  class: number;
  /** The name in lower case. */
  name: Uint8Array;
  nameView: DataView;
  labels: number;
  /** Position of each label's length octet in `name`, the root's included. */
  labelAt: Uint8Array;
  /** Whether the query has an OPT record. */
  edns: boolean;
  ednsVersion: number;
  /** The client's payload size, octets. */
  ednsSize: number;
  dnssecOk: boolean;
  /** The client takes NXDOMAIN with compact denial (RFC 9824 §5.1). */
  compactOk: boolean;
  /** The client asked for the name server's identifier (RFC 5001). */
  wantsNsid: boolean;
  /** The client asked for the version of the zone (RFC 9660). */
  wantsZoneVersion: boolean;
  /** The client asked how long a secondary may serve the zone (RFC 7314). */
  wantsExpire: boolean;
  /** The client asked how long idle connections are kept (RFC 7828). */
  wantsKeepalive: boolean;
  /** The query was padded, so the answer may be (RFC 7830 §4). */
  wantsPadding: boolean;
  /** Offset of the COOKIE option's data, and its octets: 8 or 16 to 40, 0 if none (RFC 7873 §4). */
  cookieAt: number;
  cookieLength: number;
  /** Offset of the data of the client subnet (RFC 7871 §6), and its octets; -1 if none. */
  subnetAt: number;
  subnetLength: number;
  /** Offset of the TSIG record, 0 if none. */
  tsigAt: number;
}

export function createQuery(): Query {
  const name = new Uint8Array(256);
  return {
    request: new Uint8Array(0),
    view: new DataView(new ArrayBuffer(0)),
    start: 0,
    end: 0,
    id: 0,
    flags: 0,
    opcode: 0,
    hasQuestion: false,
    nameLength: 0,
    type: 0,
    class: 0,
    name,
    nameView: new DataView(name.buffer),
    labels: 0,
    labelAt: new Uint8Array(129),
    edns: false,
    ednsVersion: 0,
    ednsSize: 512,
    dnssecOk: false,
    compactOk: false,
    wantsNsid: false,
    wantsExpire: false,
    wantsZoneVersion: false,
    wantsKeepalive: false,
    wantsPadding: false,
    cookieAt: 0,
    cookieLength: 0,
    subnetAt: 0,
    subnetLength: -1,
    tsigAt: 0,
  };
}

/** Fills `query` from `length` octets of `request` at `start`. Returns DROP or a response code. */
export function parseQuery(query: Query, request: Uint8Array, start: number, length: number): number {
  if (query.request !== request) {
    query.request = request;
    query.view = viewOf(request);
  }
  query.start = start;
  query.end = start + length;
  query.hasQuestion = false;
  query.nameLength = 0;
  query.edns = false;
  query.dnssecOk = false;
  query.compactOk = false;
  query.wantsNsid = false;
  query.wantsExpire = false;
  query.wantsZoneVersion = false;
  query.wantsKeepalive = false;
  query.wantsPadding = false;
  query.cookieLength = 0;
  query.subnetLength = -1;
  query.tsigAt = 0;
  query.ednsSize = 512;
  if (length < HEADER_LENGTH) return DROP;
  const { view } = query;
  query.id = view.getUint16(start);
  query.flags = view.getUint16(start + 2);
  // Never answer an answer: two servers would talk for ever (RFC 1035 §7.3).
  if (query.flags & 0x8000) return DROP;
  query.opcode = (query.flags >>> 11) & 15;
  if (query.opcode !== Opcode.query && query.opcode !== Opcode.notify && query.opcode !== Opcode.update) {
    // Parsed only to echo the question and to answer OPT with OPT; the contents of such an opcode are not checked.
    const records = u16(request, start + 4) === 1 ? parseQuestion(query) : -1;
    if (records >= 0) parseRecords(query, records);
    return Rcode.notImp;
  }
  const questions = u16(request, start + 4);
  // Without a question a client may ask for a cookie (RFC 7873 §5.4); more than one is a format error (RFC 9619).
  if (questions === 0) return parseCookieQuery(query);
  if (questions !== 1) return Rcode.formErr;
  const at = parseQuestion(query);
  if (at < 0) return Rcode.formErr;
  return parseRecords(query, at);
}

/** A query without a question is valid only when it asks for a cookie. */
function parseCookieQuery(query: Query): number {
  query.nameLength = 0;
  const status = parseRecords(query, query.start + HEADER_LENGTH);
  return status !== Rcode.noError || query.cookieLength > 0 ? status : Rcode.formErr;
}

/** Reads the question; returns the offset after it, or -1. */
function parseQuestion(query: Query): number {
  const { view, labelAt, end } = query;
  const first = query.start + HEADER_LENGTH;
  let at = first;
  let labels = 0;
  for (;;) {
    if (at >= end) return -1;
    const length = view.getUint8(at);
    labelAt[labels] = at - first;
    at += 1 + length;
    if (length === 0) break;
    // Pointers have nothing earlier to point to, other label types do not exist (RFC 6891 §5).
    if (length > 63 || at - first + 1 > 255 || at > end) return -1;
    labels++;
  }
  if (at + 4 > end) return -1;
  query.labels = labels;
  query.nameLength = at - first;
  query.type = view.getUint16(at);
  query.class = view.getUint16(at + 2);
  query.hasQuestion = true;
  copyInLowerCase(view, first, query.nameView, at - first);
  return at + 4;
}

/** Walks the records after the question, for OPT and TSIG. */
function parseRecords(query: Query, from: number): number {
  const request = query.request;
  const start = query.start;
  const before = u16(request, start + 6) + u16(request, start + 8);
  const total = before + u16(request, start + 10);
  let at = from;
  for (let index = 0; index < total; index++) {
    // TSIG is the last record of the additional section (RFC 8945 §5.1).
    if (query.tsigAt !== 0) return Rcode.formErr;
    const fixed = nameEnd(request, at, query.end);
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
      // Class ANY, TTL 0 (RFC 8945 §4.2).
      if (u16(request, fixed + 2) !== Class.any || u16(request, fixed + 4) !== 0 || u16(request, fixed + 6) !== 0)
        return Rcode.formErr;
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
    if (code === EdnsOption.cookie) {
      // Only the first of several counts (RFC 7873 §5.2).
      if (length !== 8 && (length < 16 || length > 40)) return Rcode.formErr;
      if (query.cookieLength === 0) {
        query.cookieAt = at + 4;
        query.cookieLength = length;
      }
    } else if (code === EdnsOption.clientSubnet) {
      // It is read where an answer depends on it. Only the first of several counts.
      if (query.subnetLength < 0) {
        query.subnetAt = at + 4;
        query.subnetLength = length;
      }
    } else noteOption(query, code, length);
    at += 4 + length;
  }
  query.edns = true;
  query.ednsSize = u16(request, fixed + 2);
  query.ednsVersion = request[fixed + 5]!;
  query.dnssecOk = (request[fixed + 6]! & 0x80) !== 0;
  query.compactOk = (request[fixed + 6]! & 0x40) !== 0;
  return Rcode.noError;
}

/** Unknown options are ignored (RFC 6891 §6.1.2). */
function noteOption(query: Query, code: number, length: number): void {
  if (code === EdnsOption.nsid) query.wantsNsid = true;
  else if (code === EdnsOption.zoneVersion && length === 0) query.wantsZoneVersion = true;
  else if (code === EdnsOption.expire && length === 0) query.wantsExpire = true;
  else if (code === EdnsOption.tcpKeepalive && length === 0) query.wantsKeepalive = true;
  else if (code === EdnsOption.padding) query.wantsPadding = true;
}

export function u16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

/** Class ANY accepts any class; only IN exists here. */
export function isInternet(query: Query): boolean {
  return query.class === Class.in || query.class === Class.any;
}
