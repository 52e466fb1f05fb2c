/**
 * Bodies that are sent in chunks inside of HTTP (`aws-chunked`): each chunk names its length and, in the signed form, its
 * signature, which covers that of the chunk before. Fields behind the last chunk may have a signature, too.
 */
import { createHash, type Hash } from 'node:crypto';
import { S3Error } from '../errors.js';
import { EMPTY_SHA256, isSignature, scopeText, sign } from './sigv4.js';
import type { Signed } from './verify.js';

export interface ChunkOptions {
  readonly isSigned: boolean;
  readonly hasTrailer: boolean;
  readonly signed: Signed;
  /** Waits until others have had their turns. */
  readonly turn: () => Promise<void>;
}

/** Called with the fields behind the last chunk, lower-case names. */
type OnTrailer = (fields: ReadonlyMap<string, string>) => void;

const LARGEST_CHUNK = 16 << 20;
/** Checking a chunk takes an HMAC, however short it is, and hundreds of short ones arrive together. */
const CHUNKS_A_TURN = 32;
const LONGEST_LINE = 1024;
const MOST_TRAILERS = 16;
const HEAD = /^([0-9a-f]{1,8})(?:;chunk-signature=([0-9a-f]{64}))?$/i;
const FIELD = /^([A-Za-z0-9-]+):[ \t]*(.*?)[ \t]*$/;
const TRAILER_SIGNATURE = 'x-amz-trailer-signature';

/**
 * The content of a body in chunks. Octets are handed on before the signature of their chunk is known, so what is made of them
 * must not be used before the end. Throws IncompleteBody, SignatureDoesNotMatch and MalformedTrailerError.
 */
export async function* readChunks(
  source: AsyncIterable<Uint8Array>,
  options: ChunkOptions,
  onTrailer: OnTrailer,
): AsyncGenerator<Uint8Array> {
  const reader = new LineReader(source);
  try {
    yield* readContent(reader, options, onTrailer);
  } finally {
    await reader.end();
  }
}

async function* readContent(
  reader: LineReader,
  options: ChunkOptions,
  onTrailer: OnTrailer,
): AsyncGenerator<Uint8Array> {
  const chain = new SignatureChain(options.signed);
  for (let chunks = 1; ; chunks++) {
    if (chunks % CHUNKS_A_TURN === 0) await options.turn();
    const [, digits, signature] = HEAD.exec(await reader.line()) ?? [];
    if (digits === undefined) throw incomplete();
    const length = Number.parseInt(digits, 16);
    if (length > LARGEST_CHUNK) throw new S3Error('InvalidRequest', 'A chunk is larger than 16 MiB.');
    if (options.isSigned !== (signature !== undefined)) throw new S3Error('SignatureDoesNotMatch');
    const hash = options.isSigned ? createHash('sha256') : undefined;
    if (length > 0) {
      yield* reader.octets(length, hash);
      await reader.expectEndOfLine();
    }
    if (hash) chain.requireChunk(hash.digest('hex'), signature!);
    if (length === 0) break;
  }
  await readTrailer(reader, chain, options, onTrailer);
  if (!(await reader.isAtEnd())) throw incomplete();
}

async function readTrailer(
  reader: LineReader,
  chain: SignatureChain,
  { isSigned, hasTrailer }: ChunkOptions,
  onTrailer: OnTrailer,
): Promise<void> {
  const fields = new Map<string, string>();
  let signature: string | undefined;
  let text = '';
  // Some clients leave the empty line behind the fields out.
  while (!(await reader.isAtEnd())) {
    const line = await reader.line();
    if (line === '') break;
    const [, given, value] = FIELD.exec(line) ?? [];
    const name = given?.toLowerCase();
    if (name === undefined || !hasTrailer || signature !== undefined || fields.has(name)) throw trailerFault();
    if (name === TRAILER_SIGNATURE && isSigned) {
      signature = value;
      continue;
    }
    fields.set(name, value!);
    text += `${name}:${value}\n`;
    if (fields.size > MOST_TRAILERS) throw trailerFault();
  }
  if (isSigned && hasTrailer) chain.requireTrailer(text, signature ?? '');
  onTrailer(fields);
}

const incomplete = (): S3Error => new S3Error('IncompleteBody');
const trailerFault = (): S3Error => new S3Error('MalformedTrailerError');

/** Each signature covers the one before; the first is that of the request. */
class SignatureChain {
  private previous: string;

  constructor(private readonly signed: Signed) {
    this.previous = signed.authorization.signature;
  }

  requireChunk(digest: string, given: string): void {
    this.require('AWS4-HMAC-SHA256-PAYLOAD', [EMPTY_SHA256, digest], given.toLowerCase());
  }

  requireTrailer(text: string, given: string): void {
    this.require('AWS4-HMAC-SHA256-TRAILER', [createHash('sha256').update(text).digest('hex')], given.toLowerCase());
  }

  private require(algorithm: string, digests: readonly string[], given: string): void {
    const { key, authorization } = this.signed;
    const lines = [algorithm, authorization.timestamp, scopeText(authorization.scope), this.previous, ...digests];
    const expected = sign(key, lines.join('\n'));
    if (!/^[0-9a-f]{64}$/.test(given) || !isSignature(expected, given)) throw new S3Error('SignatureDoesNotMatch');
    this.previous = expected;
  }
}

/** Lines and counted octets of a stream. */
class LineReader {
  private readonly pieces: AsyncIterator<Uint8Array>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.pieces = source[Symbol.asyncIterator]();
  }

  /** Without its end, CRLF. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.rest.indexOf('\r\n');
      if (end > LONGEST_LINE || (end < 0 && this.rest.length > LONGEST_LINE)) throw incomplete();
      if (end >= 0) {
        const line = this.rest.toString('latin1', 0, end);
        this.rest = this.rest.subarray(end + 2);
        return line;
      }
      if (!(await this.more())) throw incomplete();
    }
  }

  async *octets(count: number, hash: Hash | undefined): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0; ) {
      if (this.rest.length === 0 && !(await this.more())) throw incomplete();
      const piece = this.rest.subarray(0, left);
      this.rest = this.rest.subarray(piece.length);
      left -= piece.length;
      hash?.update(piece);
      yield piece;
    }
  }

  async expectEndOfLine(): Promise<void> {
    while (this.rest.length < 2) if (!(await this.more())) throw incomplete();
    if (this.rest[0] !== 13 || this.rest[1] !== 10) throw incomplete();
    this.rest = this.rest.subarray(2);
  }

  async isAtEnd(): Promise<boolean> {
    return this.rest.length === 0 && !(await this.more());
  }

  /** The rest is not read here any more: it stays in the source. */
  async end(): Promise<void> {
    await this.pieces.return?.();
  }

  private async more(): Promise<boolean> {
    // A copy: a piece is valid until the next one is asked for.
    const rest = Buffer.from(this.rest);
    const { value, done } = await this.pieces.next();
    this.rest = rest;
    if (done) return false;
    const octets = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    if (rest.length > 0) this.rest = Buffer.concat([rest, octets]);
    else this.rest = octets;
    return true;
  }
}
