/** IP addresses as text and octets, and address ranges. The only user of ipaddr.js. */
import ipaddr from 'ipaddr.js';

/** A set of networks such as `10.0.0.0/8`. */
export interface CidrSet {
  readonly texts: readonly string[];
  /** IPv4 addresses in the form of IPv6 count as what they are. */
  contains(address: Uint8Array): boolean;
}

/** Four octets of a dotted quad, or undefined: exactly four decimal parts without leading zeros (RFC 1035 §3.4.1). */
export function parseIPv4(text: string): Uint8Array | undefined {
  const out = new Uint8Array(4);
  let part = 0;
  let value = -1;
  for (let i = 0; i <= text.length; i++) {
    const c = i === text.length ? 46 : text.charCodeAt(i);
    if (c === 46) {
      if (value < 0 || part > 3) return undefined;
      out[part++] = value;
      value = -1;
    } else if (c >= 48 && c <= 57) {
      if (value === 0) return undefined;
      value = (value < 0 ? 0 : value * 10) + c - 48;
      if (value > 255) return undefined;
    } else {
      return undefined;
    }
  }
  return part === 4 ? out : undefined;
}

/** Sixteen octets of an IPv6 address in any form of RFC 4291 §2.2, or undefined; zone identifiers are refused. */
export function parseIPv6(text: string): Uint8Array | undefined {
  const out = new Uint8Array(16);
  const length = text.length;
  let at = 0;
  /** Position of `::`, in octets of `out`. */
  let gap = -1;
  let i = 0;
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return undefined;
    gap = 0;
    i = 2;
  }
  while (i < length) {
    const start = i;
    let group = 0;
    for (; i < length; i++) {
      const digit = hexDigit(text.charCodeAt(i));
      if (digit < 0) break;
      group = (group << 4) | digit;
    }
    if (text.charCodeAt(i) === DOT) {
      const tail = at <= 12 ? parseIPv4(text.slice(start)) : undefined;
      if (!tail) return undefined;
      out.set(tail, at);
      at += 4;
      break;
    }
    if (i === start || i - start > 4 || at === 16) return undefined;
    out[at++] = group >> 8;
    out[at++] = group;
    if (i === length) break;
    if (text.charCodeAt(i++) !== COLON) return undefined;
    if (text.charCodeAt(i) === COLON) {
      if (gap >= 0) return undefined;
      gap = at;
      i++;
    } else if (i === length) {
      return undefined;
    }
  }
  if (gap < 0) return at === 16 ? out : undefined;
  if (at === 16) return undefined;
  out.copyWithin(16 - (at - gap), gap, at);
  out.fill(0, gap, gap + 16 - at);
  return out;
}

const DOT = 46;
const COLON = 58;

/** Value of the hexadecimal digit with this character code, or -1. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

export function parseIP(text: string): Uint8Array | undefined {
  return parseIPv4(text) ?? parseIPv6(text);
}

/** Octets of `::ffff:0:0/96` before the IPv4 address. */
const MAPPED_PREFIX = 12;

/** Whether the sixteen octets at `at` are an IPv4 address in the form of IPv6 (RFC 4291 §2.5.5.2). */
export function isMappedIPv4(octets: Uint8Array, at: number): boolean {
  for (let i = 0; i < 10; i++) if (octets[at + i] !== 0) return false;
  return octets[at + 10] === 0xff && octets[at + 11] === 0xff;
}

/**
 * The address of a peer as the system tells it. A socket for both families tells IPv4 addresses in the form of IPv6; they
 * become what they are. The interface of a link-local address is left out. Undefined when the text is not an address.
 */
export function parsePeerAddress(text: string): Uint8Array | undefined {
  const address = parseIP(text.replace(/%.*$/, ''));
  return address && unmappedIP(address);
}

/** An IPv4 address in the form of IPv6 becomes the four octets that it is; others stay. */
export function unmappedIP(address: Uint8Array): Uint8Array {
  return address.length === 16 && isMappedIPv4(address, 0) ? address.subarray(MAPPED_PREFIX) : address;
}

/** The address of a peer as text. IPv4-mapped addresses, which dual-stack sockets report, become IPv4 addresses. */
export function plainAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/** The network that counts as one client: /64 for IPv6, because a single customer usually has a whole one. */
export function clientNetwork(address: string): string {
  const octets = address.includes(':') ? parsePeerAddress(address) : undefined;
  return octets ? Buffer.from(octets.subarray(0, 8)).toString('hex') : address;
}

/** Every octet in decimal digits. */
const WORDS: readonly string[] = Array.from({ length: 256 }, (_, octet) => String(octet));

/** Canonical text: dotted quad, or RFC 5952 with `::ffff:a.b.c.d` for IPv4-mapped addresses. */
export function printIP(address: Uint8Array): string {
  if (address.length === 4)
    return `${WORDS[address[0]!]}.${WORDS[address[1]!]}.${WORDS[address[2]!]}.${WORDS[address[3]!]}`;
  return isMappedIPv4(address, 0) ? `::ffff:${printIP(address.subarray(MAPPED_PREFIX))}` : printIPv6(address);
}

/** Of the longest runs of zero groups, the first is shortened, if it has more than one group (RFC 5952 §4.2). */
function printIPv6(octets: Uint8Array): string {
  let run = 0;
  let longest = 1;
  let gap = -1;
  for (let at = 0; at < 16; at += 2) {
    run = octets[at] === 0 && octets[at + 1] === 0 ? run + 1 : 0;
    if (run <= longest) continue;
    longest = run;
    gap = at + 2 - 2 * run;
  }
  let out = '';
  for (let at = 0; at < 16; at += 2) {
    if (at === gap) {
      out += '::';
      at += 2 * longest - 2;
      continue;
    }
    if (at > 0 && at !== gap + 2 * longest) out += ':';
    out += ((octets[at]! << 8) | octets[at + 1]!).toString(16);
  }
  return out;
}

/** Whether only this machine reaches the address (RFC 6890 §2.2.2). `address` has 4 or 16 octets. */
export function isLoopback(address: Uint8Array): boolean {
  return ipaddr.fromByteArray(Array.from(address)).range() === 'loopback';
}

/** Whether the public Internet can route to the address; documentation ranges count as routable (v4: §5.10). */
export function isRoutable(address: Uint8Array): boolean {
  const parsed = ipaddr.fromByteArray(Array.from(address));
  if (parsed.kind() === 'ipv6' && (parsed as ipaddr.IPv6).isIPv4MappedAddress()) {
    return isRoutable(address.subarray(12));
  }
  if (address.length === 16 && (address[0]! & 0xe0) !== GLOBAL_UNICAST) return false;
  return parsed.range() === 'unicast' || DOCUMENTATION.contains(address);
}

/** The first three bits of all global unicast addresses of IPv6 (RFC 4291 §2.4). */
const GLOBAL_UNICAST = 0x20;

/** 0.0.0.0 and `::`: connections to them end at this machine. */
export function isUnspecified(address: Uint8Array): boolean {
  return address.every((octet) => octet === 0);
}

/** Whether machines of one organisation use the address among themselves (RFC 1918, RFC 6598, RFC 4193). */
export function isPrivate(address: Uint8Array): boolean {
  return PRIVATE.contains(address);
}

/** Whether clouds tell their virtual machines secrets at the address. */
export function isMetadata(address: Uint8Array): boolean {
  return METADATA.contains(address);
}

/**
 * The IPv4 addresses to which packets for an IPv6 address may go on: IPv4-compatible (RFC 4291 §2.5.5.1), translated (RFC 6052,
 * RFC 7915, RFC 8215), 6to4 (RFC 3056) and Teredo (RFC 4380).
 */
export function embeddedIPv4(address: Uint8Array): Uint8Array[] {
  if (address.length !== 16) return [];
  const last = address.subarray(12);
  if (COMPATIBLE.contains(address)) return isUnspecified(address) || isLoopback(address) ? [] : [last];
  if (TRANSLATED.contains(address)) return [last];
  if (LOCAL_TRANSLATED.contains(address)) {
    // Behind a prefix of 48 bits, or at the end behind a longer one.
    const near = Uint8Array.of(address[6]!, address[7]!, address[9]!, address[10]!);
    return [near, last].filter((form) => !isUnspecified(form));
  }
  if (SIX_TO_FOUR.contains(address)) return [address.subarray(2, 6)];
  return TEREDO.contains(address) ? [last.map((octet) => octet ^ 0xff)] : [];
}

/** The addresses whose leading `bits` are those of `address`, 4 or 16 octets. */
export interface Network {
  readonly address: Uint8Array;
  readonly bits: number;
}

const NETWORK = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/;
const MAPPED_BITS = MAPPED_PREFIX * 8;

/**
 * Parses an address, or an address with a prefix length; undefined for other text. A network of IPv4 addresses in the form of
 * IPv6 becomes one of IPv4, as the addresses that are compared with it do.
 */
export function parseNetwork(text: string): Network | undefined {
  const [, host = '', prefix] = NETWORK.exec(text) ?? [];
  const address = parseIP(host);
  if (!address) return undefined;
  const most = address.length * 8;
  const bits = prefix === undefined ? most : Number(prefix);
  if (bits > most) return undefined;
  const isMapped = most > MAPPED_BITS && bits >= MAPPED_BITS && isMappedIPv4(address, 0);
  return isMapped ? { address: address.subarray(MAPPED_PREFIX), bits: bits - MAPPED_BITS } : { address, bits };
}

/** `other`: not in the form of IPv6 if it is IPv4. */
export function networkContains({ address, bits }: Network, other: Uint8Array): boolean {
  if (address.length !== other.length) return false;
  const whole = bits >>> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== other[i]) return false;
  const rest = bits & 7;
  return rest === 0 || (address[whole]! ^ other[whole]!) >>> (8 - rest) === 0;
}

/**
 * Parses networks; a text without a prefix length is a single address. Throws a RangeError that names the invalid text.
 */
export function parseCidrSet(texts: readonly string[]): CidrSet {
  const networks = texts.map((text) => {
    const network = parseNetwork(text);
    if (!network) throw new RangeError(`'${text}' is not an address or network`);
    return network;
  });
  return {
    texts,
    contains(address) {
      const plain = unmappedIP(address);
      return networks.some((network) => networkContains(network, plain));
    },
  };
}

/** The set of those texts that are networks: what was stored once may have been written in a form that is refused today. */
export function storedCidrSet(texts: readonly string[]): CidrSet {
  return parseCidrSet(texts.filter((text) => parseNetwork(text)));
}

const PRIVATE = parseCidrSet(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']);
const METADATA = parseCidrSet([
  ...['169.254.0.0/16', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::/32', 'fd20:ce::254'],
]);
const COMPATIBLE = parseCidrSet(['::/96']);
const TRANSLATED = parseCidrSet(['64:ff9b::/96', '::ffff:0:0:0/96']);
const LOCAL_TRANSLATED = parseCidrSet(['64:ff9b:1::/48']);
const SIX_TO_FOUR = parseCidrSet(['2002::/16']);
const TEREDO = parseCidrSet(['2001::/32']);
const DOCUMENTATION = parseCidrSet(['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20']);
