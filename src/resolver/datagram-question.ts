/** One question over UDP, from a port of its own (RFC 5452 §9.2), on a connected socket: other senders never get through. */
import { createSocket } from 'node:dgram';
import type { Clock } from '../base/clock.js';

export interface DatagramServer {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

/**
 * Sends `query` and resolves to the first datagram `accept` makes something of; datagrams it makes nothing of are dropped, as
 * forged ones are to be (RFC 5452 §9.1). Resolves to undefined when the time is up; rejects when the server's machine says that
 * nobody listens.
 */
export function askByDatagram<Result>(
  { address, port }: DatagramServer,
  query: Uint8Array,
  accept: (datagram: Uint8Array) => Result | undefined,
  clock: Clock,
  timeoutMs: number,
): Promise<Result | undefined> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  return new Promise<Result | undefined>((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => end(() => resolve(undefined)));
    let ended = false;
    const end = (settle: () => void): void => {
      if (ended) return;
      ended = true;
      cancel();
      socket.close();
      settle();
    };
    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (datagram) => {
      const result = accept(datagram);
      if (result !== undefined) end(() => resolve(result));
    });
    socket.connect(port, address, () => {
      if (!ended) socket.send(query);
    });
  });
}
