/** PUT of the bucket application: the body of a request becomes an object. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { judgeWrite } from '../http/conditions.js';
import { objectFailure } from './errors.js';
import { readMetadata } from './metadata.js';
import type { ObjectItem, ObjectStore } from './object-store.js';

export interface Upload {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Largest body, octets. */
  readonly limit: number;
}

/** Resolves when the object is durable and visible. Rejects with what ObjectStore.put does. */
export async function storeObject(
  objects: ObjectStore,
  bucket: number,
  key: string,
  { request, reply, limit }: Upload,
): Promise<ObjectItem> {
  const { headers } = request;
  const declared = headers['content-length'];
  const size = declared === undefined ? undefined : Number(declared);
  if (size !== undefined && size > limit) throw objectFailure('tooLarge', { limit });
  return objects.put(bucket, key, bodyOf(request, reply), {
    httpMetadata: readMetadata(headers),
    limit,
    size: size ?? (headers['transfer-encoding'] === undefined ? 0 : undefined),
    md5: readDigest(headers['content-md5'], 16),
    sha256: readDigest(headers['x-checksum-sha256'] ?? headers['x-amz-checksum-sha256'], 32),
    mayReplace: (existing) => judgeWrite(headers, existing),
  });
}

/**
 * A client that waits for leave to send gets it when reading begins, once everything else has been found in order. Left
 * early, the body leaves the connection open, so that the refusal can still be sent.
 */
async function* bodyOf({ raw }: FastifyRequest, reply: FastifyReply): AsyncGenerator<Uint8Array> {
  if (raw.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue();
  yield* raw.iterator({ destroyOnReturn: false });
}

/** A checksum in base64 or hexadecimal; undefined when there is none. Throws 400 for what is no such checksum. */
function readDigest(field: string | string[] | undefined, length: number): Uint8Array | undefined {
  if (field === undefined) return undefined;
  const text = String(field).trim();
  const isHex = text.length === 2 * length && /^[0-9a-f]+$/i.test(text);
  const digest = Buffer.from(text, isHex ? 'hex' : 'base64');
  if (digest.length !== length) throw objectFailure('badChecksum');
  return digest;
}
