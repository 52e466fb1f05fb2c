/**
 * Object keys in paths. They are read from the target as it was sent: the router folds slashes, cuts the last one and drops
 * nothing but octets of the key with them. One round of percent decoding serves clients that escape a slash and clients
 * that do not (v4: §13).
 */
import type { FastifyRequest } from 'fastify';
import { objectFailure } from '../../bucket/errors.js';

const KEY = /\/r2\/+buckets\/+[^/?]+\/+objects\/([^?]*)/;

/** The key of the object a request is about; empty for none. Throws 10020 for escapes that are no UTF-8 text. */
export function objectKeyOf(request: FastifyRequest): string {
  const escaped = KEY.exec(request.originalUrl)?.[1] ?? '';
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw objectFailure('badKey');
  }
}
