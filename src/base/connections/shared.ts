/**
 * Connections of a server that all clients share. When there are too many, one of the client that has most is cut, one on which
 * nothing is asked before one whose request or answer waits for the client, so that nobody can keep others away by holding on.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { clientNetwork } from '../ip.js';

/** What a connection does: nothing is asked, it waits for its client, its answer is being made. The first are cut first. */
type Doing = 0 | 1 | 2;

interface Shared {
  readonly socket: Socket;
  readonly client: string;
  readonly forget: () => void;
  /** Of TLS, what the requests came over; otherwise the socket itself. */
  request: IncomingMessage | undefined;
  isAnswered: boolean;
}

/** Accepts at most `most` connections at once. To be called before the server listens. */
export function shareConnections(server: Server | SecureServer, most: number): void {
  // In the order in which they came, or were used last.
  const open = new Map<string, Shared>();
  const numbers = new Map<string, number>();
  // Until the one that is cut has closed, there is one more.
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    const client = clientNetwork(socket.remoteAddress ?? '');
    const forget = (): void => {
      if (open.get(name)?.socket !== socket) return;
      open.delete(name);
      const left = numbers.get(client)! - 1;
      if (left > 0) numbers.set(client, left);
      else numbers.delete(client);
    };
    open.set(name, { socket, client, forget, request: undefined, isAnswered: true });
    numbers.set(client, (numbers.get(client) ?? 0) + 1);
    socket.once('close', forget);
    if (open.size <= most) return;
    // It is forgotten now, so that two that come at once cut two.
    const cut = worst(open, numbers, name);
    cut.forget();
    cut.socket.destroy();
  });
  server.on('request', (request: IncomingMessage, response) => {
    const name = nameOf(request.socket);
    const shared = open.get(name);
    if (!shared) return;
    open.delete(name);
    open.set(name, Object.assign(shared, { request, isAnswered: false }));
    response.once('close', () => {
      if (shared.request === request) shared.isAnswered = true;
    });
  });
}

/** The same for a connection and for the TLS inside of it. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** `newest` asks for nothing yet, but it will: it is cut when all others of its client are being answered. */
function worst(open: ReadonlyMap<string, Shared>, numbers: ReadonlyMap<string, number>, newest: string): Shared {
  const most = Math.max(...numbers.values());
  const own = open.get(newest)!;
  let found: Shared | undefined;
  let doing: Doing = 2;
  for (const one of open.values()) {
    if (one === own || numbers.get(one.client) !== most) continue;
    const its = doingOf(one);
    if (found && its >= doing) continue;
    found = one;
    doing = its;
  }
  return !found || (doing === 2 && numbers.get(own.client) === most) ? own : found;
}

function doingOf({ request, isAnswered }: Shared): Doing {
  if (!request || isAnswered) return 0;
  return request.complete && request.socket.writableLength === 0 ? 2 : 1;
}
