/** A response of an origin, as the cache receives it. */
import type { Readable } from 'node:stream';
import { fieldValue, type HeaderFields } from '../../http/fields.js';

/** It must be opened or discarded once, unless the response is passed on with it. */
export interface OriginBody {
  /** Reads the body. The stream fails if the body is cut off. */
  open(): Readable;
  /** Drops the body without reading it. */
  discard(): void;
}

export interface OriginResponse {
  readonly status: number;
  readonly fields: HeaderFields;
  /** Undefined if the response has no body. */
  readonly body: OriginBody | undefined;
  /** False for a body that ends with its connection or stream. It may be incomplete (RFC 9112 §8), so it is not stored. */
  readonly showsItsEnd: boolean;
}

/** The origin cannot be reached or does not respond; a stale response may be used instead (RFC 9111 §4.2.4). */
export class OriginSilent extends Error {}

/** The value of `Content-Length`; undefined if there is no valid one. */
export function promisedLength(fields: HeaderFields): number | undefined {
  const text = fieldValue(fields, 'content-length');
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
