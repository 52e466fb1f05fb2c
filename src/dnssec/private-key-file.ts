/**
 * Private keys in files: the format of BIND (`K<zone>+<algorithm>+<tag>.private`, version 1.3), which Knot, ldns, NSD
 * and PowerDNS read too, and PKCS #8 in PEM.
 */
import { createECDH, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { algorithmMnemonic, isSupportedAlgorithm } from './key.js';
import { SigningKeyError } from './signing-key.js';

export interface PrivateKeyFile {
  readonly key: KeyObject;
  /** Undefined when the file does not say it: the same RSA key serves several algorithms. */
  readonly algorithm: number | undefined;
}

/** The algorithms of RSA keys, which share one form. */
const RSA_ALGORITHMS: ReadonlySet<number> = new Set([5, 7, 8, 10]);
/** Curves by algorithm: the names of node:crypto and of JSON Web Keys. */
const CURVES: ReadonlyMap<number, { readonly curve: string; readonly crv: string }> = new Map([
  [13, { curve: 'prime256v1', crv: 'P-256' }],
  [14, { curve: 'secp384r1', crv: 'P-384' }],
]);
/** The octets before the private key of RFC 8410 §7 in PKCS #8, and the length of that key. */
const EDWARDS: ReadonlyMap<number, { readonly head: string; readonly length: number; readonly type: string }> = new Map(
  [
    [15, { head: '302e020100300506032b657004220420', length: 32, type: 'ed25519' }],
    [16, { head: '3047020100300506032b6571043b0439', length: 57, type: 'ed448' }],
  ],
);
/** Members of a JSON Web Key of RSA (RFC 7518 §6.3), and the fields that hold them. */
const RSA_FIELDS: readonly (readonly [member: string, field: string])[] = [
  ['n', 'modulus'],
  ['e', 'publicexponent'],
  ['d', 'privateexponent'],
  ['p', 'prime1'],
  ['q', 'prime2'],
  ['dp', 'exponent1'],
  ['dq', 'exponent2'],
  ['qi', 'coefficient'],
];

/** Reads a private key file of either format. Throws a SigningKeyError for anything else. */
export function parsePrivateKeyFile(text: string): PrivateKeyFile {
  return /^-----BEGIN /m.test(text) ? parsePem(text) : parseFields(text);
}

/** Writes a private key in the format of BIND. `algorithm`: that of its DNSKEY. */
export function printPrivateKeyFile(key: KeyObject, algorithm: number): string {
  const jwk = key.export({ format: 'jwk' }) as Readonly<Record<string, string>>;
  const fields = RSA_ALGORITHMS.has(algorithm)
    ? RSA_FIELDS.map(([member, field]) => [RSA_NAMES.get(field)!, jwk[member]!] as const)
    : [['PrivateKey', jwk['d']!] as const];
  const lines = fields.map(([name, value]) => `${name}: ${Buffer.from(value, 'base64url').toString('base64')}`);
  const head = ['Private-key-format: v1.3', `Algorithm: ${algorithm} (${algorithmMnemonic(algorithm)})`];
  return `${[...head, ...lines].join('\n')}\n`;
}

const RSA_NAMES: ReadonlyMap<string, string> = new Map(
  ['Modulus', 'PublicExponent', 'PrivateExponent', 'Prime1', 'Prime2', 'Exponent1', 'Exponent2', 'Coefficient'].map(
    (name) => [name.toLowerCase(), name],
  ),
);

function parsePem(text: string): PrivateKeyFile {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch {
    throw new SigningKeyError('unreadable', 'the file has no private key that can be read without a password');
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'rsa') return { key, algorithm: undefined };
  const found =
    type === 'ec'
      ? [...CURVES].find(([, { curve }]) => curve === details?.namedCurve)
      : [...EDWARDS].find(([, known]) => known.type === type);
  if (!found) throw new SigningKeyError('other-algorithm', `keys of the type ${type} do not sign zones`);
  return { key, algorithm: found[0] };
}

/** `Name: value` lines; names are compared without regard to case. Times of key states are ignored. */
function parseFields(text: string): PrivateKeyFile {
  const fields = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) fields.set(name.toLowerCase(), value);
  }
  const version = fields.get('private-key-format');
  if (!version || !/^v1\.\d+$/.test(version)) {
    const message = "the file is not a private key: neither PEM, nor does it have a line 'Private-key-format: v1.3'";
    throw new SigningKeyError('unreadable', message);
  }
  const algorithm = Number.parseInt(fields.get('algorithm') ?? '', 10);
  if (!isSupportedAlgorithm(algorithm)) {
    throw new SigningKeyError('other-algorithm', `keys of the algorithm ${fields.get('algorithm')} are not supported`);
  }
  try {
    const key = keyOfFields(algorithm, fields);
    // A key with missing or wrong parts is noticed here.
    createPublicKey(key);
    return { key, algorithm };
  } catch (error) {
    if (error instanceof SigningKeyError) throw error;
    throw new SigningKeyError('unreadable', 'the private key has missing or wrong parts');
  }
}

function keyOfFields(algorithm: number, fields: ReadonlyMap<string, string>): KeyObject {
  if (RSA_ALGORITHMS.has(algorithm)) {
    const members = RSA_FIELDS.map(([member, field]) => [member, octetsOf(fields, field).toString('base64url')]);
    return createPrivateKey({ key: { kty: 'RSA', ...Object.fromEntries(members) }, format: 'jwk' });
  }
  const octets = octetsOf(fields, 'privatekey');
  const edwards = EDWARDS.get(algorithm);
  if (edwards) {
    if (octets.length !== edwards.length) throw new SigningKeyError('unreadable', 'the private key has a wrong length');
    const key = Buffer.concat([Buffer.from(edwards.head, 'hex'), octets]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  }
  const { curve, crv } = CURVES.get(algorithm)!;
  const point = createECDH(curve);
  point.setPrivateKey(octets);
  // 0x04, then both coordinates (SEC 1 §2.3.3).
  const coordinates = point.getPublicKey().subarray(1);
  const size = coordinates.length / 2;
  const text = (part: Uint8Array): string => Buffer.from(part).toString('base64url');
  const [x, y] = [text(coordinates.subarray(0, size)), text(coordinates.subarray(size))];
  const padded = Buffer.concat([Buffer.alloc(Math.max(0, size - octets.length)), octets]);
  return createPrivateKey({ key: { kty: 'EC', crv, x, y, d: text(padded) }, format: 'jwk' });
}

function octetsOf(fields: ReadonlyMap<string, string>, name: string): Buffer {
  const octets = Buffer.from(fields.get(name) ?? '', 'base64');
  if (octets.length === 0) throw new SigningKeyError('unreadable', `the private key has no field '${name}'`);
  return octets;
}
