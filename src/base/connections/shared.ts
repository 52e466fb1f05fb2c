/**
 * Connections of a server that all clients share. When there are too many, one of the client that has most is cut, one on which
 * nothing is asked before one whose request or answer waits for the client, so that nobody can keep others away by holding on.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { clientNetwork } from '../ip.js';

/** What a connection does: nothing is asked, it waits for its client, its answer is being made. The first are cut first. */
type Doing = 0 | 1 | 2;

interface Shared {
  readonly socket: Socket;
  readonly client: string;
  /** The last request. */
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
}

/** Accepts at most `most` connections at once. To be called before the server listens. */
export function shareConnections(server: Server | SecureServer, most: number): void {
  /** Of each client, in the order in which they came, or were used last. */
  const open = new Map<string, Set<Shared>>();
  let count = 0;
  /** By what their requests come over: inside of TLS it is another socket. */
  const ofRequests = new WeakMap<Socket, Shared>();
  /** Until TLS has begun. */
  const byName = new Map<string, Shared>();
  const isSecure = server instanceof TlsServer;
  const forget = (shared: Shared): void => {
    const own = open.get(shared.client);
    if (!own?.delete(shared)) return;
    count--;
    if (own.size === 0) open.delete(shared.client);
  };
  server.on('connection', (socket: Socket) => {
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
    // It is forgotten now, so that two that come at once cut two.
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

/** The same for a connection and for the TLS inside of it. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** `newest` asks for nothing yet, but it will: it is cut when all others of its client are being answered. */
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
