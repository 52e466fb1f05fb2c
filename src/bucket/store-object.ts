/** PUT of an object, for the bucket application and the API: stores the body of a request as an object. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Clock, steadyMs } from '../base/clock.js';
import { judgeWrite } from '../http/conditions.js';
import type { StorageClass } from '../store/objects/buckets.js';
import { gatherBody } from './bodies/gathered-body.js';
import { objectFailure } from './errors.js';
import { readMetadata } from './metadata.js';
import type { BeforeWrite, HttpMetadata, ObjectItem, ObjectStore, Pieces } from './object-store.js';

export interface Upload {
  readonly headers: IncomingHttpHeaders;
  readonly body: Pieces;
  /** Largest body, octets. */
  readonly limit: number;
  /** The bucket's class when undefined. */
  readonly storageClass?: StorageClass | undefined;
  readonly beforeWrite?: BeforeWrite | undefined;
}

/** Resolves when the object is durable and visible. Rejects with the errors of ObjectStore.put. */
export async function storeObject(
  objects: ObjectStore,
  bucket: number,
  key: string,
  { headers, body, limit, storageClass, beforeWrite }: Upload,
): Promise<ObjectItem> {
  const declared = headers['content-length'];
  const size = declared === undefined ? undefined : Number(declared);
  if (size !== undefined && size > limit) throw objectFailure('tooLarge', { limit });
  return objects.put(bucket, key, body, {
    httpMetadata: metadataOf(headers),
    storageClass,
    limit,
    size: size ?? (headers['transfer-encoding'] === undefined ? 0 : undefined),
    md5: readDigest(headers['content-md5'], 16),
    sha256: readDigest(headers['x-checksum-sha256'] ?? headers['x-amz-checksum-sha256'], 32),
    mayReplace: (existing) => judgeWrite(headers, existing),
    beforeWrite,
  });
}

/**
 * The body of a request in pieces, each of which is valid until the next one is asked for. Stopping early leaves the connection open, so
 * that the refusal can still be sent.
 * `beginReading` is called before the first octets are read.
 */
export async function* bodyOf(message: IncomingMessage, beginReading = (): void => {}): AsyncGenerator<Uint8Array> {
  beginReading();
  yield* gatherBody(message);
}

const LOOK_MS = 500;

/** To be called with each piece of a body that arrives: now and then it asks `requireStill`, which throws when the sender may no longer write. */
export function lookNowAndThen(clock: Clock, requireStill: () => void): () => void {
  let lookedMs = steadyMs(clock);
  return () => {
    const nowMs = steadyMs(clock);
    if (nowMs - lookedMs < LOOK_MS) return;
    requireStill();
    lookedMs = nowMs;
  };
}

/** A media type, perhaps with parameters (RFC 9110 §8.3.1). */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;

/** A content type that cannot be one counts as absent, not as an error (v4: §0.6), also where the framework does not look at it. */
function metadataOf(headers: IncomingHttpHeaders): HttpMetadata {
  const { contentType, ...rest } = readMetadata(headers);
  return contentType !== undefined && MEDIA_TYPE.test(contentType) ? { contentType, ...rest } : rest;
}

/** A checksum in base64 or hexadecimal; undefined when there is none. Throws 400 for any other value. */
function readDigest(field: string | string[] | undefined, length: number): Uint8Array | undefined {
  if (field === undefined) return undefined;
  const text = String(field).trim();
  const isHex = text.length === 2 * length && /^[0-9a-f]+$/i.test(text);
  const digest = Buffer.from(text, isHex ? 'hex' : 'base64');
  if (digest.length !== length) throw objectFailure('badChecksum');
  return digest;
}
