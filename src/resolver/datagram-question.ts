/**
 * One query over UDP, from its own port (RFC 5452 §9.2). The socket is connected, so datagrams of other senders are not
 * received.
 */
import { createSocket } from 'node:dgram';
import type { Clock } from '../base/clock.js';

export interface DatagramServer {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

/**
 * Sends `query` and resolves to the first result that `accept` returns. Datagrams for which it returns undefined are
 * dropped, because they may be forged (RFC 5452 §9.1). Resolves to undefined after the timeout; rejects when no
 * datagram can be sent there, or when the server's host reports that the port is closed.
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
    // Without a route to the address, the callback gets an error.
    socket.connect(port, address, (error?: Error) => {
      if (error) end(() => reject(error));
      else if (!ended) socket.send(query);
    });
  });
}
