/** Bodies that are checked while they are read: what the disk has changed or cut is an error, never an answer. */
import { createHash, type Hash } from 'node:crypto';
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';

/** The body of an object is not what was stored. */
export class BodyDamaged extends Error {
  /** `what`: which body, in words. */
  constructor(what: string, reason: 'is not whole' | 'is not what was stored' | 'is missing') {
    super(`the body of ${what} ${reason}`);
    this.name = 'BodyDamaged';
  }
}

export interface BodyCheck {
  /** Octets that must come. */
  readonly length: number;
  /** That of these octets; undefined for a part of a body. */
  readonly md5: Uint8Array | undefined;
  /** Which body it is, in words. */
  readonly name: string;
}

/** The same octets, or an error before the last of them. */
export function checkBody(source: Readable, check: BodyCheck): Readable {
  // Errors of the source are those of the result, and who destroys the result destroys the source.
  return pipeline(source, new CheckedBody(check), () => {});
}

export const md5Of = (octets: Uint8Array): Buffer => createHash('md5').update(octets).digest();

class CheckedBody extends Transform {
  private readonly hash: Hash | undefined;
  private octets = 0;
  /** Kept back until the next piece comes: the last one is sent only when all is right. */
  private held: Buffer | undefined;

  constructor(private readonly check: BodyCheck) {
    super();
    this.hash = check.md5 && createHash('md5');
  }

  override _transform(piece: Buffer, _encoding: string, done: TransformCallback): void {
    this.octets += piece.length;
    if (this.octets > this.check.length) {
      done(new BodyDamaged(this.check.name, 'is not whole'));
      return;
    }
    this.hash?.update(piece);
    const before = this.held;
    this.held = piece;
    done(null, before);
  }

  override _flush(done: TransformCallback): void {
    const { length, md5, name } = this.check;
    if (this.octets !== length) done(new BodyDamaged(name, 'is not whole'));
    else if (md5 && !this.hash!.digest().equals(md5)) done(new BodyDamaged(name, 'is not what was stored'));
    else done(null, this.held);
  }
}
