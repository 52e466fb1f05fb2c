/** Connections that delay the end of an HTTP server: at the end, those whose client does not read or send are cut. */
import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../clock.js';

/** Milliseconds between two checks of the progress. */
const LOOK_MS = 1000;
/** A client that moves fewer octets between two checks is cut. */
const LEAST_OCTETS = 64 * 1024;

interface Watched {
  request: IncomingMessage | undefined;
  moved: number;
}

/**
 * Watches the connections of a server. The returned function, to be called when the server closes, begins to cut
 * connections that wait for their client and move too little. Connections whose answer is still being made are kept.
 */
export function cutStalledConnections(server: Server | SecureServer, clock: Clock): () => void {
  const watched = new Map<Socket, Watched>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    watched.set(socket, { request: undefined, moved: 0 });
    socket.once('close', () => watched.delete(socket));
  });
  server.on('request', (request) => {
    const entry = watched.get(request.socket);
    if (entry) entry.request = request;
  });

  const look = (): void => {
    for (const [socket, entry] of watched) {
      const moved = socket.bytesRead + socket.bytesWritten;
      if (isClientsTurn(socket, entry.request) && moved - entry.moved < LEAST_OCTETS) socket.destroy();
      entry.moved = moved;
    }
  };
  return () => {
    for (const [socket, entry] of watched) entry.moved = socket.bytesRead + socket.bytesWritten;
    const stop = clock.every(LOOK_MS, look);
    server.once('close', stop);
  };
}

/**
 * Keeps connections whose answer takes longer to make than a connection may be idle: otherwise the client would never learn what
 * became of its request.
 */
export function keepWhileAnswering(server: Server | SecureServer): void {
  server.on('request', (request, response) => {
    // Node closes the connection only if nobody listens.
    response.on('timeout', (socket: Socket) => {
      if (isClientsTurn(socket, request)) socket.destroy();
    });
  });
}

/** Whether the client has not sent its whole request, or does not read the answer. */
function isClientsTurn(socket: Socket, request: IncomingMessage | undefined): boolean {
  return request === undefined || !request.complete || socket.writableLength > 0;
}
