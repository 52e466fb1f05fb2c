/** The sockets of the edge: plain HTTP and HTTPS on each address. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { BACKLOG } from '../../base/connections/backlog.js';

export interface EdgePlaces {
  readonly hosts: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Whether other processes of this user may listen there, too: the system then deals connections out to all. */
  readonly reusePort?: boolean;
}

export interface Listeners {
  readonly addresses: readonly string[];
  /** Stops accepting connections. */
  close(): Promise<void>;
}

/** A socket could not be bound. */
export class EdgeListenError extends Error {
  constructor(
    readonly code: string,
    readonly host: string,
    readonly port: number,
  ) {
    super(`${host} port ${port}: ${code}`);
  }
}

/** Skips addresses of networks that this machine lacks, unless it lacks all. Rejects with an {@link EdgeListenError}. */
export async function listenAt(
  { hosts, httpPort, httpsPort, reusePort = false }: EdgePlaces,
  accept: { readonly http: (socket: Socket) => void; readonly https: (socket: Socket) => void },
): Promise<Listeners> {
  const servers: Server[] = [];
  const addresses: string[] = [];
  let missing: EdgeListenError | undefined;
  const closeAll = async (): Promise<void> => {
    await Promise.all(servers.map(close));
  };
  try {
    for (const host of hosts) {
      try {
        await listenTogether({ host, port: httpPort, reusePort }, accept.http, servers);
        await listenTogether({ host, port: httpsPort, reusePort }, accept.https, servers);
        addresses.push(host);
      } catch (error) {
        if (!(error instanceof EdgeListenError) || error.code !== 'EAFNOSUPPORT') throw error;
        missing = error;
      }
    }
    if (addresses.length === 0 && missing) throw missing;
  } catch (error) {
    await closeAll();
    throw error;
  }
  return { addresses, close: closeAll };
}

const KEEP_ALIVE_MS = 60_000;

/**
 * Sockets of this process at each port, to which the system deals connections out. A turn of the event loop takes one connection from each
 * socket: with a single one, whoever comes last waits for as many turns as there are newcomers, each as long as all open connections need.
 */
const SOCKETS = 8;

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
}

/** Adds to `servers`. Where the system does not share ports, it is a single one. */
async function listenTogether(place: ListenPlace, accept: (socket: Socket) => void, servers: Server[]): Promise<void> {
  const canShare = process.platform === 'linux';
  // Sockets that share their port can be bound beside those of other programs of this user.
  if (canShare && !place.reusePort) await close(await listen(place, (socket) => socket.destroy()));
  const first = await listen({ ...place, reusePort: canShare }, accept);
  servers.push(first);
  const { port } = first.address() as AddressInfo;
  for (let others = 1; canShare && others < SOCKETS; others++) {
    try {
      servers.push(await listen({ ...place, port, reusePort: true }, accept));
    } catch (error) {
      if (!(error instanceof EdgeListenError)) throw error;
      return;
    }
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function listen({ host, port, reusePort }: ListenPlace, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer(
    // The system notices clients that have vanished.
    { noDelay: true, allowHalfOpen: false, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS },
    accept,
  );
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new EdgeListenError(error.code ?? '', host, port)));
    const sharing = reusePort ? { reusePort } : {};
    server.listen({ host, port, ipv6Only: host.includes(':'), exclusive: true, backlog: BACKLOG, ...sharing }, () => {
      server.removeAllListeners('error');
      // Later errors concern single connections, for example when no file descriptor is left.
      server.on('error', () => {});
      resolve(server);
    });
  });
}
