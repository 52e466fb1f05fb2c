/** The client subnet of a question (RFC 7871): sent along, and what it did. */
import { parseNetwork, printIP } from '../base/ip.js';
import { accountFailure } from '../control/guard/account-failures.js';
import { EdnsOption } from '../dns/codes.js';
import { findOption, type ReadMessage } from '../dns/message.js';

/** The data of the option for the client subnet, and the network as text. */
export interface Subnet {
  readonly text: string;
  readonly option: Uint8Array;
}

export interface ClientSubnetEffect {
  readonly asked: string;
  /** Whether the answer depends on it. */
  readonly used: boolean;
  /** Text for people. */
  readonly detail: string;
}

/** Throws 400 for anything but an address or a network. */
export function readSubnet(text: string): Subnet {
  const network = parseNetwork(text);
  if (!network)
    throw accountFailure('badInput', { reason: `${text.slice(0, 64)} is not a network such as 192.0.2.0/24.` });
  const option = clientSubnetOption(network.address, network.bits);
  return { text: subnetOf(option)!, option };
}

/** The scope of the option in the response says for whom the answer is (RFC 7871 §7.2.1); without the option it is for everybody. */
export function effectOf({ text }: Subnet, message: ReadMessage): ClientSubnetEffect {
  const scope = findOption(message, EdnsOption.clientSubnet)?.[3] ?? 0;
  const used = scope > 0;
  const detail = used
    ? `the scope of the response is ${scope}: the answer is for clients that have the first ${scope} bits in common`
    : 'clients of every subnet get this answer';
  return { asked: text, used, detail };
}

const FAMILIES: Readonly<Record<number, number>> = { 1: 4, 2: 16 };

/** Family, prefix lengths, and as many octets of the address as the prefix needs (RFC 7871 §6). */
function clientSubnetOption(address: Uint8Array, bits: number): Uint8Array {
  const octets = Math.ceil(bits / 8);
  const data = new Uint8Array(4 + octets);
  data[1] = address.length === 4 ? 1 : 2;
  data[2] = bits;
  data.set(address.subarray(0, octets), 4);
  if (bits % 8 > 0) data[3 + octets]! &= 0xff << (8 - (bits % 8));
  return data;
}

/** Such as `192.0.2.0/24`, of the option's data; undefined for a family that is none of addresses. */
export function subnetOf(data: Uint8Array): string | undefined {
  const address = new Uint8Array(FAMILIES[data[1]!] ?? 0);
  address.set(data.subarray(4, 4 + address.length));
  return address.length === 0 ? undefined : `${printIP(address)}/${data[2]}`;
}
