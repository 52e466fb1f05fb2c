/** Bodies of requests, checked while they are read: digest, chunk signatures, checksum, length. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { clientNetwork, isLoopback, parsePeerAddress, plainAddress } from '../base/ip.js';
import { createMemoryShares } from '../base/memory-shares.js';
import { createTurnPace } from '../base/pace.js';
import { lasting } from '../bucket/bodies/pieces.js';
import { isBrokenOff } from '../bucket/receive-body.js';
import { bodyOf, lookNowAndThen } from '../bucket/store-object.js';
import { clientScheme } from '../http/forwarded.js';
import { type Checksum, readChecksum, readContentMd5, startChecksum, valueOfTrailer } from './checksums.js';
import { S3Error } from './errors.js';
import { fieldOf, type S3Request } from './request.js';
import { readChunks } from './signature/chunks.js';
import { UNSIGNED_PAYLOAD } from './signature/verify.js';

export interface CheckedBody {
  /** Octets, without what chunks add. */
  readonly size: number;
  /**
   * Throws at its end when something is not as it was signed; what it made must not be kept then. Can be read once; a piece is valid
   * until the next one is asked for.
   */
  readonly octets: AsyncIterable<Uint8Array>;
  /** The checksum that the client sent, once the body has been read. */
  readonly checksum: () => Checksum | undefined;
}

/** How a payload is signed, by the value of `x-amz-content-sha256`. */
const STREAMS: Readonly<Record<string, { readonly isSigned: boolean; readonly hasTrailer: boolean }>> = {
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD': { isSigned: true, hasTrailer: false },
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER': { isSigned: true, hasTrailer: true },
  'STREAMING-UNSIGNED-PAYLOAD-TRAILER': { isSigned: false, hasTrailer: true },
};
const DIGEST = /^[0-9a-f]{64}$/;
/** Chunks are read in turns by account and client. */
const CHUNK_TURNS = createTurnPace(() => 1);
/** What else was meant for nobody. */
const MOST_IGNORED = 64 * 1024;

/** Throws for a payload that is signed in an unknown way, without a length, or not signed where it must be. */
export function openBody(request: S3Request): CheckedBody {
  const { raw, response } = request;
  const begin = (): void => {
    if (raw.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
  };
  return checkBody(request, bodyOf(raw, begin));
}

/** A request with a body, however that was read. */
export interface Sending extends Pick<S3Request, 'headers' | 'signed' | 'options' | 'caller'> {
  readonly raw: Pick<IncomingMessage, 'headers' | 'socket'>;
}

/** The same for a body whose octets come from elsewhere. */
export function checkBody(request: Sending, source: AsyncIterable<Uint8Array>): CheckedBody {
  const { headers, signed, options, caller } = request;
  const { payload } = signed;
  const stream = STREAMS[payload];
  if (!stream && payload !== UNSIGNED_PAYLOAD && !DIGEST.test(payload)) {
    if (payload.startsWith('STREAMING-')) throw new S3Error('NotImplemented', `${payload} is not implemented.`);
    throw new S3Error('InvalidRequest', 'x-amz-content-sha256 must be a digest, UNSIGNED-PAYLOAD or a kind of stream.');
  }
  const size = sizeOf(request, stream !== undefined);
  if (size > 0 && !DIGEST.test(payload) && !stream?.isSigned) requirePrivate(request);
  const expected = readChecksum(headers);
  if (expected && expected.value === undefined && !stream?.hasTrailer) throw new S3Error('MalformedTrailerError');
  if (stream?.hasTrailer && expected?.value !== undefined) throw new S3Error('MalformedTrailerError');
  let trailer: ReadonlyMap<string, string> = new Map();
  let checksum: Checksum | undefined;
  const onTrailer = (fields: ReadonlyMap<string, string>): void => {
    trailer = fields;
  };
  const client = clientNetwork(plainAddress(request.raw.socket.remoteAddress));
  const turn = () => new Promise<void>((resolve) => CHUNK_TURNS.wait(caller.accountId, client, resolve));
  async function* check(): AsyncGenerator<Uint8Array> {
    const digest = DIGEST.test(payload) ? createHash('sha256') : undefined;
    const running = expected && startChecksum(expected.name);
    let read = 0;
    const look = lookNowAndThen(options.clock, caller.stillMay);
    for await (const piece of stream ? readChunks(source, { ...stream, signed, turn }, onTrailer) : source) {
      look();
      read += piece.length;
      if (read > size) throw new S3Error('IncompleteBody');
      digest?.update(piece);
      running?.update(piece);
      yield piece;
    }
    if (read !== size) throw new S3Error('IncompleteBody');
    if (digest && digest.digest('hex') !== payload) throw new S3Error('XAmzContentSHA256Mismatch');
    if (!expected && trailer.size > 0) throw new S3Error('MalformedTrailerError');
    if (!expected || !running) return;
    const value = valueOfTrailer(expected, trailer);
    if (running.digest().toString('base64') !== value) throw new S3Error('BadDigest');
    checksum = { name: expected.name, value };
  }
  return { size, octets: check(), checksum: () => checksum };
}

function sizeOf({ headers, raw }: Sending, isStream: boolean): number {
  if (isStream) {
    const decoded = fieldOf(headers, 'x-amz-decoded-content-length');
    if (decoded === undefined) throw new S3Error('MissingContentLength');
    if (!/^\d{1,15}$/.test(decoded))
      throw new S3Error('InvalidArgument', 'x-amz-decoded-content-length is not a number.');
    return Number(decoded);
  }
  if (raw.headers['transfer-encoding'] !== undefined) throw new S3Error('MissingContentLength');
  return Number(raw.headers['content-length'] ?? 0);
}

/** Nobody between the client and this machine may change what is not signed, unless the setting allows it. */
function requirePrivate({ options, raw }: Sending): void {
  if (options.acceptsUnsigned || raw.socket instanceof TLSSocket) return;
  const peer = raw.socket.remoteAddress ?? '';
  const address = parsePeerAddress(peer);
  if (address && isLoopback(address)) return;
  if (clientScheme(peer, raw.headers, options.trustedProxies) === 'https') return;
  throw new S3Error('AccessDenied', 'A body that is not signed needs HTTPS: see the setting s3-unsigned-bodies.');
}

/** Documents that are in memory, by account, without small ones: until their requests are answered. */
const DOCUMENTS = createMemoryShares<string>(64 << 20);
const SMALL_DOCUMENT = 64 << 10;
const RETRY = { 'retry-after': '5' };

/** Throws 503 when documents of the account take all memory that others leave. */
function takeRoom({ caller: { accountId }, response }: S3Request, octets: number): void {
  // A response that is over says so no more.
  if (octets <= SMALL_DOCUMENT || response.closed) return;
  if (!DOCUMENTS.take(accountId, octets)) {
    throw new S3Error('SlowDown', 'Too many large documents of this account are being read.', RETRY);
  }
  response.once('close', () => DOCUMENTS.give(accountId, octets));
}

/** A whole document. `mustBeChecked`: with Content-MD5 or a checksum. Throws when it is larger than `limit` octets. */
export async function readDocument(request: S3Request, limit: number, mustBeChecked = false): Promise<Buffer> {
  const body = openBody(request);
  const md5 = readContentMd5(request.headers);
  if (body.size > limit) throw new S3Error('MalformedXML', `The document is larger than ${limit} octets.`);
  if (mustBeChecked && !md5 && !readChecksum(request.headers)) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5 or a checksum.');
  }
  takeRoom(request, body.size);
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of lasting(body.octets)) pieces.push(piece);
  } catch (error) {
    throw isBrokenOff(error) ? new S3Error('IncompleteBody') : error;
  }
  const octets = Buffer.concat(pieces);
  if (md5 && !createHash('md5').update(octets).digest().equals(md5)) throw new S3Error('BadDigest');
  return octets;
}

/** Reads the body of an operation that has none, so that it is checked, too. */
export async function readNothing(request: S3Request): Promise<void> {
  await readDocument(request, MOST_IGNORED);
}
