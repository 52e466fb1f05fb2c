/** What the system says about a network interface (Linux, /sys/class/net). */
import { readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { parseIP } from '../../base/ip.js';

export interface Interface {
  readonly index: number;
  /** Queues that receive. */
  readonly queues: number;
  /** Octets of a packet. */
  readonly mtu: number;
}

/** Undefined when there is none with this name. */
export function findInterface(name: string): Interface | undefined {
  const place = `/sys/class/net/${name}`;
  try {
    const number = (file: string): number => Number(readFileSync(`${place}/${file}`, 'ascii'));
    const queues = readdirSync(`${place}/queues`).filter((queue) => queue.startsWith('rx-')).length;
    return { index: number('ifindex'), queues: Math.max(1, queues), mtu: number('mtu') };
  } catch {
    return undefined;
  }
}

/** Its addresses on which DNS is served; `served` has those of the settings. In a fixed order. */
export function servedAddresses(name: string, served: readonly string[]): Uint8Array[] {
  const wanted = served.map((host) => (host === '0.0.0.0' || host === '::' ? host : textOf(host)));
  return (networkInterfaces()[name] ?? [])
    .filter(
      ({ family, address }) =>
        wanted.includes(family === 'IPv4' ? '0.0.0.0' : '::') || wanted.includes(textOf(address)),
    )
    .map(({ address }) => parseIP(address)!)
    .sort(Buffer.compare);
}

/** One form for all ways to write an address. */
function textOf(address: string): string {
  return Buffer.from(parseIP(address) ?? []).toString('hex');
}
