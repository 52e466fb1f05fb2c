/** Which records can be proxied (v4: §5.10). Pure. */
import { equalBytes } from '../../base/bytes.js';
import { isRoutable } from '../../base/ip.js';
import { Type } from '../../dns/codes.js';

/** Types that clients may proxy. */
export function isProxiableType(type: number): boolean {
  return type === Type.a || type === Type.aaaa || type === Type.cname;
}

/** Whether the record could be proxied: always for a CNAME, for an address only if it is routable on the Internet. */
export function isProxiable(type: number, rdata: Uint8Array): boolean {
  if (type === Type.cname) return true;
  return (type === Type.a || type === Type.aaaa) && isRoutable(rdata);
}

/** Whether the record contains one of the service's own addresses, where no origin can be. */
export function isOwnAddress(type: number, rdata: Uint8Array, own: readonly Uint8Array[]): boolean {
  return (type === Type.a || type === Type.aaaa) && own.some((address) => equalBytes(address, rdata));
}
