/** HTTPS records that the service adds to proxied names (RFC 9460), so that browsers use HTTP/2 or HTTP/3 at once. */
import { ByteWriter } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import type { RRset } from '../../dns/rr.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';

/** Keys of service parameters (RFC 9460 §14.3.2). */
const ALPN = 1;
const IPV4_HINT = 4;
const IPV6_HINT = 6;

/** The HTTP versions of the edge for a zone. */
export interface HttpVersions {
  readonly http2: boolean;
  readonly http3: boolean;
}

/**
 * The HTTPS RRset of a proxied name with these addresses; undefined when the zone has neither HTTP/2 nor HTTP/3. Only
 * this function decides whether a name is advertised.
 */
export function httpsRRset(
  { http2, http3 }: HttpVersions,
  ipv4: readonly Uint8Array[],
  ipv6: readonly Uint8Array[],
): RRset | undefined {
  const protocols = [...(http3 ? ['h3'] : []), ...(http2 ? ['h2'] : [])];
  if (protocols.length === 0 || ipv4.length + ipv6.length === 0) return undefined;
  const writer = new ByteWriter();
  // ServiceMode with the owner itself as target (RFC 9460 §2.5.2).
  writer.u16(1);
  writer.u8(0);
  writer.u16(ALPN);
  writer.u16(protocols.reduce((length, protocol) => length + 1 + protocol.length, 0));
  for (const protocol of protocols) {
    writer.u8(protocol.length);
    writer.octets(Buffer.from(protocol, 'latin1'));
  }
  writeHint(writer, IPV4_HINT, ipv4);
  writeHint(writer, IPV6_HINT, ipv6);
  return { type: Type.https, ttl: AUTOMATIC_TTL, rdatas: [writer.bytes()] };
}

/** Hints equal the A and AAAA answers, because all three are made together. */
function writeHint(writer: ByteWriter, key: number, addresses: readonly Uint8Array[]): void {
  if (addresses.length === 0) return;
  writer.u16(key);
  writer.u16(addresses.reduce((length, address) => length + address.length, 0));
  for (const address of addresses) writer.octets(address);
}
