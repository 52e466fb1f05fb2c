/** A request's body on its way to the origin. It is counted, and fails if the client disconnects before its end. */

import { PassThrough, type Readable, type TransformCallback } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { SMALL_PIECE } from '../../base/connections/small-pieces.js';

class BodyTooLarge extends Error {
  readonly code = BODY_TOO_LARGE;

  constructor(limit: number) {
    super(`the body is longer than ${limit} octets`);
  }
}

/** The codes of the errors for a body that is too long, and for one that took too long. */
export const BODY_TOO_LARGE = 'BODY_TOO_LARGE';
export const BODY_TOO_SLOW = 'BODY_TOO_SLOW';

class BodyTooSlow extends Error {
  readonly code = BODY_TOO_SLOW;

  constructor() {
    super('the body did not arrive in time');
  }
}

/** The time by which a body must have arrived. */
export interface BodyDeadline {
  readonly clock: Clock;
  readonly ms: number;
}

/** Pieces that come together leave together: a client may send each octet in a frame of HTTP/2, which would cost more than a request. */
class LimitedBody extends PassThrough {
  private octets = 0;

  constructor(private readonly limit: number) {
    super();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    if (chunk.length >= SMALL_PIECE) super._write(chunk, encoding, done);
    else super._write(chunk, encoding, (error) => setImmediate(done, error));
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: TransformCallback): void {
    super._write(Buffer.concat(pieces.map(({ chunk }) => chunk)), 'buffer' as BufferEncoding, done);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.octets += chunk.length;
    if (this.octets > this.limit) done(new BodyTooLarge(this.limit));
    else done(null, chunk);
  }
}

export interface BodyLimits {
  /** Octets. */
  readonly bodyLimit: number;
  readonly bodyDeadline?: BodyDeadline | undefined;
}

/** What a client sends after the head of its request. */
export interface SentBody extends Readable {
  /** Whether everything has come. */
  readonly complete: boolean;
}

/** Destroying it leaves the client's connection open, so that an answer can still be sent. */
export function limitedBody(message: SentBody, { bodyLimit, bodyDeadline: deadline }: BodyLimits): Readable {
  const body = new LimitedBody(bodyLimit);
  if (deadline) {
    const cancel = deadline.clock.after(deadline.ms, () => body.destroy(new BodyTooSlow()));
    message.once('end', cancel);
    body.once('close', cancel);
  }
  // Readers receive errors; without a reader they must not end the process.
  body.on('error', () => message.unpipe(body));
  message.on('error', (error: Error) => body.destroy(error));
  message.once('close', () => {
    if (!message.complete && !body.writableEnded) body.destroy(new Error('the client went away'));
  });
  message.pipe(body);
  return body;
}
