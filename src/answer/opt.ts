/** The OPT record of an answer (RFC 6891 §6.1) with the options that go with it. */
// hot
import { EdnsOption, Rcode, Type } from '../dns/codes.js';
import { DenialKind, ZoneWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { subnetOptionLength, writeSubnet } from './balance/client-subnet.js';
import { CLIENT_COOKIE_LENGTH, Cookie, SERVER_COOKIE_LENGTH, writeCookies } from './cookie.js';
import type { Engine } from './state.js';
import { Transport } from './transport.js';

const OPT_HEADER = 11;
const OPTION_HEADER = 4;
const EDE_LENGTH = 6;
const ZONE_VERSION_LENGTH = 10;
const EXPIRE_LENGTH = 8;
/** Octets between the serial and the expire field of an SOA (RFC 1035 §3.3.13). */
const SERIAL_TO_EXPIRE = 12;
const KEEPALIVE_LENGTH = 6;
const COOKIES_LENGTH = OPTION_HEADER + CLIENT_COOKIE_LENGTH + SERVER_COOKIE_LENGTH;
/** Answers over encrypted transports are padded to multiples of this number of octets (RFC 8467 §4.1). */
const PADDING_BLOCK = 468;

/** Octets to reserve for OPT while sections are written. EDE is not counted, because only short answers have it. */
export function optLength(engine: Engine): number {
  const { query, identity, search } = engine;
  let length = OPT_HEADER;
  if (query.subnetLength >= 0) length += subnetOptionLength(query, search.balance.subnet);
  if (query.wantsNsid && identity.length > 0) length += OPTION_HEADER + identity.length;
  if (engine.cookie !== Cookie.none) length += COOKIES_LENGTH;
  if (query.wantsZoneVersion) length += ZONE_VERSION_LENGTH;
  if (query.wantsExpire) length += EXPIRE_LENGTH;
  if (tellsKeepalive(engine)) length += KEEPALIVE_LENGTH;
  return length;
}

/** Keepalive has no meaning over UDP (RFC 7828 §3.2.1). */
function tellsKeepalive({ query, transport }: Engine): boolean {
  return query.wantsKeepalive && (transport === Transport.tcp || transport === Transport.tls);
}

export function writeOpt(engine: Engine, image: ImageReader): void {
  const { query, response, settings } = engine;
  const out = response.bytes;
  const start = response.base + response.at;
  if (response.at + optLength(engine) > response.limit) return;
  out[start] = 0;
  out[start + 1] = 0;
  out[start + 2] = 41;
  out[start + 3] = settings.udpSize >>> 8;
  out[start + 4] = settings.udpSize;
  out[start + 5] = response.rcode >>> 4;
  out[start + 6] = 0;
  // DO is copied (RFC 3225 §3); CO says that the answer follows it (RFC 9824 §5.1); all other flags are clear.
  out[start + 7] = (query.dnssecOk ? 0x80 : 0) | (query.compactOk && isCompact(engine, image) ? 0x40 : 0);
  out[start + 8] = 0;
  // An answer to a wrong version contains only the right version (RFC 6891 §6.1.3).
  const end = response.rcode === Rcode.badVers ? start + OPT_HEADER : writeOptions(engine, image, start + OPT_HEADER);
  const length = end - start - OPT_HEADER;
  out[start + 9] = length >>> 8;
  out[start + 10] = length;
  response.at = end - response.base;
  response.additionals++;
}

/** Whether the answer comes from a zone with compact denial. */
function isCompact({ query, search }: Engine, image: ImageReader): boolean {
  const record = search.zoneRecord;
  return query.dnssecOk && record !== 0 && image.words[record + ZoneWord.denial] === DenialKind.compact;
}

/** Writes the options from `from` on; returns the position after them. */
function writeOptions(engine: Engine, image: ImageReader, from: number): number {
  const { query, response, identity } = engine;
  const out = response.bytes;
  let at = from;
  if (query.wantsNsid && identity.length > 0) {
    at = putOption(out, at, EdnsOption.nsid, identity.length);
    for (let i = 0; i < identity.length; i++) out[at++] = identity[i]!;
  }
  if (engine.cookie !== Cookie.none) {
    at = putOption(out, at, EdnsOption.cookie, CLIENT_COOKIE_LENGTH + SERVER_COOKIE_LENGTH);
    writeCookies(engine.jar, query, engine.client, engine.cookie, out, at);
    at += CLIENT_COOKIE_LENGTH + SERVER_COOKIE_LENGTH;
  }
  if (query.wantsZoneVersion && engine.serialAt !== 0) {
    at = putOption(out, at, EdnsOption.zoneVersion, 6);
    out[at++] = engine.zoneLabels;
    // Type 0: the SOA serial (RFC 9660 §3.1).
    out[at++] = 0;
    for (let i = 0; i < 4; i++) out[at++] = image.bytes[engine.serialAt + i]!;
  }
  if (query.wantsExpire && query.type === Type.soa && engine.serialAt !== 0 && response.answers > 0) {
    at = putExpire(engine, image, out, at);
  }
  if (tellsKeepalive(engine)) {
    const tenths = Math.min(0xffff, Math.floor(engine.settings.idleMs / 100));
    at = putOption(out, at, EdnsOption.tcpKeepalive, 2);
    out[at++] = tenths >>> 8;
    out[at++] = tenths;
  }
  if (response.extendedError !== 0 && at + EDE_LENGTH - response.base <= response.limit) {
    at = putOption(out, at, EdnsOption.ede, 2);
    out[at++] = response.extendedError >>> 8;
    out[at++] = response.extendedError;
  }
  if (query.subnetLength >= 0) at = writeSubnet(query, engine.search.balance.subnet, out, at);
  return query.wantsPadding ? writePadding(engine, at) : at;
}

/**
 * A primary answers the EXPIRE of its SOA, a secondary the time that is left of it (RFC 7314 §3.2, §4). Nothing when it is not
 * known what time it is.
 */
function putExpire(
  { expiresAt, seconds, serialAt }: Engine,
  image: ImageReader,
  out: Uint8Array,
  from: number,
): number {
  if (expiresAt !== 0 && seconds === 0) return from;
  let at = putOption(out, from, EdnsOption.expire, 4);
  const left = expiresAt > seconds ? expiresAt - seconds : 0;
  for (let i = 0; i < 4; i++) {
    out[at++] = expiresAt === 0 ? image.bytes[serialAt + SERIAL_TO_EXPIRE + i]! : left >>> (24 - 8 * i);
  }
  return at;
}

/** Padding is for encrypted transports only, and for clients that padded too (RFC 7830 §4, RFC 8467 §4.1). */
function writePadding({ response, transport }: Engine, from: number): number {
  if (transport !== Transport.tls && transport !== Transport.https) return from;
  const length = from - response.base + OPTION_HEADER;
  const padded = Math.min(Math.ceil(length / PADDING_BLOCK) * PADDING_BLOCK, response.limit);
  if (padded < length) return from;
  const out = response.bytes;
  let at = putOption(out, from, EdnsOption.padding, padded - length);
  for (const end = response.base + padded; at < end; at++) out[at] = 0;
  return at;
}

function putOption(out: Uint8Array, at: number, code: number, length: number): number {
  out[at] = code >>> 8;
  out[at + 1] = code;
  out[at + 2] = length >>> 8;
  out[at + 3] = length;
  return at + 4;
}
