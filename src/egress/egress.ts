/**
 * What the program may connect to: the one rule for every connection that something other than the operator's settings leads to.
 *
 * Public addresses, and networks that the operator allows for the purpose; never a listener of this installation, in whatever
 * form its address is written. The rule is asked after each resolution, about the very address that is connected to.
 */
import { limitKeyExchange } from '../base/connections/key-exchange.js';
import {
  embeddedIPv4,
  isLoopback,
  isMetadata,
  isPrivate,
  isRoutable,
  isUnspecified,
  type Network,
  networkContains,
  parseIP,
  printIP,
  unmappedIP,
} from '../base/ip.js';
import type { OwnListeners } from './own-listeners.js';

/**
 * What a connection is for. `origins`: the edge asks an origin. `transfers`: zones from and to other servers, with NOTIFY and
 * questions for serials. `ds-queries`: the name servers of a zone's parent. `http-checks`: tokens on web servers of customers. `sign-in`:
 * identity providers. `webhooks`: receivers of alerts.
 */
export const PURPOSES = ['origins', 'transfers', 'ds-queries', 'http-checks', 'sign-in', 'webhooks'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** A network that may be connected to although it is not public. */
export interface AllowedNetwork {
  readonly network: Network;
  /** Not empty. */
  readonly purposes: readonly Purpose[];
}

/** Who named an address. The operator may name private and loopback ones: other servers of the same network and machine. */
export type NamedBy = 'operator' | 'tenant';

export interface Egress {
  /** Why nothing is connected to an address and port; undefined if it may be. `address`: as text, without a zone identifier. */
  refusal(purpose: Purpose, address: string, port: number, by?: NamedBy): string | undefined;
}

export interface EgressOptions {
  readonly allowed: readonly AllowedNetwork[];
  readonly own: OwnListeners;
}

/** Whether an address may be connected to, as far as that does not depend on the port. 4 or 16 octets. */
export function mayReach(
  allowed: readonly AllowedNetwork[],
  purpose: Purpose,
  octets: Uint8Array,
  by: NamedBy = 'tenant',
): boolean {
  const address = unmappedIP(octets);
  if (isUnspecified(address)) return false;
  const isNamed = allowed.some(
    ({ network, purposes }) => purposes.includes(purpose) && networkContains(network, address),
  );
  const embedded = embeddedIPv4(address);
  // Packets for such an address go on to the IPv4 address.
  if (embedded.length > 0) return isNamed && embedded.every((inner) => mayReach(allowed, purpose, inner, by));
  const isUsual = isRoutable(address) || (by === 'operator' && (isPrivate(address) || isLoopback(address)));
  return isNamed || (isUsual && !isMetadata(address));
}

export function createEgress({ allowed, own }: EgressOptions): Egress {
  limitKeyExchange();
  return {
    refusal(purpose, text, port, by) {
      const parsed = parseIP(text);
      if (!parsed) return `${text} is not an address`;
      const address = unmappedIP(parsed);
      if ([address, ...embeddedIPv4(address)].some((form) => own.has(form, port))) {
        return `${printIP(address)} port ${port} is a listener of this installation`;
      }
      if (isUnspecified(address)) return `${printIP(address)} is the address of no server`;
      if (mayReach(allowed, purpose, address, by)) return undefined;
      return `${printIP(address)} is not a public address, and allow-networks does not name its network for ${purpose}`;
    },
  };
}
