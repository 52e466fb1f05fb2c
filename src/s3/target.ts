/**
 * The target of a request: bucket, key and query. The target is taken as it was sent, without any normalisation of URLs: `//`,
 * `.`, `..` and a slash at the end belong to the key.
 */
import { S3Error } from './errors.js';

export interface Target {
  /** The account that the host names. */
  readonly account: string | undefined;
  readonly bucket: string | undefined;
  /** Undefined for the bucket itself. */
  readonly key: string | undefined;
  readonly query: Query;
  /** The path as signatures see it. */
  readonly canonicalPath: string;
}

/** Decoded names and values in the order in which they were sent. */
export type Query = readonly (readonly [name: string, value: string])[];

/** Octets that stay as they are in a signature (RFC 3986 §2.3). */
const UNRESERVED = /^[A-Za-z0-9\-._~]$/;
const ACCOUNT = /^[0-9a-f]{32}$/;

/** `url`: as node:http has it, one character an octet. `domain`: that of the setting. Throws 400 InvalidURI. */
export function readTarget(url: string, host: string, domain: string | undefined): Target {
  if (!url.startsWith('/')) throw new S3Error('InvalidURI');
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? [] : readQuery(url.slice(mark + 1));
  const place = placeOfHost(host, domain);
  const common = { account: place.account, query, canonicalPath: canonicalPathOf(path) };
  if (place.bucket !== undefined) {
    const key = decode(path.slice(1));
    return { ...common, bucket: place.bucket, key: key === '' ? undefined : key };
  }
  const end = path.indexOf('/', 1);
  const bucket = decode(end < 0 ? path.slice(1) : path.slice(1, end));
  const key = end < 0 ? '' : decode(path.slice(end + 1));
  return { ...common, bucket: bucket === '' ? undefined : bucket, key: key === '' ? undefined : key };
}

/** `bucket.domain`, `bucket.account.domain`, `account.domain`; nothing for other hosts. */
function placeOfHost(host: string, domain: string | undefined): { bucket?: string; account?: string | undefined } {
  if (domain === undefined) return {};
  const name = host.replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();
  if (!name.endsWith(`.${domain}`)) return {};
  const labels = name.slice(0, -domain.length - 1).split('.');
  const account = labels.length <= 2 && ACCOUNT.test(labels.at(-1)!) ? labels.pop() : undefined;
  if (labels.length > 1) throw new S3Error('InvalidURI', 'The host names neither a bucket nor an account.');
  return labels.length === 0 ? { account } : { bucket: labels[0]!, account };
}

/** Decodes percent escapes once; what results must be UTF-8. */
function decode(text: string): string {
  if (!/[%\x80-\xff]/.test(text)) return text;
  try {
    // Octets that were sent as they are become escapes first.
    return decodeURIComponent(text.replace(/[\x80-\xff]/g, escapeOctet));
  } catch {
    throw new S3Error('InvalidURI', 'The target is not percent-encoded UTF-8.');
  }
}

/** The percent-encoding of an octet, given as a character. */
export const escapeOctet = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** Each octet once and in one spelling; an escaped slash stays escaped. */
function canonicalPathOf(path: string): string {
  if (/^[A-Za-z0-9\-._~/]*$/.test(path)) return path;
  return path.replace(/%([0-9a-fA-F]{2})|[^A-Za-z0-9\-._~/]/g, (found, hex: string | undefined) => {
    if (hex === undefined) return escapeOctet(found);
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return UNRESERVED.test(character) ? character : `%${hex.toUpperCase()}`;
  });
}

function readQuery(text: string): Query {
  const query: (readonly [string, string])[] = [];
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    query.push(at < 0 ? [decodePart(pair), ''] : [decodePart(pair.slice(0, at)), decodePart(pair.slice(at + 1))]);
  }
  return query;
}

const decodePart = (text: string): string => decode(text.includes('+') ? text.replaceAll('+', ' ') : text);

/** The first value of a parameter. */
export function parameterOf(query: Query, name: string): string | undefined {
  return query.find(([known]) => known === name)?.[1];
}

/** Percent-encodes everything but unreserved characters, as signatures do (RFC 3986 §2.3). */
export function encodeStrictly(text: string): string {
  if (/^[A-Za-z0-9\-._~]*$/.test(text)) return text;
  return encodeURIComponent(text).replace(/[!'()*]/g, escapeOctet);
}
