/** The HTTP headers that are stored with an object and returned with it. */
import type { IncomingHttpHeaders } from 'node:http';
import { printHttpDate } from '../http/date.js';
import type { HttpMetadata, ObjectItem } from './object-store.js';

const HEADERS = {
  contentType: 'content-type',
  contentLanguage: 'content-language',
  contentDisposition: 'content-disposition',
  contentEncoding: 'content-encoding',
  cacheControl: 'cache-control',
  expires: 'expires',
} as const satisfies Record<keyof HttpMetadata, string>;

/** The type that curl sends by default; it says nothing about the body. */
const NOT_MEANT = 'application/x-www-form-urlencoded';

/** What a request says about its body. */
export function readMetadata(headers: IncomingHttpHeaders): HttpMetadata {
  const given = Object.entries(HEADERS)
    .map(([name, header]) => [name, headers[header]] as const)
    .filter(([, value]) => typeof value === 'string' && value !== '' && value !== NOT_MEANT);
  return Object.fromEntries(given);
}

/** The headers of an object in a response, except its length. A missing type is not guessed. */
export function objectHeaders(item: ObjectItem): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/octet-stream' };
  for (const [name, header] of Object.entries(HEADERS)) {
    const value = item.httpMetadata[name as keyof HttpMetadata];
    if (value !== undefined) headers[header] = value;
  }
  headers['etag'] = `"${item.etag}"`;
  headers['last-modified'] = printHttpDate(item.uploadedAt);
  headers['accept-ranges'] = 'bytes';
  headers['x-content-type-options'] = 'nosniff';
  return headers;
}
