/** HTTPS records that the service adds to proxied names (RFC 9460), so that browsers use HTTPS and HTTP/2 at once. */
import { ByteWriter } from '../../base/bytes.js';
import { isCovered } from '../../dns/certified.js';
import { Type } from '../../dns/codes.js';
import { nameOfOwnerKey, toFqdn } from '../../dns/name.js';
import type { RRset } from '../../dns/rr.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';

/** Keys of service parameters (RFC 9460 §14.3.2). */
const ALPN = 1;
const IPV4_HINT = 4;
const IPV6_HINT = 6;

/** The protocols that may be advertised, as ALPN names. The edge does not speak HTTP/3. */
const PROTOCOLS: readonly string[] = ['h2'];

/** The parts of a zone on which its HTTPS records depend. */
export interface HttpsFacts {
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  /** Whether the edge speaks HTTP/2 for the zone. */
  readonly http2: boolean;
  /** Names of the zone's certificates that are deployed and valid now, lower case; wildcards as `*.x`. */
  readonly certifiedNames: readonly string[];
}

/**
 * Whether clients may be told to use HTTPS for an owner. They do not fall back to plain HTTP (RFC 9460 §9.5), so a
 * certificate must cover its name. A wildcard owner also answers for names several labels below, which no certificate
 * covers (RFC 4592 §3.3.1), so it is never advertised.
 */
export function isAdvertised({ apex, http2, certifiedNames }: HttpsFacts, ownerKey: Uint8Array): boolean {
  if (!http2 || certifiedNames.length === 0) return false;
  const name = toFqdn(nameOfOwnerKey(ownerKey, apex));
  return !name.startsWith('*.') && isCovered(name, certifiedNames);
}

/**
 * The HTTPS RRset of a proxied owner with these addresses; undefined when it is not advertised. Only this function
 * makes such records.
 */
export function httpsRRset(
  zone: HttpsFacts,
  ownerKey: Uint8Array,
  ipv4: readonly Uint8Array[],
  ipv6: readonly Uint8Array[],
): RRset | undefined {
  if (ipv4.length + ipv6.length === 0 || !isAdvertised(zone, ownerKey)) return undefined;
  const writer = new ByteWriter();
  // ServiceMode with the owner itself as target (RFC 9460 §2.5.2).
  writer.u16(1);
  writer.u8(0);
  writer.u16(ALPN);
  writer.u16(PROTOCOLS.reduce((length, protocol) => length + 1 + protocol.length, 0));
  for (const protocol of PROTOCOLS) {
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
