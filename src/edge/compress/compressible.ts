/** Which responses are worth compressing, and what their fields say then (RFC 9110 §8). Pure. */
import { type Coding, forbidsTransforming } from '../../http/content-coding.js';
import { listMembers } from '../../http/fields.js';
import type { HeaderList } from '../exchange/exchange.js';

/** What fits into one packet anyway gains nothing: bodies of up to so many octets stay as they are. */
export const LEAST_OCTETS = 1024;

export interface Compressible {
  /** Octets of the body; undefined: not known. */
  readonly length: number | undefined;
  /** The fields of the plain form, which tell caches that there are others. */
  readonly plain: HeaderList;
}

/** Besides `text/*` and what ends in `+json`, `+xml` or `+text`. */
const TYPES: ReadonlySet<string> = new Set([
  ...[
    'ecmascript',
    'graphql',
    'javascript',
    'json',
    'json5',
    'jsonlines',
    'n-triples',
    'ndjson',
    'rtf',
    'sql',
    'toml',
  ].map((name) => `application/${name}`),
  ...['wasm', 'x-javascript', 'x-ndjson', 'x-sh', 'x-httpd-php', 'x-protobuf', 'xml', 'yaml', 'x-yaml'].map(
    (name) => `application/${name}`,
  ),
  ...['opentype', 'otf', 'truetype', 'ttf', 'vnd.ms-fontobject', 'x-font-opentype', 'x-font-ttf', 'x-ttf'].map(
    (name) => `application/${name}`,
  ),
  ...['font/otf', 'font/ttf', 'font/sfnt', 'image/bmp', 'image/svg+xml', 'image/vnd.microsoft.icon', 'image/x-icon'],
  ...['model/gltf+json', 'model/obj'],
]);

/** Whether bodies of this type become smaller. */
export function isWorthIt(contentType: string): boolean {
  const semicolon = contentType.indexOf(';');
  const type = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  // Events are to arrive at once, and the stream never ends.
  if (type === 'text/event-stream') return false;
  return type.startsWith('text/') || /\+(?:json|xml|text)$/.test(type) || TYPES.has(type);
}

/** Statuses whose body is not a whole representation, or that have none. */
const WITHOUT: ReadonlySet<number> = new Set([204, 205, 206, 304]);

interface Judged {
  readonly status: number;
  readonly compressible: Compressible | undefined;
}

/** Cached for frozen field lists, which repeat. */
const known = new WeakMap<HeaderList, Judged>();

/** Undefined for a response that stays as it is: encoded before, a part, forbidden, or of a type that would not become smaller. */
export function compressibleOf(status: number, headers: HeaderList): Compressible | undefined {
  const isFrozen = Object.isFrozen(headers);
  const before = isFrozen ? known.get(headers) : undefined;
  if (before?.status === status) return before.compressible;
  const compressible = judge(status, headers);
  if (isFrozen) known.set(headers, { status, compressible });
  return compressible;
}

function judge(status: number, headers: HeaderList): Compressible | undefined {
  if (status < 200 || WITHOUT.has(status)) return undefined;
  let type: string | undefined;
  let length: number | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1]!;
    switch (headers[i]) {
      case 'content-encoding':
      case 'content-range':
        return undefined;
      case 'content-type':
        if (type !== undefined) return undefined;
        type = value;
        break;
      case 'content-length':
        length = Number(value);
        break;
      case 'cache-control':
        if (forbidsTransforming(value)) return undefined;
    }
  }
  if (type === undefined || !isWorthIt(type) || (length !== undefined && !(length > LEAST_OCTETS))) return undefined;
  const plain = withVary(headers);
  return { length, plain: Object.isFrozen(headers) ? Object.freeze(plain) : plain };
}

const VARY = 'accept-encoding';

/** Whether `Vary` says already that the coding depends on the request. */
function isVaried(headers: HeaderList): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'vary') continue;
    const names = listMembers(headers[i + 1]!.toLowerCase());
    if (names.includes(VARY) || names.includes('*')) return true;
  }
  return false;
}

function withVary(headers: HeaderList): string[] {
  return isVaried(headers) ? [...headers] : [...headers, 'vary', 'Accept-Encoding'];
}

/** Fields that speak of the octets which the origin sent. The tag is kept, as a weak one. */
const OF_THE_OCTETS: ReadonlySet<string> = new Set([
  'accept-ranges',
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
]);

/** The fields of the compressed form; `plain`: those of {@link Compressible}. */
export function encodedHeaders(plain: HeaderList, coding: Coding, length?: number): string[] {
  const encoded = withoutDigests(plain);
  for (let i = 0; i < encoded.length; i += 2) if (encoded[i] === 'etag') encoded[i + 1] = weakTag(encoded[i + 1]!);
  encoded.push('content-encoding', coding);
  if (length !== undefined) encoded.push('content-length', String(length));
  return encoded;
}

/** Also for trailers. */
export function withoutDigests(headers: HeaderList): string[] {
  return headers.filter((_, i) => !OF_THE_OCTETS.has(headers[i - (i % 2)]!));
}

/** The octets differ from those that the origin gave the tag (RFC 9110 §8.8.1). */
export function weakTag(tag: string): string {
  return tag.startsWith('W/') ? tag : `W/${tag}`;
}

/**
 * The fields of a 304 of the origin, which does not know what became of its response: where the client has a compressed one, whose
 * tag is weak, it is told that tag.
 */
export function confirmedHeaders(headers: HeaderList, ifNoneMatch: string | undefined): HeaderList {
  if (!ifNoneMatch?.includes('W/')) return headers;
  const at = headers.indexOf('etag');
  const tag = at >= 0 && at % 2 === 0 ? headers[at + 1]! : '';
  if (tag.startsWith('W/') || !ifNoneMatch.includes(`W/${tag}`)) return headers;
  const confirmed = withVary(headers);
  confirmed[at + 1] = weakTag(tag);
  return confirmed;
}
