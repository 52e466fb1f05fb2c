/** The head of a response that is passed on: read and printed in one pass, into memory that all responses share. */
import type { Channel } from '../../plain/connections.js';
import { currentDate } from '../../plain/current-date.js';
import { putPart } from '../../plain/parts.js';
import { LONG_READ } from '../../plain/shared-reads.js';
import { Composed } from '../../plain/write-joined.js';
import { printCacheStatus } from '../cache/cache-status.js';
import { readCacheControl } from '../cache/directives.js';
import { allowsSharedCaches } from '../cache/storing.js';
import { isWorthIt, LEAST_OCTETS } from '../compress/compressible.js';
import { reasonOf } from '../error-pages/failures.js';
import { MOST_HEAD_OCTETS } from '../http1/response-reader.js';
import { blockOf, blockOfLines, responseBlock } from '../http2/response-block.js';
import { UsualHead } from './usual-head.js';

/** What the cache says about it. */
export const RESULT = 'DYNAMIC';

/** Room for a head of the longest kind, a piece as connections read it, and what is added. */
const ROOM = LONG_READ + 16_384;
/** Room in front of the fields for the first line. */
const LONGEST_FIRST_LINE = 128;
/** Room for the fields that the edge adds. */
const MOST_ADDED = 1024;

const CLOSE = Buffer.from('\r\nConnection: close\r\n\r\n');

/** Where heads and bodies are put together. */
export const composed = new Composed(ROOM);

/** Of the response that was read last. */
class ResponseHead {
  readonly head = new UsualHead();
  /** Where it stands in {@link composed}. */
  from = 0;
  to = 0;
  /** Printed once, because it is the same for all. */
  private kept = { keepAlive: '', octets: CLOSE };

  /** Returns where the head ends; 0 if it is not complete, or if the response must not be passed on as it is. */
  read(octets: Buffer, compresses: boolean): number {
    const { head } = this;
    // A field has at least four octets (`a:` and the end of its line), and may become one longer.
    const grown = Math.min(octets.length, MOST_HEAD_OCTETS) / 4;
    composed.begin(octets.length + grown + LONGEST_FIRST_LINE + MOST_ADDED);
    const end = head.read(octets, composed.octets, LONGEST_FIRST_LINE);
    if (end === 0) return 0;
    const { directives, length, isFixed } = head;
    if (directives !== '' && allowsSharedCaches(readCacheControl(directives))) return 0;
    return compresses && !isFixed && length > LEAST_OCTETS && isWorthIt(head.typeIn(composed.octets)) ? 0 : end;
  }

  /** After {@link read}: adds what stands around the fields. */
  print(ray: string, { nowMs, keepAlive }: Channel, isLast: boolean): void {
    const { octets } = composed;
    const { status, printed, hasDate } = this.head;
    const { first, added } = partsOf(status);
    this.from = LONGEST_FIRST_LINE - first.length;
    octets.set(first, this.from);
    let at = putPart(octets, added, LONGEST_FIRST_LINE + printed);
    at = putPart(octets, ray, at);
    if (!hasDate) at = putPart(octets, `\r\nDate: ${currentDate(nowMs())}`, at);
    this.to = putPart(octets, isLast ? CLOSE : this.keep(keepAlive), at);
  }

  /** What was printed last. */
  get octets(): Uint8Array {
    return composed.octets.subarray(this.from, this.to);
  }

  /** What tells clients that their connection stays open. */
  private keep(keepAlive: string): Buffer {
    if (this.kept.keepAlive !== keepAlive) {
      const octets = Buffer.from(`\r\nConnection: keep-alive\r\nKeep-Alive: ${keepAlive}\r\n\r\n`, 'latin1');
      this.kept = { keepAlive, octets };
    }
    return this.kept.octets;
  }

  /** Likewise, the whole block of HTTP/2. */
  block(ray: string, nowMs: number): Buffer {
    const { status, printed, hasDate } = this.head;
    const fields = blockOfLines(composed.octets, LONGEST_FIRST_LINE, LONGEST_FIRST_LINE + printed);
    const own = hasDate ? ['cf-ray', ray] : ['cf-ray', ray, 'date', currentDate(nowMs)];
    return Buffer.concat([partsOf(status).block, fields, blockOf(own)]);
  }
}

export const responseHead = new ResponseHead();

/** The beginning, and the fields that the cache adds. */
interface Parts {
  readonly first: Buffer;
  readonly added: Buffer;
  /** Both over HTTP/2. */
  readonly block: Buffer;
}

const parts = new Map<number, Parts>();

function partsOf(status: number): Parts {
  let known = parts.get(status);
  if (!known) {
    const first = Buffer.from(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n`, 'latin1');
    const cacheStatus = printCacheStatus({ result: RESULT, forwardedStatus: status });
    const added = Buffer.from(`cache-status: ${cacheStatus}\r\ncf-cache-status: ${RESULT}\r\ncf-ray: `, 'latin1');
    known = { first, added, block: responseBlock(status, ['cache-status', cacheStatus, 'cf-cache-status', RESULT]) };
    parts.set(status, known);
  }
  return known;
}
