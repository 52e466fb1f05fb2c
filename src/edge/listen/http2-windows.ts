/**
 * Windows of HTTP/2 for what clients send (RFC 9113 §5.2). Those of a stream let a long way be full; that of a connection is widened
 * while something is uploaded over it, by what memory clients leave each other.
 */
import type { ServerHttp2Session } from 'node:http2';
import { createMemoryShares } from '../exchange/memory-shares.js';

/** Of each stream, octets. */
export const STREAM_WINDOW = 1 << 20;
/** Of a connection: the widest that there is memory for. The last one is what HTTP/2 begins with. */
const CONNECTION_WINDOWS = [1 << 24, 1 << 22, 1 << 20];
const FIRST_WINDOW = 65_535;
/** Octets that all clients together may have sent without that an origin has taken them. */
const MEMORY = 1 << 28;

/** Returns what is to be called for each session. `client`: what counts as one. */
export function createWindows(): (session: ServerHttp2Session, client: string) => void {
  const memory = createMemoryShares<string>(MEMORY);
  return (session, client) => {
    /** Streams with a body on its way. */
    let uploads = 0;
    let taken = 0;
    const widen = (): void => {
      taken = CONNECTION_WINDOWS.find((octets) => memory.take(client, octets)) ?? 0;
      if (taken > 0) session.setLocalWindowSize(taken);
    };
    const narrow = (): void => {
      if (taken > 0) memory.give(client, taken);
      taken = 0;
      if (!session.destroyed) session.setLocalWindowSize(FIRST_WINDOW);
    };
    session.on('stream', (stream, headers) => {
      // What a WebSocket says comes in small pieces.
      if (stream.endAfterHeaders || headers[':method'] === 'CONNECT') return;
      if (uploads++ === 0) widen();
      stream.once('close', () => {
        if (--uploads === 0) narrow();
      });
    });
  };
}
