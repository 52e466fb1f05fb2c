/**
 * Running TLS handshakes of one listener. Each must end in time, however slowly its client sends, and clients cannot
 * keep others out: the client that has most loses its oldest handshake.
 */
import type { Server, Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import { clientNetwork } from '../base/ip.js';
import { ofLargestClient } from './clients.js';
import { Count, type CountBlock } from './counters.js';

/** Milliseconds from the connection to the end of the handshake. */
const HANDSHAKE_MS = 10_000;
const HANDSHAKES = 500;
const HANDSHAKES_PER_CLIENT = 50;

interface Handshake {
  readonly socket: Socket;
  /** See {@link clientNetwork}. */
  readonly client: string;
  readonly cancel: () => void;
}

/** Watches a server of node:tls or node:http2. The returned function ends running handshakes. */
export function watchHandshakes(server: Server, counts: CountBlock, clock: Clock): () => void {
  /** The oldest first. */
  const underWay = new Map<string, Handshake>();

  const drop = ({ socket }: Handshake, count: number): void => {
    counts[count]! += 1;
    socket.destroy();
  };
  const forget = (name: string): void => {
    underWay.get(name)?.cancel();
    underWay.delete(name);
  };
  const makeRoom = (client: string): void => {
    const all = [...underWay.values()];
    const ofClient = all.filter((handshake) => handshake.client === client);
    const isOver = ofClient.length > HANDSHAKES_PER_CLIENT;
    if (!isOver && all.length <= HANDSHAKES) return;
    const [oldest] = isOver ? ofClient : ofLargestClient(all, ({ client: of }) => of);
    if (oldest) drop(oldest, Count.connectionEvicted);
  };

  server.on('connection', (socket: Socket) => {
    const name = connectionName(socket);
    const client = clientNetwork(socket.remoteAddress ?? '');
    const cancel = clock.after(HANDSHAKE_MS, () => drop(handshake, Count.connectionTimedOut));
    const handshake = { socket, client, cancel };
    underWay.set(name, handshake);
    socket.once('close', () => forget(name));
    makeRoom(client);
  });
  server.on('secureConnection', (socket: Socket) => forget(connectionName(socket)));
  return () => {
    for (const { socket } of underWay.values()) socket.destroy();
  };
}

/** Identifies the open connections of a process, before and after the handshake, and inside HTTP. */
export function connectionName({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
