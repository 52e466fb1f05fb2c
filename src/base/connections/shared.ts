/**
 * Shares the connections of a server among all clients. When there are too many, the client with the most loses one: an idle one
 * first, then one that waits for the client, so that nobody can keep others out by holding connections open.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { clientNetwork } from '../ip.js';
import { noteNewcomer } from '../pace.js';

/** State of a connection: 0 idle, 1 waiting for its client, 2 making an answer. Lower numbers are cut first. */
type Doing = 0 | 1 | 2;

interface Shared {
  readonly socket: Socket;
  readonly client: string;
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
}

/** Accepts at most `most` connections at once. Call it before the server listens. */
export function shareConnections(server: Server | SecureServer, most: number): void {
  /** The connections of each client, least recently used first. */
  const open = new Map<string, Set<Shared>>();
  let count = 0;
  /** By the socket of their requests, which is another one inside TLS. */
  const ofRequests = new WeakMap<Socket, Shared>();
  /** By address and port; finds a connection when its TLS handshake ends. */
  const byName = new Map<string, Shared>();
  const isSecure = server instanceof TlsServer;
  const forget = (shared: Shared): void => {
    const own = open.get(shared.client);
    if (!own?.delete(shared)) return;
    count--;
    if (own.size === 0) open.delete(shared.client);
  };
  server.on('connection', (socket: Socket) => {
    noteNewcomer();
    const client = clientNetwork(socket.remoteAddress ?? '');
    const shared: Shared = { socket, client, request: undefined, response: undefined };
    open.set(client, (open.get(client) ?? new Set()).add(shared));
    count++;
    ofRequests.set(socket, shared);
    const name = nameOf(socket);
    if (isSecure) byName.set(name, shared);
    socket.once('close', () => {
      forget(shared);
      if (byName.get(name) === shared) byName.delete(name);
    });
    if (count <= most) return;
    // Forgotten at once, so that two simultaneous newcomers do not cut the same connection.
    const cut = worst(open, shared);
    forget(cut);
    cut.socket.destroy();
  });
  if (isSecure) {
    server.on('secureConnection', (socket: Socket) => {
      const shared = byName.get(nameOf(socket));
      if (shared) ofRequests.set(socket, shared);
    });
  }
  server.on('request', (request: IncomingMessage, response) => {
    const shared = ofRequests.get(request.socket);
    if (!shared) return;
    Object.assign(shared, { request, response });
    const own = open.get(shared.client);
    if (own?.delete(shared)) own.add(shared);
  });
}

/** Equal for a TCP connection and the TLS socket inside it. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Spares `newest`, whose request is still to come, unless all others of its client are being answered. */
function worst(open: ReadonlyMap<string, ReadonlySet<Shared>>, newest: Shared): Shared {
  const most = Math.max(...[...open.values()].map(({ size }) => size));
  let found: Shared | undefined;
  let doing: Doing = 2;
  for (const own of open.values()) {
    if (own.size < most) continue;
    for (const one of own) {
      if (one === newest) continue;
      const its = doingOf(one);
      if (its === 0) return one;
      if (!found || its < doing) {
        found = one;
        doing = its;
      }
    }
  }
  return !found || (doing === 2 && open.get(newest.client)!.size === most) ? newest : found;
}

function doingOf({ request, response }: Shared): Doing {
  if (!request || response?.closed) return 0;
  return request.complete && request.socket.writableLength === 0 ? 2 : 1;
}
