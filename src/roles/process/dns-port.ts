/**
 * Chooses the DNS port: 53 if it can be bound, otherwise 1053 with a remedy. The choice is made once, before the DNS
 * process starts.
 */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

export const DNS_PORT = 53;
export const FALLBACK_PORT = 1053;

export interface PortChoice {
  readonly port: number;
  /** Why it is not 53, and how to change that. */
  readonly remedy?: string;
}

/** Tries UDP and TCP port 53 on the addresses; addresses that this machine lacks are ignored. */
export async function chooseDnsPort(hosts: readonly string[], port: number = DNS_PORT): Promise<PortChoice> {
  for (const host of hosts) {
    const code = (await tryUdp(host, port)) ?? (await tryTcp(host, port));
    if (code === 'EACCES' || code === 'EPERM') return { port: FALLBACK_PORT, remedy: privilegeRemedy(port) };
    if (code === 'EADDRINUSE') return { port: FALLBACK_PORT, remedy: takenRemedy(port) };
  }
  return { port };
}

/** How to serve on a port below 1024 without being root. */
export function privilegeRemedy(port: number): string {
  return (
    `port ${port} needs a privilege: run \`sysctl -w net.ipv4.ip_unprivileged_port_start=${port}\`, or ` +
    `\`setcap cap_net_bind_service=+ep ${process.execPath}\`, or under systemd set ` +
    'AmbientCapabilities=CAP_NET_BIND_SERVICE'
  );
}

function takenRemedy(port: number): string {
  return (
    `port ${port} is in use by another program: find it with \`ss -lntup sport = :${port}\` ` +
    '(for systemd-resolved: DNSStubListener=no in /etc/systemd/resolved.conf), or name other addresses with --dns-host'
  );
}

/** The error code of binding, or undefined when it succeeds. */
function tryUdp(host: string, port: number): Promise<string | undefined> {
  const isV6 = host.includes(':');
  const socket = createSocket({ type: isV6 ? 'udp6' : 'udp4', ipv6Only: isV6 });
  return new Promise((resolve) => {
    socket.once('error', (error) => {
      socket.close();
      resolve((error as NodeJS.ErrnoException).code);
    });
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve(undefined)));
  });
}

/** The same for TCP alone. */
export function tryTcp(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve((error as NodeJS.ErrnoException).code));
    server.listen({ host, port, ipv6Only: host.includes(':'), exclusive: true }, () =>
      server.close(() => resolve(undefined)),
    );
  });
}
