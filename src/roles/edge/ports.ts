/**
 * The ports of the edge: 80 and 443 if they can be bound, otherwise 8080 and 8443 with the remedy. They are chosen
 * before it starts.
 */
import { UserError } from '../../base/errors.js';
import type { Settings } from '../../config/schema.js';
import { EdgeListenError } from '../../edge/listen/listeners.js';
import { privilegeRemedy, tryTcp } from '../process/dns-port.js';

export interface EdgePorts {
  readonly edgeHttpPort: number;
  readonly edgeHttpsPort: number;
  /** Why they are not 80 and 443, with the remedy; one line for each. */
  readonly remedies: readonly string[];
}

type Asked = Pick<Settings, 'edgeHost' | 'edgeHttpPort' | 'edgeHttpsPort'>;

export async function chooseEdgePorts({ edgeHost, edgeHttpPort, edgeHttpsPort }: Asked): Promise<EdgePorts> {
  const remedies: string[] = [];
  const choose = async (port: number, fallback: number): Promise<number> => {
    const remedy = await whyNot(edgeHost, port);
    if (remedy === undefined) return port;
    remedies.push(remedy);
    return fallback;
  };
  return {
    edgeHttpPort: edgeHttpPort ?? (await choose(80, 8080)),
    edgeHttpsPort: edgeHttpsPort ?? (await choose(443, 8443)),
    remedies,
  };
}

/** Addresses that this machine lacks are ignored. */
async function whyNot(hosts: readonly string[], port: number): Promise<string | undefined> {
  for (const host of hosts) {
    const code = await tryTcp(host, port);
    if (code === 'EACCES' || code === 'EPERM') return privilegeRemedy(port);
    if (code === 'EADDRINUSE') {
      return `port ${port} is in use by another program: find it with \`ss -lntp sport = :${port}\`, or name other addresses with --edge-host`;
    }
  }
  return undefined;
}

/**
 * Throws a UserError if another program has one of the ports. Sockets that share their port can be bound beside those of other programs
 * of this user, so they do not notice it.
 */
export async function requireFreePorts({ edgeHost, edgeHttpPort, edgeHttpsPort }: Asked): Promise<void> {
  for (const host of edgeHost) {
    for (const port of [edgeHttpPort!, edgeHttpsPort!]) {
      const code = await tryTcp(host, port);
      if (code === 'EADDRINUSE') throw explainListening(new EdgeListenError(code, host, port));
    }
  }
}

export function explainListening({ code, host, port }: EdgeListenError): UserError {
  const place = `the edge cannot listen on ${host} port ${port}`;
  if (code === 'EADDRINUSE') {
    return new UserError(
      `${place}: the port is taken by another program`,
      `Find it with \`ss -lntp sport = :${port}\`, or choose another with --edge-http-port or --edge-https-port.`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') {
    return new UserError(`${place}: the address does not belong to this machine`, 'Name one with --edge-host.');
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new UserError(
      `${place}: permission denied`,
      'Choose ports from 1024 on with --edge-http-port and --edge-https-port.',
    );
  }
  return new UserError(`${place}: ${code}`);
}
