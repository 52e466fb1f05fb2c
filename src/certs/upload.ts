/** Checks certificates that customers upload before they are stored, and arranges their chain. */
import { createPrivateKey, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { isCovered } from '../dns/certified.js';
import {
  type CertificateChain,
  type CertificateDescription,
  ChainError,
  type ChainFault,
  describeCertificate,
  dnsNamesOf,
  parseCertificates,
  readChain,
} from './chain.js';

/**
 * How the chain is arranged. `ubiquitous`: the longest chain of the given certificates, for clients with old roots;
 * `optimal`: the shortest; `force`: checked, but served as given.
 */
export type BundleMethod = 'ubiquitous' | 'optimal' | 'force';

export type UploadFault =
  | ChainFault
  | 'certificate-empty'
  | 'key-empty'
  | 'key-unreadable'
  | 'key-weak'
  | 'several-leaves'
  | 'no-leaf'
  | 'signature-algorithm'
  | 'broken-chain'
  | 'bundle';

export class UploadError extends Error {
  constructor(
    readonly code: UploadFault,
    message: string,
  ) {
    super(message);
    this.name = 'UploadError';
  }
}

export interface Upload {
  /** PEM: the certificate, and the chain to its root. */
  readonly certificate: string;
  /** PEM, not encrypted. */
  readonly key: string;
}

export interface UploadOptions {
  /** Names that must all be covered: A-labels, lower case, a wildcard with `*.`. */
  readonly names: readonly string[];
  readonly bundleMethod: BundleMethod;
  readonly nowMs: number;
}

export interface UploadedCertificate extends CertificateChain {
  readonly keyType: 'rsa' | 'ecdsa';
  /** PKCS #8, DER: a secret. */
  readonly privateKey: Uint8Array;
}

/** Characters of PEM text: a thousand names have room. Reading twice as much takes some dozen milliseconds, several times. */
const MAX_CERTIFICATE_LENGTH = 64 * 1024;
const MAX_KEY_LENGTH = 32 * 1024;
const PEM_KEY = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;
const CURVES: readonly string[] = ['prime256v1', 'secp384r1'];
const LEAST_RSA_BITS = 2048;
/**
 * For each handshake, the thread that serves everybody makes a signature: it takes 4 ms with so many bits, and eight times as long with
 * twice as many.
 */
const MOST_RSA_BITS = 4096;
/** Clients accept no other algorithms. */
const SIGNATURE_ALGORITHM = /^(?:ECDSA|RSASSA-PKCS1-v1_5|RSA-PSS)-SHA(?:256|384|512)$/;

/** One certificate, or one with an RSA key and one with an ECDSA key. Throws an {@link UploadError}. */
export function checkBundle(uploads: readonly Upload[], options: UploadOptions): readonly UploadedCertificate[] {
  if (uploads.length < 1 || uploads.length > 2) {
    throw new UploadError('bundle', 'A bundle has one or two certificates.');
  }
  const checked = uploads.map((upload) => checkUpload(upload, options));
  if (checked.length === 2 && checked[0]!.keyType === checked[1]!.keyType) {
    throw new UploadError('bundle', 'One certificate of a bundle has an RSA key, the other an ECDSA key.');
  }
  return checked;
}

/**
 * Does not check whether the chain ends at a trusted root, because customers may have their own authority. Throws an
 * {@link UploadError}.
 */
export function checkUpload(upload: Upload, { names, bundleMethod, nowMs }: UploadOptions): UploadedCertificate {
  const certificates = readCertificates(upload.certificate);
  const key = readKey(upload.key);
  const leaf = findLeaf(certificates);
  if (!leaf.publicKey.equals(createPublicKey(key))) {
    throw new UploadError('key-mismatch', 'The private key does not belong to the certificate.');
  }
  const keyType = checkStrength(key);
  const description = translated(() => describeCertificate(leaf.raw));
  const missing = names.find((name) => !isCovered(name, description.names));
  if (missing !== undefined) throw new UploadError('name-missing', `The certificate does not cover ${missing}.`);
  const chain = bundleMethod === 'force' ? certificates : arrange(leaf, certificates, bundleMethod);
  for (const certificate of chain) {
    checkAlgorithm(certificate === leaf ? description : translated(() => describeCertificate(certificate.raw)));
  }
  const pem = chain.map((certificate) => certificate.toString()).join('');
  const read = translated(() => readChain(pem, { key, names, nowMs }));
  return { ...read, keyType, privateKey: new Uint8Array(key.export({ format: 'der', type: 'pkcs8' })) };
}

/** Each certificate once, in the given order. */
function readCertificates(pem: string): X509Certificate[] {
  if (pem.trim() === '') throw new UploadError('certificate-empty', 'The certificate is empty.');
  if (pem.length > MAX_CERTIFICATE_LENGTH) {
    throw new UploadError('unreadable', `A chain has no more than ${MAX_CERTIFICATE_LENGTH} characters.`);
  }
  const read = translated(() => parseCertificates(pem));
  return [...new Map(read.map((certificate) => [certificate.fingerprint256, certificate])).values()];
}

function readKey(pem: string): KeyObject {
  if (pem.trim() === '') throw new UploadError('key-empty', 'The private key is empty.');
  if (pem.length > MAX_KEY_LENGTH) {
    throw new UploadError('key-unreadable', `A private key has no more than ${MAX_KEY_LENGTH} characters.`);
  }
  if (ENCRYPTED.test(pem)) {
    throw new UploadError('key-unreadable', 'The private key is encrypted; decrypt it before uploading.');
  }
  const blocks = pem.match(PEM_KEY) ?? [];
  if (blocks.length !== 1) throw new UploadError('key-unreadable', 'There must be exactly one private key in PEM.');
  try {
    return createPrivateKey(blocks[0]!);
  } catch {
    // The library's message about a secret is not passed on.
    throw new UploadError('key-unreadable', 'The private key cannot be read.');
  }
}

/**
 * Some programs create certificates that are their own authority; those with host names still count as server
 * certificates.
 */
function findLeaf(certificates: readonly X509Certificate[]): X509Certificate {
  const leaves = certificates.filter(({ ca, subjectAltName }) => !ca || dnsNamesOf(subjectAltName).length > 0);
  if (leaves.length === 0) {
    throw new UploadError('no-leaf', 'The file has no certificate for a server, only certificates of authorities.');
  }
  if (leaves.length > 1) throw new UploadError('several-leaves', 'There is more than one certificate for a server.');
  return leaves[0]!;
}

function checkStrength(key: KeyObject): 'rsa' | 'ecdsa' {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ec' && CURVES.includes(namedCurve!)) return 'ecdsa';
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= LEAST_RSA_BITS && modulusLength <= MOST_RSA_BITS) {
    return 'rsa';
  }
  throw new UploadError('key-weak', 'The key must be P-256, P-384, or RSA with 2048 to 4096 bits.');
}

function checkAlgorithm({ signatureAlgorithm }: CertificateDescription): void {
  if (!SIGNATURE_ALGORITHM.test(signatureAlgorithm)) {
    throw new UploadError(
      'signature-algorithm',
      `The certificate is signed with ${signatureAlgorithm}; it must be SHA-256, SHA-384 or SHA-512 with RSA or ECDSA.`,
    );
  }
}

/**
 * The end-entity certificate first, each issued by the next, without the root. Every given certificate must be related
 * to it.
 */
function arrange(
  leaf: X509Certificate,
  certificates: readonly X509Certificate[],
  method: 'ubiquitous' | 'optimal',
): readonly X509Certificate[] {
  const paths = pathsFrom([leaf], certificates);
  const used = new Set(paths.flat());
  const stray = certificates.find((certificate) => !used.has(certificate));
  if (stray) {
    const subject = stray.subject?.replaceAll('\n', ', ') || `serial ${stray.serialNumber}`;
    throw new UploadError(
      'broken-chain',
      `The certificate (${subject}) is not between the server certificate and its root.`,
    );
  }
  const served = paths.map(withoutRoot);
  // Among equally good paths the first one is used, because the given order shows the owner's preference.
  const better = method === 'optimal' ? (a: number, b: number) => a < b : (a: number, b: number) => a > b;
  return served.reduce((best, path) => (better(path.length, best.length) ? path : best));
}

/** All paths from a certificate upwards; each contains an authority (a subject with its key) once. */
function pathsFrom(
  path: readonly X509Certificate[],
  certificates: readonly X509Certificate[],
): readonly (readonly X509Certificate[])[] {
  const last = path.at(-1)!;
  const next = certificates.filter(
    (issuer) => issuer.ca && !path.some((passed) => isSameAuthority(passed, issuer)) && isIssuedBy(last, issuer),
  );
  return next.length === 0 ? [path] : next.flatMap((issuer) => pathsFrom([...path, issuer], certificates));
}

function isSameAuthority(one: X509Certificate, other: X509Certificate): boolean {
  return one.subject === other.subject && one.publicKey.equals(other.publicKey);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function withoutRoot(path: readonly X509Certificate[]): readonly X509Certificate[] {
  const last = path.at(-1)!;
  return path.length > 1 && isIssuedBy(last, last) ? path.slice(0, -1) : path;
}

function translated<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof ChainError) throw new UploadError(error.code, error.message);
    throw error;
  }
}
