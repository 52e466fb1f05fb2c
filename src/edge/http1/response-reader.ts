/**
 * Reads the response of an origin over HTTP/1.1, piece by piece as it arrives. It is as strict as the readers of clients'
 * requests: a response whose end is not certain is refused (RFC 9112 §6.3).
 */

import { SMALL_PIECE } from '../../base/connections/small-pieces.js';
import { readFieldLines, VALUE_OCTETS } from '../../plain/field-lines.js';
import { type HeaderList, type OriginEvents, WITHOUT_BODY } from '../exchange/exchange.js';
import { framingOf, showsItsEnd, valuesOf } from './framing.js';

/** The response cannot be understood. */
export class UnreadableResponse extends Error {}

type State = 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'done';

/** Octets of a head, and of trailers. */
export const MOST_HEAD_OCTETS = 32_768;
/** Octets of a line with the size of a chunk. Extensions are ignored (RFC 9112 §7.1.1). */
const MOST_SIZE_OCTETS = 1024;
/** Responses before the final one. */
const MOST_INTERIM = 64;

const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t -~\x80-\xff]*)?\r\n/;
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;[\t -~\x80-\xff]*)?$/i;
/** The value of an octet that is a hexadecimal digit; else 0. */
const DIGITS = Uint8Array.from({ length: 256 }, (_, octet) => Number.parseInt(String.fromCharCode(octet), 16) || 0);
const TIMEOUT = /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i;
const NONE: HeaderList = [];

export class ResponseReader {
  /** Whether the connection may be used for another request. */
  isReusable = false;
  /** Whether octets followed the response, for which nobody had asked. */
  hasMore = false;
  /** What the origin says about how long it keeps the connection; seconds. */
  keepAliveS: number | undefined;
  /** Small chunks that arrived together, and their octets. Passing each on separately would cost more than a whole response. */
  private gathered: Buffer | undefined;
  private gatheredOctets = 0;
  /** Of a response that is done. */
  trailers: HeaderList = NONE;
  private state: State = 'head';
  /** The beginning of what is read next. */
  private partial: Buffer | undefined;
  /** Octets of the body, or of the chunk, that have not arrived. */
  private missing = 0;
  private interim = 0;

  constructor(
    private readonly events: OriginEvents,
    private readonly isHead: boolean,
  ) {}

  /** Whether the whole response has arrived. */
  get isDone(): boolean {
    return this.state === 'done';
  }

  /** Whether the final head has arrived. */
  get hasHead(): boolean {
    return this.state !== 'head';
  }

  /** Keeps nothing of `octets`, which may be overwritten afterwards. Throws an {@link UnreadableResponse}. */
  feed(octets: Buffer): void {
    const all = this.partial ? Buffer.concat([this.partial, octets]) : octets;
    this.partial = undefined;
    try {
      this.read(all);
    } finally {
      this.passGathered();
    }
  }

  private read(octets: Buffer): void {
    for (let at = 0; at < octets.length; ) {
      if (this.state === 'done') {
        this.hasMore = true;
        this.isReusable = false;
        return;
      }
      const next = this.step(octets, at);
      if (next < 0) {
        this.partial = Buffer.from(octets.subarray(at));
        return;
      }
      at = next;
    }
  }

  private passGathered(): void {
    const { gathered, gatheredOctets } = this;
    if (!gathered) return;
    this.gathered = undefined;
    this.gatheredOctets = 0;
    this.events.onData(Buffer.from(gathered.subarray(0, gatheredOctets)));
  }

  /** The connection has ended. Returns whether the response is complete. */
  close(): boolean {
    if (this.state === 'until-close') this.end(NONE);
    return this.isDone;
  }

  /** Reads from `at` on and returns where to continue; -1 if more is needed. */
  private step(octets: Buffer, at: number): number {
    switch (this.state) {
      case 'head':
        return this.readHead(octets, at);
      case 'length':
      case 'chunk':
        return this.readData(octets, at);
      case 'chunk-size':
        return this.readSize(octets, at);
      case 'chunk-end':
        return this.readChunkEnd(octets, at);
      case 'trailers':
        return this.readTrailers(octets, at);
      default:
        this.events.onData(Buffer.from(octets.subarray(at)));
        return octets.length;
    }
  }

  private readHead(octets: Buffer, at: number): number {
    const end = octets.indexOf(HEAD_END, at);
    if ((end < 0 ? octets.length : end) - at > MOST_HEAD_OCTETS) throw new UnreadableResponse('its head is too long');
    if (end < 0) return this.waitForHead(octets, at);
    const lineEnd = octets.indexOf(LINE_END, at) + LINE_END.length;
    const line = STATUS_LINE.exec(octets.toString('latin1', at, lineEnd));
    const headers = line && readFieldLines(octets, lineEnd, end + LINE_END.length, VALUE_OCTETS);
    if (!headers) throw new UnreadableResponse('its head is malformed');
    const status = Number(line[2]);
    if (status >= 200) this.beginBody(status, line[1] === '1', headers);
    else if (status === 101 || ++this.interim > MOST_INTERIM) throw new UnreadableResponse(`it begins with ${status}`);
    else this.events.onInformation(status, headers);
    return end + HEAD_END.length;
  }

  /** What does not begin as a response never becomes one. */
  private waitForHead(octets: Buffer, at: number): number {
    const start = octets.toString('latin1', at, at + 7);
    if (!'HTTP/1.'.startsWith(start)) throw new UnreadableResponse('it is not a response of HTTP/1.1');
    return -1;
  }

  private beginBody(status: number, isVersion11: boolean, headers: readonly string[]): void {
    const framing = framingOf(headers);
    const isChunked = framing === 'chunked';
    // Without chunks, a coded body ends with its connection.
    const isLikeChunks = framing === 'coded' && /chunked/i.test(valuesOf(headers, 'transfer-encoding').join());
    if (framing === 'both' || isLikeChunks || (!isVersion11 && (isChunked || framing === 'coded'))) {
      throw new UnreadableResponse('where its body ends is not certain');
    }
    if (framing === 'malformed') throw new UnreadableResponse('its length is malformed');
    const hasLength = framing === 'length';
    this.missing = hasLength ? Number(valuesOf(headers, 'content-length')[0]) : 0;
    const hasBody = !this.isHead && !WITHOUT_BODY.has(status);
    this.state = isChunked ? 'chunk-size' : hasLength ? 'length' : 'until-close';
    this.isReusable = isVersion11 && (!hasBody || showsItsEnd(framing)) && !namesClose(headers);
    this.keepAliveS = keepAliveOf(headers);
    this.events.onHead(status, headers, showsItsEnd(framing));
    if (!hasBody || (this.state === 'length' && this.missing === 0)) this.end(NONE);
  }

  private readData(octets: Buffer, at: number): number {
    const end = Math.min(octets.length, at + this.missing);
    this.missing -= end - at;
    if (this.state === 'chunk' && end < octets.length && end - at < SMALL_PIECE) {
      // All chunks in these octets need no more room than this.
      this.gathered ??= Buffer.allocUnsafe(octets.length - at);
      this.gatheredOctets += octets.copy(this.gathered, this.gatheredOctets, at, end);
    } else {
      this.passGathered();
      this.events.onData(Buffer.from(octets.subarray(at, end)));
    }
    if (this.missing > 0) return end;
    if (this.state === 'chunk') this.state = 'chunk-end';
    else this.end(NONE);
    return end;
  }

  private readSize(octets: Buffer, at: number): number {
    // The usual form of small chunks.
    const digit = DIGITS[octets[at]!]!;
    if (digit > 0 && octets[at + 1] === LINE_END[0] && octets[at + 2] === LINE_END[1]) {
      this.missing = digit;
      this.state = 'chunk';
      return at + 1 + LINE_END.length;
    }
    const end = octets.indexOf(LINE_END, at);
    if ((end < 0 ? octets.length : end) - at > MOST_SIZE_OCTETS)
      throw new UnreadableResponse('the size of a chunk is too long');
    if (end < 0) return -1;
    const size = CHUNK_SIZE.exec(octets.toString('latin1', at, end));
    if (!size) throw new UnreadableResponse('the size of a chunk is malformed');
    this.missing = Number.parseInt(size[1]!, 16);
    this.state = this.missing === 0 ? 'trailers' : 'chunk';
    return end + LINE_END.length;
  }

  private readChunkEnd(octets: Buffer, at: number): number {
    if (octets.length - at < LINE_END.length) return -1;
    if (octets[at] !== LINE_END[0] || octets[at + 1] !== LINE_END[1]) {
      throw new UnreadableResponse('a chunk is longer than it says');
    }
    this.state = 'chunk-size';
    return at + LINE_END.length;
  }

  private readTrailers(octets: Buffer, at: number): number {
    if (octets.length - at < LINE_END.length) return -1;
    const isEmpty = octets[at] === LINE_END[0] && octets[at + 1] === LINE_END[1];
    const found = isEmpty ? at - LINE_END.length : octets.indexOf(HEAD_END, at);
    const isMissing = !isEmpty && found < 0;
    const end = isMissing ? octets.length : found + LINE_END.length;
    if (end - at > MOST_HEAD_OCTETS) throw new UnreadableResponse('its trailers are too long');
    if (isMissing) return -1;
    const trailers = readFieldLines(octets, at, end, VALUE_OCTETS);
    if (!trailers) throw new UnreadableResponse('its trailers are malformed');
    this.end(trailers);
    return end + LINE_END.length;
  }

  private end(trailers: HeaderList): void {
    this.passGathered();
    this.state = 'done';
    this.trailers = trailers;
  }
}

function namesClose(headers: readonly string[]): boolean {
  return valuesOf(headers, 'connection').some((value) => /(?:^|,)\s*close\s*(?:,|$)/i.test(value));
}

function keepAliveOf(headers: readonly string[]): number | undefined {
  const [value] = valuesOf(headers, 'keep-alive');
  return value === undefined ? undefined : keepAliveSeconds(value);
}

/** What a value of `Keep-Alive` says. */
export function keepAliveSeconds(value: string): number | undefined {
  const seconds = TIMEOUT.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
