/**
 * Turns the octets of a query into the octets of its answer, step by step. Synchronous: no clock, no socket, no allocation. Its state
 * is in objects that it creates once, and in words of modules while a query is answered, so a thread may have several engines, but two
 * threads never share one.
 */
// hot
import { Class, Ede, Opcode, Rcode, Type } from '../dns/codes.js';
import { bodyAt, Control, NEGATIVE_SOA, RRsetWord, viewOf, ZoneWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { writeAdditional } from './additional.js';
import { beginBalance } from './balance/choose.js';
import { readSubnet, subnetOptionLength } from './balance/client-subnet.js';
import { answerChaos } from './chaos.js';
import { Cookie, judgeCookie } from './cookie.js';
import { Lack } from './made.js';
import { isMarked } from './name-marks.js';
import { optLength, writeOpt } from './opt.js';
import { DROP, HEADER_LENGTH, isInternet, parseQuery, type Query } from './query.js';
import { judgeRate, type RateLimiter, Verdict } from './rate-limit.js';
import { copyOctets, type Response } from './response.js';
import { hashSearch, type Search } from './search.js';
import { mayDeferDatagram } from './signing-time.js';
import { solve } from './solve.js';
import { createEngineState, type Engine, type EngineSettings } from './state.js';
import { type Answer, type Client, DEFERRED, NO_CLIENT, Transport } from './transport.js';
import { writeUnknownKey } from './tsig.js';

/** An engine that answers from `image`. Transports call the returned function. */
export function createEngine(image: ImageReader, settings: EngineSettings): Answer {
  return answerWith(createEngineState(settings), image);
}

/** The same with a state that the caller can read afterwards. */
export function answerWith(engine: Engine, image: ImageReader): Answer {
  return function answer(request, start, length, response, at, limit, transport, client) {
    const control = image.control;
    for (;;) {
      const sequence = Atomics.load(control, Control.sequence);
      const written = answerOnce(engine, image, request, start, length, response, at, limit, transport, client);
      // The image changed meanwhile, so the answer may mix two states. It is made again.
      if ((sequence & 1) === 0 && Atomics.load(control, Control.sequence) === sequence) return written;
    }
  };
}

function answerOnce(
  engine: Engine,
  image: ImageReader,
  request: Uint8Array,
  start: number,
  length: number,
  out: Uint8Array,
  at: number,
  limit: number,
  transport: number,
  client: Client | undefined,
): number {
  const query = engine.query;
  const response = engine.response;
  engine.transport = transport;
  engine.serialAt = 0;
  engine.seconds = client === undefined ? 0 : client.seconds;
  engine.deferred = false;
  const status = parseQuery(query, request, start, length);
  if (status === DROP || limit < HEADER_LENGTH) return 0;
  engine.cookie = Cookie.none;
  engine.search.firstNode = 0;
  engine.search.names = 0;
  engine.search.zone = 0;
  engine.search.zoneRecord = 0;
  engine.search.lack = Lack.nothing;
  beginBalance(engine.search.balance, client ?? NO_CLIENT);
  if (query.cookieLength !== 0 && client !== undefined) takeCookie(engine, client);
  resetResponse(query, response, out, at);
  response.rcode = status;
  const size = transport === Transport.udp ? Math.min(limit, payloadSize(engine)) : limit;
  if (HEADER_LENGTH + query.nameLength + 4 > size) return 0;
  copyQuestion(query, response);
  const questionEnd = response.at;
  response.limit = size - (query.edns ? optLength(engine) : 0);
  if (status === Rcode.noError && query.hasQuestion) dispatch(engine, image, transport);
  if (engine.deferred && engine.search.lack === Lack.nothing) return DEFERRED;
  if (engine.limiter !== undefined && transport === Transport.udp && client !== undefined) {
    const verdict = limitRate(engine, engine.limiter, client);
    if (verdict === Verdict.drop) return 0;
    if (verdict === Verdict.truncate) response.truncated = true;
  }
  if (engine.deferred && waitsForSignature(engine)) return DEFERRED;
  engine.sources = response.sources;
  if (!response.truncated && hasSections(response.rcode)) writeAdditional(query, engine.search, response, image);
  if (response.truncated || !hasSections(response.rcode)) clearSections(response, questionEnd);
  response.limit = size;
  if (query.edns) writeOpt(engine, image);
  if (query.tsigAt !== 0 && response.rcode === Rcode.notAuth) writeUnknownKey(query, response);
  writeHeader(query, response);
  return response.at;
}

function takeCookie(engine: Engine, client: Client): void {
  if (engine.jar.secrets.length === 0 || client.length === 0) return;
  engine.client = client;
  engine.cookie = judgeCookie(engine.jar, engine.query, client);
}

/** A valid server cookie proves that the source address is not forged. */
function limitRate({ response, search, cookie }: Engine, limiter: RateLimiter, client: Client): number {
  if (client.length === 0 || cookie === Cookie.fresh || cookie === Cookie.old) return Verdict.send;
  return judgeRate(limiter, response, client, search.firstNode, search.zone);
}

/** A client on a stream has proved its address by the handshake (RFC 7873 §5.2.3). */
function lacksCookie({ cookie, settings, transport }: Engine): boolean {
  return settings.requireCookies && cookie === Cookie.unknown && transport === Transport.udp;
}

/**
 * Whether the answer waits for a signature. Over UDP only while there is time for signatures; then the client has to come over
 * a stream, which proves its address.
 */
function waitsForSignature({ transport, response, signingTime }: Engine): boolean {
  if (response.truncated) return false;
  if (transport !== Transport.udp || (signingTime !== undefined && mayDeferDatagram(signingTime))) return true;
  response.truncated = true;
  return false;
}

/** Whether answers with this code contain sections. */
function hasSections(rcode: number): boolean {
  return rcode === Rcode.noError || rcode === Rcode.nxDomain || rcode === Rcode.yxDomain;
}

/** Truncated answers and errors consist of header, question and OPT. */
function clearSections(response: Response, questionEnd: number): void {
  response.at = questionEnd;
  response.answers = 0;
  response.authorities = 0;
  response.additionals = 0;
}

function resetResponse(query: Query, response: Response, out: Uint8Array, base: number): void {
  if (response.bytes !== out) {
    response.bytes = out;
    response.view = viewOf(out);
  }
  response.base = base;
  response.at = HEADER_LENGTH;
  response.answers = 0;
  response.authorities = 0;
  response.additionals = 0;
  response.extendedError = 0;
  response.sources = 0;
  response.truncated = false;
  response.authoritative = false;
  response.dnssecOk = query.edns && query.dnssecOk;
  response.targetsOf = 0;
  response.cutNode = 0;
  if (!query.hasQuestion) query.nameLength = 0;
}

/**
 * The largest size of a UDP answer in octets: what the client accepts, 512 or more, but no more than our own limit (RFC
 * 6891 §6.2.3).
 */
function payloadSize(engine: Engine): number {
  const query = engine.query;
  if (!query.edns) return 512;
  return Math.max(512, Math.min(query.ednsSize, engine.settings.udpSize));
}

/** Echoes the question exactly as received, letter case included; a malformed question is not echoed. */
function copyQuestion(query: Query, response: Response): void {
  if (!query.hasQuestion) return;
  const length = query.nameLength + 4;
  copyOctets(query.view, query.start + HEADER_LENGTH, response.view, response.base + HEADER_LENGTH, length);
  response.at = HEADER_LENGTH + length;
}

function dispatch(engine: Engine, image: ImageReader, transport: number): void {
  const query = engine.query;
  const response = engine.response;
  if (lacksCookie(engine)) {
    response.rcode = Rcode.badCookie;
  } else if (query.tsigAt !== 0) {
    // The engine has no keys: each is unknown to it (RFC 8945 §5.2.1).
    response.rcode = Rcode.notAuth;
    engine.deferred = mayDefer(engine) && (query.opcode !== Opcode.notify || mayBeNotified(engine));
  } else if (query.opcode !== Opcode.query) {
    // Updates and notifications are not accepted from any client (RFC 2136 §3.3, RFC 1996 §3.10).
    response.rcode = Rcode.refused;
    engine.deferred = query.opcode === Opcode.notify && mayBeNotified(engine);
  } else if (query.class === Class.ch) {
    answerChaos(engine);
  } else if (!isInternet(query)) {
    response.rcode = Rcode.refused;
  } else if (query.type === Type.nxname) {
    // It stands in type bitmaps alone (RFC 9824 §3.5).
    response.rcode = Rcode.formErr;
    response.extendedError = Ede.invalidQueryType;
  } else if (query.type === Type.axfr) {
    // A transfer needs a stream (RFC 5936 §4.2), and those of streams are answered elsewhere.
    response.rcode = transport === Transport.udp ? Rcode.notImp : Rcode.refused;
  } else if (query.type === Type.ixfr && transport !== Transport.udp) {
    response.rcode = Rcode.refused;
  } else {
    answerInternet(engine, image);
  }
}

/** Whether the key of a signed query may be one of ours. The main thread has the keys and checks the signature. */
function mayDefer({ keyNames, query, transport }: Engine): boolean {
  if (keyNames === undefined || transport === Transport.https) return false;
  return isMarked(keyNames, query.request, query.start, query.tsigAt, query.end);
}

/** Whether the name may be that of a zone with primaries. Then the main thread checks who has sent the NOTIFY. */
function mayBeNotified({ secondaryNames, query, transport }: Engine): boolean {
  if (secondaryNames === undefined || transport === Transport.https) return false;
  return isMarked(secondaryNames, query.name, 0, 0, query.nameLength);
}

function answerInternet(engine: Engine, image: ImageReader): void {
  const query = engine.query;
  const search = engine.search;
  if (query.subnetLength >= 0 && engine.settings.echoesSubnets === true && !echoSubnet(engine)) return;
  search.labels = query.labels;
  search.nameLength = query.nameLength;
  search.at = HEADER_LENGTH;
  hashSearch(image, search);
  if (!findZone(query, search, image)) {
    engine.response.rcode = Rcode.refused;
    // RFC 8914 §4.21.
    engine.response.extendedError = Ede.notAuthoritative;
    return;
  }
  // Over UDP the current SOA is the whole answer to IXFR (RFC 1995 §2).
  if (query.type === Type.ixfr) query.type = Type.soa;
  engine.deferred = solve(query, search, engine.response, image);
  if (query.wantsZoneVersion || query.wantsExpire) noteSerial(engine, image);
}

/** Echoes the client subnet, with scope 0 unless a load balancer narrows that. Returns false if it is malformed. */
function echoSubnet({ query, search, response }: Engine): boolean {
  const { subnet } = search.balance;
  if (!readSubnet(query, subnet)) {
    response.rcode = Rcode.formErr;
    return false;
  }
  subnet.scope = 0;
  response.limit -= subnetOptionLength(query, subnet);
  return true;
}

/**
 * Notes the position of the serial, in the negative form of the SOA, whose rdata ends with five numbers: for the version
 * of the zone (RFC 9660 §3.1) and the time a secondary may serve it (RFC 7314).
 */
function noteSerial(engine: Engine, image: ImageReader): void {
  const search = engine.search;
  const soa = search.apexNode === 0 ? 0 : image.findRRset(search.apexNode, NEGATIVE_SOA);
  if (soa === 0) return;
  engine.serialAt = bodyAt(image.words, soa) * 4 + image.words[soa + RRsetWord.octets]! - 20;
  engine.zoneLabels = search.apexLabels;
  engine.expiresAt = image.words[search.zoneRecord + ZoneWord.expires]!;
}

/**
 * Finds the zone with the longest apex at or above the name. A DS question at an apex goes to the parent zone, if it is
 * served here.
 */
function findZone(query: Query, search: Search, image: ImageReader): boolean {
  const control = image.control;
  const most = Math.min(search.labels, control[Control.zoneMaxLabels]!);
  const least = control[Control.zoneMinLabels]!;
  let found = 0;
  for (let labels = most; labels >= least; labels--) {
    const label = search.labels - labels;
    const start = search.labelAt[label]!;
    const record = image.findZone(search.hashes[label]!, search.nameView, start, search.nameLength - start);
    if (record === 0) continue;
    search.zoneRecord = record;
    search.zone = image.words[record + ZoneWord.number]!;
    search.apexLabels = labels;
    found = record;
    if (query.type !== Type.ds || labels !== search.labels) return true;
  }
  return found !== 0;
}

function writeHeader(query: Query, response: Response): void {
  const view = response.view;
  const at = response.base;
  // QR, opcode and RD are set; RA, Z, AD and CD are clear.
  const flags =
    0x8000 | (query.flags & 0x7900) | (response.authoritative ? 0x0400 : 0) | (response.truncated ? 0x0200 : 0);
  view.setUint16(at, query.id);
  view.setUint16(at + 2, flags | (response.rcode & 15));
  view.setUint16(at + 4, query.hasQuestion ? 1 : 0);
  view.setUint16(at + 6, response.answers);
  view.setUint16(at + 8, response.authorities);
  view.setUint16(at + 10, response.additionals);
}
