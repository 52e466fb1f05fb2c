/** DNS over TCP (RFC 7766) on node:net. */
import { createServer, type Server } from 'node:net';
import { Transport } from '../answer/transport.js';
import type { Logger } from '../base/log.js';
import { sampleReports } from '../base/sample-reports.js';
import { type ListenProtocol, listenErrorOf } from './listen-error.js';
import type { StreamConnections } from './streams/stream-connections.js';

export interface StreamListenOptions {
  /** A literal address; `::` accepts IPv6 only, so that `0.0.0.0` can be bound too. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: never. */
  readonly sharing?: PortSharing | undefined;
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

/**
 * Whether a listener shares its port with other processes of the same user: `never` where the system cannot, `later`
 * lets a successor bind beside it, `now` binds beside its predecessor.
 */
export type PortSharing = 'never' | 'later' | 'now';

/** Rejects with a ListenError. */
export async function startTcp(options: StreamListenOptions): Promise<StreamListener> {
  const server = createServer(STREAM_OPTIONS, (socket) => options.connections.accept(socket, Transport.tcp));
  return listen(server, options, 'TCP');
}

/**
 * Binds a server of node:net, node:tls or node:http2. A socket that shares its port can be bound beside those of other
 * programs of this user, so one that does not share it first shows that the port is free.
 */
export async function listen(
  server: Server,
  options: ListenOptions,
  protocol: ListenProtocol,
): Promise<StreamListener> {
  const { host, log, sharing = 'never' } = options;
  let { port } = options;
  if (sharing === 'later') {
    const trial = createServer();
    port = await bind(trial, { host, port, reusePort: false }, protocol);
    await new Promise((resolve) => trial.close(resolve));
  }
  const boundPort = await bind(server, { host, port, reusePort: sharing !== 'never' }, protocol);
  const admit = sampleReports();
  // One cause is a lack of file descriptors: this connection is lost, the others continue.
  server.on('error', (error) => {
    const seen = admit();
    if (seen !== undefined) log.warn({ host, protocol, error: error.message, seen }, 'a connection was not accepted');
  });
  return { address: host, port: boundPort, close: () => void server.close() };
}

interface ListenOptions extends Pick<StreamListenOptions, 'host' | 'port' | 'log'> {
  readonly sharing?: PortSharing | undefined;
}

/** Resolves to the port; rejects with a ListenError. */
function bind(
  server: Server,
  { host, port, reusePort }: { readonly host: string; readonly port: number; readonly reusePort: boolean },
  protocol: ListenProtocol,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(listenErrorOf(error, { protocol, host, port }));
    server.once('error', fail);
    const family = { ipv6Only: host.includes(':'), exclusive: true };
    server.listen({ host, port, backlog: BACKLOG, ...family, ...(reusePort && { reusePort }) }, () => {
      server.off('error', fail);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound ? bound.port : port);
    });
  });
}

/** Whether listeners of several processes can share a port here; a trial shows it. */
export async function canSharePorts(): Promise<boolean> {
  const trials = [createServer(), createServer()] as const;
  try {
    const port = await bind(trials[0], { host: '127.0.0.1', port: 0, reusePort: true }, 'TCP');
    // A Node.js that does not know the option lets the first one bind.
    await bind(trials[1], { host: '127.0.0.1', port, reusePort: true }, 'TCP');
    return true;
  } catch {
    return false;
  } finally {
    await Promise.all(trials.map((trial) => new Promise((resolve) => trial.close(resolve))));
  }
}
