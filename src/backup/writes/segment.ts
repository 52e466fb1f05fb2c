/**
 * A file of writes, in order. Each has a head: number, time in milliseconds since 1970 (both 64 bits), schema version and octets of
 * the body (both 32 bits, all little-endian), and the SHA-256 of these and the body. A head without a body says that there was no
 * other write up to its time.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import type { LoggedWrite } from '../../store/log/write-log.js';
import { MOST_LOGGED_OCTETS } from '../../store/log/write-logger.js';

const HEAD = 24;
const SUM = 32;

export function packWrite({ number, writtenAtMs, schema, body }: LoggedWrite): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeBigUInt64LE(BigInt(number), 0);
  head.writeBigUInt64LE(BigInt(Math.max(0, Math.floor(writtenAtMs))), 8);
  head.writeUInt32LE(schema, 16);
  head.writeUInt32LE(body.length, 20);
  return Buffer.concat([head, sumOf(head, body), body]);
}

function sumOf(head: Buffer, body: Uint8Array): Buffer {
  return createHash('sha256').update(head).update(body).digest();
}

export interface PlacedWrite extends LoggedWrite {
  /** Where it ends in the file. */
  readonly end: number;
}

/** Those up to the end of the file, where the last may have been interrupted, or up to one that is damaged. */
export function* readSegment(path: string): Generator<PlacedWrite | 'damaged'> {
  const file = openSync(path, 'r');
  try {
    for (let at = 0; ; ) {
      const head = readAt(file, at, HEAD + SUM);
      if (!head) return;
      const octets = head.readUInt32LE(20);
      const body = octets <= MOST_LOGGED_OCTETS ? readAt(file, at + head.length, octets) : 'damaged';
      if (body === undefined) return;
      const isWhole = body !== 'damaged' && sumOf(head.subarray(0, HEAD), body).equals(head.subarray(HEAD));
      if (!isWhole) {
        yield 'damaged';
        return;
      }
      at += head.length + octets;
      yield {
        number: Number(head.readBigUInt64LE(0)),
        writtenAtMs: Number(head.readBigUInt64LE(8)),
        schema: head.readUInt32LE(16),
        body,
        end: at,
      };
    }
  } finally {
    closeSync(file);
  }
}

/** Undefined when the file has fewer octets there. */
function readAt(file: number, at: number, octets: number): Buffer | undefined {
  const buffer = Buffer.alloc(octets);
  for (let read = 0; read < octets; ) {
    const more = readSync(file, buffer, read, octets - read, at + read);
    if (more === 0) return undefined;
    read += more;
  }
  return buffer;
}
