/** A request's body on its way to the origin. It is counted, and fails if the client disconnects before its end. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { PassThrough, type Readable, type TransformCallback } from 'node:stream';

class BodyTooLarge extends Error {
  readonly code = BODY_TOO_LARGE;

  constructor(limit: number) {
    super(`the body is longer than ${limit} octets`);
  }
}

/** The code of the error for a body that is too long. */
export const BODY_TOO_LARGE = 'BODY_TOO_LARGE';

class LimitedBody extends PassThrough {
  private octets = 0;

  constructor(private readonly limit: number) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.octets += chunk.length;
    if (this.octets > this.limit) done(new BodyTooLarge(this.limit));
    else done(null, chunk);
  }
}

/** Destroying it leaves the client's connection open, so that an answer can still be sent. */
export function limitedBody(message: IncomingMessage | Http2ServerRequest, limit: number): Readable {
  const body = new LimitedBody(limit);
  // Readers receive errors; without a reader they must not end the process.
  body.on('error', () => message.unpipe(body));
  message.on('error', (error: Error) => body.destroy(error));
  message.once('close', () => {
    if (!message.complete && !body.writableEnded) body.destroy(new Error('the client went away'));
  });
  message.pipe(body);
  return body;
}
