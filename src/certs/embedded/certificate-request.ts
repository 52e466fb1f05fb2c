/** Checks a certificate signing request (PKCS #10, RFC 2986) before the built-in authority signs. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { Pkcs10CertificateRequest, SubjectAlternativeNameExtension } from '../x509.js';
import { refusal } from './refusal.js';

export interface CertificateRequest {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly isRsa: boolean;
}

/** Octets, enough for a hundred long names and a large key. */
const MAX_CSR_OCTETS = 64 * 1024;
const DER_SEQUENCE = 0x30;
const NO_REQUEST = 'The request is not a PKCS #10 request in DER.';
const CURVES: readonly string[] = ['prime256v1', 'secp384r1'];
const LEAST_RSA_BITS = 2048;
/** Checking a signature of a larger key takes too long. */
const MOST_RSA_BITS = 8192;
const LEAST_EXPONENT = 65537n;

/** Throws an AuthorityError `badCSR` unless the request is valid and for exactly these names (RFC 8555 §7.4). */
export async function checkRequest(csr: Uint8Array, names: readonly string[]): Promise<CertificateRequest> {
  if (csr.length > MAX_CSR_OCTETS) throw badCsr(`The request is larger than ${MAX_CSR_OCTETS} octets.`);
  const request = parse(csr);
  const publicKey = new Uint8Array(request.publicKey.rawData);
  const key = checkKey(publicKey);
  await checkSignature(request);
  checkNames(request, names);
  return { publicKey, isRsa: key.asymmetricKeyType === 'rsa' };
}

function parse(csr: Uint8Array): Pkcs10CertificateRequest {
  // The library would parse anything else as PEM (x509.ts explains why that must be avoided).
  if (csr[0] !== DER_SEQUENCE) throw badCsr(NO_REQUEST);
  try {
    return new Pkcs10CertificateRequest(new Uint8Array(csr));
  } catch {
    throw badCsr(NO_REQUEST);
  }
}

function checkKey(publicKey: Uint8Array): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
  } catch {
    throw badCsr('The public key of the request cannot be read.');
  }
  const { namedCurve, modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ec' && CURVES.includes(namedCurve!)) return key;
  if (key.asymmetricKeyType !== 'rsa') throw badCsr('The key must be P-256, P-384 or RSA.');
  if (modulusLength < LEAST_RSA_BITS || modulusLength > MOST_RSA_BITS) {
    throw badCsr(`An RSA key must have ${LEAST_RSA_BITS} to ${MOST_RSA_BITS} bits, not ${modulusLength}.`);
  }
  if (publicExponent < LEAST_EXPONENT || publicExponent % 2n === 0n) {
    throw badCsr(`The exponent of an RSA key must be odd, and ${LEAST_EXPONENT} or more.`);
  }
  return key;
}

async function checkSignature(request: Pkcs10CertificateRequest): Promise<void> {
  let isRight = false;
  try {
    const { hash } = request.signatureAlgorithm as { readonly hash?: { readonly name: string } };
    isRight = hash?.name !== 'SHA-1' && (await request.verify());
  } catch {
    // An algorithm that does not match the key is as invalid as a wrong signature.
  }
  if (!isRight) throw badCsr('The signature of the request is wrong, or its algorithm is not accepted.');
}

/** The common name and the subject alternative names together must be exactly the names of the order. */
function checkNames(request: Pkcs10CertificateRequest, names: readonly string[]): void {
  let items: readonly { readonly type: string; readonly value: string }[];
  let common: string[];
  try {
    items = namesOf(request);
    common = request.subjectName.getField('CN');
  } catch {
    throw badCsr('The names of the request cannot be read.');
  }
  if (items.some(({ type }) => type !== 'dns')) throw badCsr('The request must contain only DNS names.');
  const asked = new Set([...common, ...items.map(({ value }) => value)].map((name) => name.toLowerCase()));
  const expected = new Set(names);
  if (asked.size !== expected.size || [...asked].some((name) => !expected.has(name))) {
    throw badCsr(`The names of the request (${shorten([...asked])}) are not those of the order (${shorten(names)}).`);
  }
}

function namesOf(request: Pkcs10CertificateRequest) {
  const extension = request.extensions.find((item) => item instanceof SubjectAlternativeNameExtension);
  return extension?.names.items ?? [];
}

function shorten(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => name.slice(0, 253));
  return [...shown, ...(names.length > shown.length ? [`${names.length - shown.length} more`] : [])].join(', ');
}

function badCsr(detail: string) {
  return refusal('badCSR', 400, detail);
}
