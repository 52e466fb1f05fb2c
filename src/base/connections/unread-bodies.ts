/** Bodies that go on after their answer, which need no credential: what has come is thrown away, and soon the connection ends. */
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Clock } from '../clock.js';

/** Milliseconds for which a client may go on sending after its answer, so that it does not lose the answer (RFC 9112 §9.6). */
export const LINGER_MS = 2_000;

/** A request that is whole by then keeps its connection. */
export function endUnreadBodies(server: Server | SecureServer, clock: Clock): void {
  server.on('request', (request, response) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
    if (length === '0' && coding === undefined) return;
    response.once('finish', () => {
      if (request.complete) return;
      const cancel = clock.after(LINGER_MS, () => {
        if (!request.complete) request.socket.destroy();
      });
      request.once('end', cancel).once('close', cancel);
    });
  });
}
