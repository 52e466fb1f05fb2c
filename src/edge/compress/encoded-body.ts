/** A body that is compressed while it is read. */
import { Readable } from 'node:stream';
import type { Encoder, EncoderEvents } from './encoders.js';

/**
 * Undefined if `begin` gives no encoder. Destroying the result destroys the plain body, too; when the plain body fails, the result
 * fails with the same error.
 */
export function encodedBody(
  plain: Readable | Uint8Array,
  begin: (events: EncoderEvents) => Encoder | undefined,
): Readable | undefined {
  let isFull = false;
  const source = plain instanceof Readable ? plain : undefined;
  const proceed = (): void => {
    if (!isFull && !encoder!.needsDrain) source?.resume();
  };
  const body = new Readable({
    read() {
      isFull = false;
      proceed();
    },
    destroy(error, done) {
      encoder!.destroy();
      source?.destroy();
      done(error);
    },
  });
  const encoder = begin({
    onData: (chunk) => void (isFull = !body.push(chunk)),
    onDrain: proceed,
    onEnd: () => void body.push(null),
    onError: (error) => void body.destroy(error),
  });
  if (!encoder) return undefined;
  if (!source) {
    encoder.end(plain as Uint8Array);
    return body;
  }
  source.on('data', (chunk: Uint8Array) => {
    if (!encoder.write(chunk) || isFull) source.pause();
  });
  source.on('end', () => encoder.end());
  source.on('error', (error) => body.destroy(error));
  source.on('close', () => {
    if (!source.readableEnded) body.destroy(new Error('the plain body was given up'));
  });
  return body;
}
