/** The client subnet of a query (RFC 7871): read where an answer depends on it, and echoed with its scope. */
// hot
import { EdnsOption } from '../../dns/codes.js';
import type { Query } from '../query.js';

/** One subnet. The address is padded with zeros. */
export interface Subnet {
  readonly address: Uint8Array;
  /** Octets of an address of its family: 4 or 16; 0 for none. */
  length: number;
  /** Leading bits that were sent. */
  source: number;
  /** Leading bits for which the answer holds; -1: the option is not echoed. */
  scope: number;
}

export function createSubnet(): Subnet {
  return { address: new Uint8Array(16), length: 0, source: 0, scope: -1 };
}

/** Family, source and scope (§6). */
const HEADER = 4;
const IPV4 = 1;
const IPV6 = 2;

/** Octets that the echoed option takes. */
export function subnetOptionLength(query: Query, subnet: Subnet): number {
  return subnet.scope < 0 ? 0 : 4 + query.subnetLength;
}

/** Reads the option of a query that has one; false when it is malformed (§7.1.2). */
export function readSubnet(query: Query, subnet: Subnet): boolean {
  const { request, subnetAt: at, subnetLength } = query;
  const { address } = subnet;
  address.fill(0);
  subnet.length = 0;
  subnet.source = 0;
  if (subnetLength < HEADER) return false;
  const family = (request[at]! << 8) | request[at + 1]!;
  const source = request[at + 2]!;
  const octets = subnetLength - HEADER;
  // Family 0 only asks that nothing of the client is told.
  if (family !== IPV4 && family !== IPV6) return family === 0 && source === 0 && octets === 0 && request[at + 3] === 0;
  const length = family === IPV4 ? 4 : 16;
  if (source > length * 8 || octets !== (source + 7) >> 3 || request[at + 3] !== 0) return false;
  for (let i = 0; i < octets; i++) address[i] = request[at + HEADER + i]!;
  if ((source & 7) !== 0 && (address[octets - 1]! & (0xff >>> (source & 7))) !== 0) return false;
  subnet.length = length;
  subnet.source = source;
  return true;
}

/** Writes the option with its scope, or nothing; returns the position after it. */
export function writeSubnet(query: Query, subnet: Subnet, out: Uint8Array, from: number): number {
  if (subnet.scope < 0) return from;
  const { request, subnetAt, subnetLength } = query;
  let at = from;
  out[at++] = EdnsOption.clientSubnet >>> 8;
  out[at++] = EdnsOption.clientSubnet;
  out[at++] = subnetLength >>> 8;
  out[at++] = subnetLength;
  for (let i = 0; i < subnetLength; i++) out[at + i] = request[subnetAt + i]!;
  out[at + 3] = subnet.scope;
  return at + subnetLength;
}
