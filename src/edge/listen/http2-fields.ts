/** Makes the blocks of fields of HTTP/2 from fields of an origin: Node throws for what no block may hold. Pure. */
import type { OutgoingHttpHeaders } from 'node:http2';
import type { HeaderList } from '../exchange/exchange.js';

/** Fields that a block holds once at most, by Node's list. */
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

/** Of a field that may occur once, the first value counts. Names are in lower case. */
export function http2Fields(headers: HeaderList): OutgoingHttpHeaders {
  const fields: Record<string, string | string[]> = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (OF_CONNECTIONS.has(name) || !NAME.test(name) || NO_VALUE.test(value)) continue;
    const known = fields[name];
    if (known === undefined) fields[name] = value;
    else if (SINGLE.has(name)) continue;
    else if (typeof known === 'string') fields[name] = [known, value];
    else known.push(value);
  }
  return fields;
}
