/** Listens for HTTP, and explains failures with a remedy. */
import type { Server } from 'node:net';
import { BACKLOG, type ListenOptions } from '../../base/connections/backlog.js';
import { UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';

/** The application that listens. */
interface Application {
  readonly server: Server;
  listen(options: ListenOptions): Promise<unknown>;
}

export interface ListenPlace {
  /** The application in words. */
  readonly what: string;
  readonly host: string;
  readonly port: number;
  /** The prefix of its settings: `admin` for `--admin-port`. */
  readonly settings: string;
}

/** Returns the URL at which it listens. Throws a UserError when the address cannot be used. */
export async function listenFor(app: Application, place: ListenPlace, log: Logger): Promise<string> {
  const { host, port } = place;
  try {
    await app.listen({ host, port, exclusive: true, backlog: BACKLOG });
    outlastLostConnections(app.server, place, log);
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, place);
  }
}

/** One cause is a lack of open files: this connection is lost, the others go on. */
function outlastLostConnections(server: Server, { what }: ListenPlace, log: Logger): void {
  let lost = 0;
  server.on('error', (error) => {
    lost++;
    // A flood of them must not fill the disk.
    if ((lost & (lost - 1)) === 0)
      log.warn({ reason: error.message, lost }, `a connection to ${what} was not accepted`);
  });
}

function explain(error: NodeJS.ErrnoException, { what, host, port, settings }: ListenPlace): Error {
  const place = `cannot listen for ${what} on ${host} port ${port}`;
  const variable = (name: string): string => `ZONEPLANE_${settings.toUpperCase().replace('-', '_')}_${name}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return new UserError(
        `${place}: the port is taken by another program`,
        `Find it with \`ss -lntp sport = :${port}\`, or choose another with --${settings}-port or ${variable('PORT')}.`,
      );
    case 'EACCES':
    case 'EPERM':
      return new UserError(`${place}: permission denied`, `Choose a port from 1024 on with --${settings}-port.`);
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return new UserError(
        `${place}: the address does not belong to this machine`,
        `Name one of its addresses with --${settings}-host or ${variable('HOST')}.`,
      );
    default:
      return error;
  }
}
