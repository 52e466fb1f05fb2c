/** DNS over TCP (RFC 7766) on node:net. */
import { createServer, type Server } from 'node:net';
import { Transport } from '../answer/transport.js';
import type { Logger } from '../base/log.js';
import { sampleReports } from './guard.js';
import { type ListenProtocol, listenErrorOf } from './listen-error.js';
import type { StreamConnections } from './stream-connections.js';

export interface StreamListenOptions {
  /** A literal address; `::` accepts IPv6 only, so that `0.0.0.0` can be bound too. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly connections: StreamConnections;
  readonly log: Logger;
}

/** A listening socket. Its connections belong to `connections` and outlive `close`. */
export interface StreamListener {
  readonly address: string;
  readonly port: number;
  /** Stops accepting connections and frees the port. */
  close(): void;
}

const BACKLOG = 1024;
/** Octets that the stream layer accepts before it reports back-pressure. */
export const STREAM_OPTIONS = { allowHalfOpen: true, noDelay: true, highWaterMark: 64 * 1024 } as const;

/** Rejects with a ListenError. */
export async function startTcp(options: StreamListenOptions): Promise<StreamListener> {
  const server = createServer(STREAM_OPTIONS, (socket) => options.connections.accept(socket, Transport.tcp));
  return listen(server, options, 'TCP');
}

/** Binds a server of node:net, node:tls or node:http2. */
export function listen(
  server: Server,
  { host, port, log }: Pick<StreamListenOptions, 'host' | 'port' | 'log'>,
  protocol: ListenProtocol,
): Promise<StreamListener> {
  const admit = sampleReports();
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(listenErrorOf(error, { protocol, host, port }));
    server.once('error', fail);
    server.listen({ host, port, backlog: BACKLOG, ipv6Only: host.includes(':'), exclusive: true }, () => {
      server.off('error', fail);
      // One cause is a lack of file descriptors: this connection is lost, the others continue.
      server.on('error', (error) => {
        const seen = admit();
        if (seen !== undefined)
          log.warn({ host, protocol, error: error.message, seen }, 'a connection was not accepted');
      });
      const bound = server.address();
      const boundPort = typeof bound === 'object' && bound ? bound.port : port;
      resolve({ address: host, port: boundPort, close: () => void server.close() });
    });
  });
}
