/** Sends a body piece by piece. */
import type { ServerResponse } from 'node:http';

/**
 * Writes each piece when the connection has taken the one before, and ends the response after the last. Resolves when that is done, or
 * as soon as the connection has ended, even if the next piece does not come: whoever has opened the body closes it then. Rejects with
 * what the pieces reject with, and leaves the response to the caller then.
 */
export async function sendPieces(pieces: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  let leave: (() => void) | undefined;
  /** Undefined when the connection ends first. */
  const unlessLeft = <Value>(begin: (resolve: (value: Value) => void, reject: (error: unknown) => void) => void) =>
    new Promise<Value | undefined>((resolve, reject) => {
      leave = () => resolve(undefined);
      begin(resolve, reject);
    });
  const next = () => unlessLeft<IteratorResult<Buffer>>((resolve, reject) => iterator.next().then(resolve, reject));
  const send = (piece: Buffer) => unlessLeft<boolean>((resolve) => response.write(piece, (error) => resolve(!error)));
  const onClose = (): void => leave?.();
  response.once('close', onClose);
  try {
    while (!response.closed) {
      const step = await next();
      if (step?.done) response.end();
      if (!step || step.done || !(await send(step.value))) return;
    }
  } finally {
    response.off('close', onClose);
    // It ends once the piece has come that is on its way, or when the body is closed.
    iterator.return?.().catch(() => undefined);
  }
}
