/** Bodies that are checked while they are read: what the disk has changed or cut is an error, never an answer. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The body of an object is not what was stored. */
export class BodyDamaged extends Error {
  /** `what`: which body, in words. */
  constructor(what: string, reason: 'is not whole' | 'is not what was stored' | 'is missing') {
    super(`the body of ${what} ${reason}`);
    this.name = 'BodyDamaged';
  }
}

/** What is known about the octets of a whole body. */
export interface BodySum {
  readonly md5: Uint8Array;
  /** Null for a body that was stored before checksums were kept. */
  readonly crc32: number | null;
}

export interface BodyCheck {
  /** Octets that must come. */
  readonly length: number;
  /** That of these octets; undefined for a part of a body. */
  readonly sum: BodySum | undefined;
  /** Which body it is, in words. */
  readonly name: string;
}

/** The same pieces, or an error before the last of them. */
export async function* checkBody(
  pieces: AsyncIterable<Buffer>,
  { length, sum, name }: BodyCheck,
): AsyncGenerator<Buffer> {
  const running = sum && startSum(sum);
  let octets = 0;
  for await (const piece of pieces) {
    octets += piece.length;
    if (octets > length) throw new BodyDamaged(name, 'is not whole');
    running?.update(piece);
    if (octets === length && running && !running.isRight()) throw new BodyDamaged(name, 'is not what was stored');
    yield piece;
  }
  if (octets !== length) throw new BodyDamaged(name, 'is not whole');
}

interface RunningSum {
  update(octets: Uint8Array): void;
  isRight(): boolean;
}

/** An MD5 takes as long as everything else in sending a body, and a CRC finds damage by a disk as well. */
function startSum({ md5, crc32: expected }: BodySum): RunningSum {
  if (expected === null) {
    const hash = createHash('md5');
    return { update: (octets) => void hash.update(octets), isRight: () => hash.digest().equals(md5) };
  }
  let value = 0;
  return {
    update(octets) {
      value = crc32(octets, value);
    },
    isRight: () => value === expected,
  };
}

export const md5Of = (octets: Uint8Array): Buffer => createHash('md5').update(octets).digest();
