/** Checks what clients write about keys, networks and peers. */
import { fromBase64, fromHex } from '../../base/bytes.js';
import { parseIP, parseNetwork } from '../../base/ip.js';
import { lowerName, NameError, parseName } from '../../dns/name.js';
import { parseTsigAlgorithm, type TsigAlgorithm } from '../../dns/tsig.js';
import { badBody } from '../kernel/errors.js';
import { parseHostName } from '../rules/names.js';

const LONGEST_NAME = 255;
/** Octets of a secret. */
const LEAST_SECRET = 8;
const MOST_SECRET = 512;
/** The largest networks (v4: secondary DNS). */
const LEAST_BITS = { 4: 24, 16: 64 } as const;
const DEFAULT_PORT = 53;
/** RFC 9103 §7.1. */
const TLS_PORT = 853;
const PIN_OCTETS = 32;

/** A name that people gave to something. */
export function readLabel(name: string): string {
  if (name.trim() === '' || name.length > LONGEST_NAME) {
    throw badBody(`a name has 1 to ${LONGEST_NAME} characters`, '/name');
  }
  return name;
}

export interface KeyInput {
  readonly name: string;
  readonly algo: string;
  /** Base 64. */
  readonly secret: string;
}

export interface ReadKey {
  /** Wire name, lower case. */
  readonly keyName: Uint8Array;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Uint8Array;
}

export function readKey({ name, algo, secret: text }: KeyInput): ReadKey {
  const algorithm = parseTsigAlgorithm(algo);
  if (!algorithm) throw badBody('algo names no algorithm of TSIG, such as hmac-sha256', '/algo');
  const secret = fromBase64(text.trim());
  if (!secret || secret.length < LEAST_SECRET || secret.length > MOST_SECRET) {
    throw badBody(`secret is base 64 of ${LEAST_SECRET} to ${MOST_SECRET} octets`, '/secret');
  }
  return { keyName: readKeyName(name), algorithm, secret };
}

function readKeyName(name: string): Uint8Array {
  try {
    const wire = parseName(name.endsWith('.') ? name : `${name}.`);
    if (wire.length > 1) return lowerName(wire);
  } catch (error) {
    if (!(error instanceof NameError)) throw error;
  }
  throw badBody('the name of a TSIG key is a domain name', '/name');
}

/** Returns the text as it was sent. */
export function readRange(text: string): string {
  const network = parseNetwork(text);
  if (!network) throw badBody('ip_range is a network, such as 192.0.2.53/32', '/ip_range');
  const least = LEAST_BITS[network.address.length as 4 | 16];
  if (network.bits < least) throw badBody(`ip_range is at most a /${least}`, '/ip_range');
  return text;
}

export interface PeerInput {
  readonly name: string;
  readonly ip?: string | null | undefined;
  readonly port?: number | null | undefined;
  readonly ixfr_enable?: boolean | null | undefined;
  readonly tsig_id?: string | null | undefined;
  readonly tls_name?: string | null | undefined;
  readonly tls_pin?: string | null | undefined;
}

export interface ReadPeer {
  readonly name: string;
  readonly ip: string | null;
  readonly port: number;
  readonly ixfr_enable: number;
  readonly tls_name: string | null;
  readonly tls_pin: Uint8Array | null;
}

export function readPeer(input: PeerInput): ReadPeer {
  const { name, ip, port, ixfr_enable: ixfrEnable, tls_name: tlsName, tls_pin: tlsPin } = input;
  if (ip && !parseIP(ip)) throw badBody('ip is an address, such as 192.0.2.53', '/ip');
  if (typeof port === 'number' && !(Number.isInteger(port) && port >= 0 && port <= 65535)) {
    throw badBody('port is a number from 1 to 65535', '/port');
  }
  const tls = { tls_name: tlsName ? readHost(tlsName) : null, tls_pin: tlsPin ? readPin(tlsPin) : null };
  const defaultPort = tls.tls_name === null && tls.tls_pin === null ? DEFAULT_PORT : TLS_PORT;
  // Clients without a port send 0.
  return { name: readLabel(name), ip: ip || null, port: port || defaultPort, ixfr_enable: ixfrEnable ? 1 : 0, ...tls };
}

function readHost(text: string): string {
  const name = parseHostName(text);
  if (name === undefined) throw badBody('tls_name is a host name, such as ns1.example.com', '/tls_name');
  return name;
}

/** A SHA-256 hash in hexadecimal digits or base 64. */
function readPin(text: string): Uint8Array {
  const octets = /^[0-9a-f]{64}$/i.test(text) ? fromHex(text) : fromBase64(text);
  if (octets?.length !== PIN_OCTETS) throw badBody('tls_pin is a SHA-256 hash in hexadecimal or base 64', '/tls_pin');
  return octets;
}
