/**
 * What shows that an entry, or a piece of a snapshot, is what its author wrote: a network may change octets, as may a disk. The
 * server computes the same where an entry is stored (`digest_of` in statements.ts).
 */
import { createHash } from 'node:crypto';
import type { Entry } from '../store/recording.js';

export function sumOf(octets: Uint8Array): Buffer {
  return createHash('sha256').update(octets).digest();
}

/** Of an entry whose body is stored in these parts; in none: in its row. */
export function digestOf({ number, id, after, schema, body }: Entry, parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256').update([number, id, after, schema, parts.length].join(' '));
  return hash.update(parts.length > 0 ? sumOf(Buffer.concat(parts.map(sumOf))) : sumOf(body)).digest();
}

export function isSame(digest: unknown, computed: Uint8Array): boolean {
  return digest instanceof Uint8Array && Buffer.compare(digest, computed) === 0;
}
