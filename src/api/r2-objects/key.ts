/**
 * Object keys in paths. They are read from the original target, because the router folds slashes and removes the last
 * one. One round of percent decoding serves clients that escape slashes and clients that do not (v4: §13).
 */
import type { FastifyRequest } from 'fastify';
import { objectFailure } from '../../bucket/errors.js';

const KEY = /\/r2\/+buckets\/+[^/?]+\/+objects\/([^?]*)/;

/** The object key of a request; empty for none. Throws 10020 for escapes that are not UTF-8 text. */
export function objectKeyOf(request: FastifyRequest): string {
  const escaped = KEY.exec(request.originalUrl)?.[1] ?? '';
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw objectFailure('badKey');
  }
}
