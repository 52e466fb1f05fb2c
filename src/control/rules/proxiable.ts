/** Which records can be proxied (v4: §5.10). Pure. */
import { equalBytes } from '../../base/bytes.js';
import { unmappedIP } from '../../base/ip.js';
import { Type } from '../../dns/codes.js';
import { type AllowedNetwork, mayReach } from '../../egress/egress.js';

/** Types that clients may proxy. */
export function isProxiableType(type: number): boolean {
  return type === Type.a || type === Type.aaaa || type === Type.cname;
}

/**
 * Whether the record could be proxied: always for a CNAME, for an address only if the edge may connect to it (`origins`: networks
 * beside public addresses), or for {@link NOWHERE}, with which names without an origin are proxied.
 */
export function isProxiable(type: number, rdata: Uint8Array, origins: readonly AllowedNetwork[]): boolean {
  if (type === Type.cname) return true;
  if (type !== Type.a && type !== Type.aaaa) return false;
  return mayReach(origins, 'origins', rdata) || equalBytes(rdata, NOWHERE_OCTETS);
}

/** The address of names without an origin, such as those of buckets: packets to it are discarded (RFC 6666). */
export const NOWHERE = '100::';
const NOWHERE_OCTETS = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

/** Whether the record contains one of the service's own addresses, where no origin can be; also in its IPv4-mapped form. */
export function isOwnAddress(type: number, rdata: Uint8Array, own: readonly Uint8Array[]): boolean {
  if (type !== Type.a && type !== Type.aaaa) return false;
  const target = unmappedIP(rdata);
  return own.some((address) => equalBytes(address, target));
}
