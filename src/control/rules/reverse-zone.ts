/** Reverse zones of networks (RFC 1035 §3.5, RFC 3596 §2.5, RFC 2317), for people who type a network as a zone's name. Pure. */
import { parseIP, printIP } from '../../base/ip.js';

interface Family {
  readonly suffix: string;
  /** Bits for which a reverse name has a label. */
  readonly step: number;
  /** What the lengths of prefixes of its zones are, in words. */
  readonly steps: string;
  /** Prefix length of the zone in which people look for the PTR record of an address. */
  readonly usual: number;
}

const IPV4: Family = { suffix: 'in-addr.arpa', step: 8, steps: '/8, /16 or /24', usual: 24 };
const IPV6: Family = { suffix: 'ip6.arpa', step: 4, steps: 'a multiple of four bits', usual: 64 };

/**
 * What to do instead of making a zone with the name `text`, when that is an address or a network such as `192.0.2.0/24`;
 * otherwise undefined. One or two sentences without a final dot, whose last word is the name of a reverse zone if there is one.
 */
export function reverseZoneInstead(text: string): string | undefined {
  const [, address = '', digits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const octets = parseIP(address);
  if (!octets) return undefined;
  const family = octets.length === 4 ? IPV4 : IPV6;
  const most = octets.length * 8;
  const length = digits === undefined ? most : Number(digits);
  if (length > most) return `${text} is not a network, because its prefix is longer than ${most} bits`;
  if (length < family.step) return `${text} is a network, and no reverse zone is as large`;
  const network = masked(octets, length);
  const printed = `${printIP(network)}/${length}`;
  const zone = reverseName(network, length, family);
  if (length === most) {
    const why = digits === undefined && family === IPV4 ? ', and names of zones do not end in a number' : '';
    return `${address} is an address${why}. Its PTR record belongs in the reverse zone ${usualZone(network, family)}`;
  }
  if (length % family.step === 0) return `${printed} is a network. Its reverse zone is ${zone}`;
  if (family === IPV4 && length > IPV4.usual) {
    const parent = usualZone(network, IPV4);
    return `${printed} is a part of the reverse zone ${parent}. It can be delegated from there with CNAME records (RFC 2317), for example to the zone ${network[3]}/${length}.${parent}`;
  }
  const whole = Math.ceil(length / family.step) * family.step;
  return `${printed} is a network without a reverse zone of its own, because the prefix of one is ${family.steps}. It has ${2 ** (whole - length)} zones of /${whole}, the first of which is ${reverseName(network, whole, family)}`;
}

/** The reverse name of an address. */
export function reverseOfAddress(address: Uint8Array): string {
  return reverseName(address, address.length * 8, address.length === 4 ? IPV4 : IPV6);
}

/** The address of a reverse name without final dot; undefined for other names. */
export function addressOfReverse(name: string): Uint8Array | undefined {
  const [, labels = '', family] = /^([0-9a-f.]+)\.(in-addr|ip6)\.arpa$/.exec(name) ?? [];
  const parts = labels.split('.').reverse();
  if (family === 'in-addr') return parts.length === 4 ? parseIP(parts.join('.')) : undefined;
  if (parts.length !== 32 || parts.some((part) => part.length !== 1)) return undefined;
  return parseIP(parts.join('').replace(/(.{4})(?=.)/g, '$1:'));
}

function usualZone(network: Uint8Array, family: Family): string {
  return reverseName(network, family.usual, family);
}

/** The address with zeros behind its first bits. */
function masked(octets: Uint8Array, length: number): Uint8Array {
  return octets.map((octet, i) => octet & (0xff00 >> Math.min(8, Math.max(0, length - i * 8))));
}

/** The name of as many whole labels as the prefix has. */
function reverseName(network: Uint8Array, length: number, { suffix, step }: Family): string {
  const labels =
    step === 8
      ? [...network].map(String)
      : [...network].flatMap((octet) => [(octet >> 4).toString(16), (octet & 15).toString(16)]);
  return [...labels.slice(0, Math.floor(length / step)).reverse(), suffix].join('.');
}
