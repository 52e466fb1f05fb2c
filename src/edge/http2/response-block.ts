/** The blocks of fields of responses. What no block may hold is left out, since an origin may have sent it. Pure. */
import type { HeaderList } from '../exchange/exchange.js';
import { beginField, MOST_ADDED_OCTETS, writeBlock } from './hpack.js';

/** Fields that occur once at most. */
const SINGLE: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-max-age',
  'access-control-request-method',
  'age',
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'dnt',
  'etag',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'range',
  'referer',
  'retry-after',
  'tk',
  'upgrade-insecure-requests',
  'user-agent',
  'x-content-type-options',
]);

/** Fields of one connection (RFC 9113 §8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** What no value may hold (RFC 9113 §8.2.1). */
const NO_VALUE = /[\0\r\n]/;

/** The fields that a block may hold. Of a field that may occur once, the first value counts. Names are in lower case. */
function http2Fields(headers: HeaderList): string[] {
  const fields: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (OF_CONNECTIONS.has(name) || !NAME.test(name) || NO_VALUE.test(value)) continue;
    if (SINGLE.has(name) && hasName(fields, name)) continue;
    fields.push(name, value);
  }
  return fields;
}

function hasName(fields: readonly string[], name: string): boolean {
  for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return true;
  return false;
}

export function responseBlock(status: number, headers: HeaderList): Buffer {
  return writeBlock([':status', String(status), ...http2Fields(headers)], false);
}

export function trailerBlock(trailers: HeaderList): Buffer {
  return writeBlock(http2Fields(trailers), false);
}

/** A block of further fields. Blocks that follow each other are one (RFC 7541 §2.1). */
export function blockOf(fields: HeaderList): Buffer {
  return writeBlock(fields, false);
}

const [COLON, CR] = [58, 13];
/** The shortest line: `a: ` and its end. */
const SHORTEST_LINE = 5;

/** The block of fields that are printed as lines of HTTP/1.1: `name: value`, without what HTTP/2 does not have. */
export function blockOfLines(octets: Buffer, from: number, to: number): Buffer {
  const most = to - from + Math.ceil((to - from) / SHORTEST_LINE) * MOST_ADDED_OCTETS;
  const block = most <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(most);
  const seen: string[] = [];
  let at = 0;
  for (let i = from; i < to; ) {
    const colon = octets.indexOf(COLON, i);
    const end = octets.indexOf(CR, colon);
    const name = octets.toString('latin1', i, colon);
    const value = colon + 2;
    i = end + 2;
    if (SINGLE.has(name)) {
      if (seen.includes(name)) continue;
      seen.push(name);
    }
    at = beginField(block, at, name, end - value);
    at += octets.copy(block, at, value, end);
  }
  return Buffer.from(block.subarray(0, at));
}

const SCRATCH = Buffer.allocUnsafeSlow(16_384);
