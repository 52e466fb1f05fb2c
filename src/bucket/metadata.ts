/** The headers of HTTP that are kept with an object and given back with it. */
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

/** What curl says of a body when nobody told it: nothing that is meant. */
const NOT_MEANT = 'application/x-www-form-urlencoded';

/** What a request says of its body. */
export function readMetadata(headers: IncomingHttpHeaders): HttpMetadata {
  const given = Object.entries(HEADERS)
    .map(([name, header]) => [name, headers[header]] as const)
    .filter(([, value]) => typeof value === 'string' && value !== '' && value !== NOT_MEANT);
  return Object.fromEntries(given);
}

/** The headers an object is answered with, except those of the length. A type nobody gave is not guessed. */
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
