/** Sends a body piece by piece. */
import type { ServerResponse } from 'node:http';

/**
 * Writes each piece when the connection has taken the one before, and ends the response after the last. Resolves when that is done, or
 * the connection has ended; rejects with what the pieces reject with, and leaves the response to the caller then.
 */
export async function sendPieces(pieces: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
  let settle: ((isTaken: boolean) => void) | undefined;
  const settleAs = (isTaken: boolean): void => {
    settle?.(isTaken);
    settle = undefined;
  };
  const onWritten = (error?: Error | null): void => settleAs(!error);
  const onClose = (): void => settleAs(false);
  response.once('close', onClose);
  const send = (piece: Buffer): Promise<boolean> =>
    new Promise((resolve) => {
      settle = resolve;
      response.write(piece, onWritten);
    });
  try {
    for await (const piece of pieces) if (response.closed || !(await send(piece))) return;
    response.end();
  } finally {
    response.off('close', onClose);
  }
}
