/**
 * The ports of the edge: 80 and 443 if they can be bound, otherwise 8080 and 8443 with the remedy. They are chosen
 * before it starts.
 */
import type { Settings } from '../../config/schema.js';
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
