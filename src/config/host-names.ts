/** Host names, and addresses with a port. */
import { parseIP } from '../base/ip.js';
import { isAddress } from './values.js';

/** Host (name or address) and port of an upstream resolver. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Host names of letters, digits and hyphens (RFC 1123 §2.1), as required for name servers. */
export function isHostName(entry: string): boolean {
  const name = entry.replace(/\.$/, '');
  return name.length <= 253 && name.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}

/** `host`, `host:port`, `[IPv6]:port` or a bare IPv6 address; the default port is 53. Undefined for other text. */
export function parseHostPort(entry: string): HostPort | undefined {
  if (parseIP(entry)) return { host: entry, port: 53 };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(entry);
  if (!match) return undefined;
  const host = match[1] ?? match[2]!;
  const portNumber = match[3] === undefined ? 53 : Number(match[3]);
  if (portNumber < 1 || portNumber > 65535) return undefined;
  if (match[1] !== undefined ? !parseIP(host) : !isAddress(host) && !isHostName(host)) return undefined;
  return { host, port: portNumber };
}

export function printHostPort(address: HostPort): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}
