/**
 * Decides which addresses the edge may connect to: public ones and the networks that the operator names, but never its own
 * listeners. The edge connects to the very address that was checked; the name is not resolved again.
 */
import { networkInterfaces } from 'node:os';
import { type CidrSet, isLoopback, isRoutable, parseIP, unmappedIP } from '../../base/ip.js';

export interface OriginGuardOptions {
  /** Networks in addition to public addresses. */
  readonly allowed: CidrSet;
  /** Addresses where clients reach this edge. */
  readonly ownAddresses: readonly Uint8Array[];
  /** The ports it listens on, and those where clients may reach it: 80 and 443 of its own addresses. */
  readonly ownPorts: readonly number[];
}

export interface OriginGuard {
  /** Why the edge may not connect to an address; undefined if it may. */
  refusal(address: string, port: number): string | undefined;
}

export function createOriginGuard({ allowed, ownAddresses, ownPorts }: OriginGuardOptions): OriginGuard {
  const published = new Set(ownAddresses.map(String));
  const local = new Set(localAddresses().map(String));
  return {
    refusal(text, port) {
      const parsed = parseIP(text);
      if (!parsed) return 'not an address';
      const address = unmappedIP(parsed);
      const key = String(address);
      const isOwn = (local.has(key) || isLoopback(address) || isUnspecified(address)) && ownPorts.includes(port);
      if (isOwn || (published.has(key) && [...ownPorts, 80, 443].includes(port))) {
        return `${text} port ${port} is this edge itself`;
      }
      if (isRoutable(address) || allowed.contains(address)) return undefined;
      return `${text} is no public address; edge-allow-origin-cidrs does not name its network`;
    },
  };
}

function isUnspecified(address: Uint8Array): boolean {
  return address.every((octet) => octet === 0);
}

function localAddresses(): Uint8Array[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.flatMap(({ address }) => parseIP(address.replace(/%.*$/, '')) ?? []);
}
