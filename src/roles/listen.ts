/** Listening for HTTP, with what to do about it when it does not work. */
import { UserError } from '../base/errors.js';

/** What is to listen. */
interface Application {
  listen(options: { readonly host: string; readonly port: number; readonly exclusive: boolean }): Promise<unknown>;
}

export interface ListenPlace {
  /** What listens, in words. */
  readonly what: string;
  readonly host: string;
  readonly port: number;
  /** What the names of its settings begin with: `admin` for `--admin-port`. */
  readonly settings: string;
}

/** The URL it listens at. Throws a UserError when the place cannot be had. */
export async function listenFor(app: Application, place: ListenPlace): Promise<string> {
  const { host, port } = place;
  try {
    await app.listen({ host, port, exclusive: true });
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, place);
  }
}

function explain(error: NodeJS.ErrnoException, { what, host, port, settings }: ListenPlace): Error {
  const place = `cannot listen for ${what} on ${host} port ${port}`;
  const variable = (name: string): string => `ZONEPLANE_${settings.toUpperCase().replace('-', '_')}_${name}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return new UserError(
        `${place}: the port is taken by another program`,
        `See which with \`ss -lntp sport = :${port}\`, or choose another with --${settings}-port or ${variable('PORT')}.`,
      );
    case 'EACCES':
    case 'EPERM':
      return new UserError(`${place}: permission denied`, `Choose a port of 1024 or above with --${settings}-port.`);
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
