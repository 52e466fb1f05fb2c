/** Checks certificate chains from outside before they are stored: against the key, the names and the time. */
import { createPublicKey, type KeyObject, X509Certificate as NodeCertificate } from 'node:crypto';
import { isCovered } from '../dns/certified.js';
import { X509Certificate } from './x509.js';

/** The content of a certificate. Times in milliseconds since 1970. */
export interface CertificateDescription {
  /** Hexadecimal digits, lower case. */
  readonly serial: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** The distinguished name, such as `CN=R11, O=Let's Encrypt, C=US`. */
  readonly issuer: string;
  /** DNS names of the subject alternative names, lower case. */
  readonly names: readonly string[];
  /** Such as `ECDSA-SHA256`, `RSASSA-PKCS1-v1_5-SHA256`, `Ed25519`. */
  readonly signatureAlgorithm: string;
  /** SHA-256 of the DER form; hexadecimal digits, lower case. */
  readonly fingerprint: string;
}

export interface CertificateChain extends CertificateDescription {
  /** The end-entity certificate, DER. */
  readonly certificate: Uint8Array;
  /** All certificates as PEM, the end-entity certificate first, without other text. */
  readonly pem: string;
}

export type ChainFault =
  | 'no-certificate'
  | 'unreadable'
  | 'too-many-certificates'
  | 'key-mismatch'
  | 'name-missing'
  | 'not-yet-valid'
  | 'expired'
  | 'wrong-order'
  | 'bad-signature';

export class ChainError extends Error {
  constructor(
    readonly code: ChainFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ChainError';
  }
}

export interface ChainExpectation {
  /** The key of the certificate, private or public. */
  readonly key: KeyObject;
  /** Host names that must all be covered: A-labels, lower case, a wildcard with `*.`. */
  readonly names: readonly string[];
  readonly nowMs: number;
}

const MAX_CERTIFICATES = 10;
/** A certificate is accepted if its issuer's clock is ahead by up to this time. */
const CLOCK_SKEW_MS = 2 * 3_600_000;

/**
 * Reads a chain in PEM, the end-entity certificate first, each signed by the next (RFC 8555 §9.1), with or without the
 * root. Does not check whether the root is trusted. Throws a {@link ChainError}.
 */
export function readChain(pem: string, { key, names, nowMs }: ChainExpectation): CertificateChain {
  return reading(() => {
    const certificates = parseCertificates(pem);
    const leaf = certificates[0]!;
    if (!leaf.publicKey.equals(key.type === 'public' ? key : createPublicKey(key))) {
      throw new ChainError('key-mismatch', 'The certificate is for another key.');
    }
    const description = describeCertificate(leaf.raw);
    const missing = names.find((name) => !isCovered(name, description.names));
    if (missing !== undefined) throw new ChainError('name-missing', `The certificate does not cover ${missing}.`);
    for (const certificate of certificates) checkDates(certificate, nowMs);
    checkOrder(certificates);
    return {
      ...description,
      certificate: new Uint8Array(leaf.raw),
      pem: certificates.map((certificate) => certificate.toString()).join(''),
    };
  });
}

/** `certificate`: DER. Throws a {@link ChainError} when it is invalid. */
export function describeCertificate(certificate: Uint8Array): CertificateDescription {
  return reading(() => {
    const { fingerprint256, raw, subjectAltName } = new NodeCertificate(certificate);
    const read = new X509Certificate(new Uint8Array(raw));
    const { name, hash } = read.signatureAlgorithm as {
      readonly name: string;
      readonly hash?: { readonly name: string };
    };
    return {
      serial: read.serialNumber.toLowerCase(),
      notBeforeMs: read.notBefore.getTime(),
      notAfterMs: read.notAfter.getTime(),
      issuer: read.issuer,
      names: dnsNamesOf(subjectAltName),
      signatureAlgorithm: hash === undefined ? name : `${name}-${hash.name.replace('SHA-', 'SHA')}`,
      fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
    };
  });
}

/** Kind and value of a subject alternative name as OpenSSL prints it. Node puts a value with unusual characters into quotes, as JSON has it. */
const ALTERNATIVE_NAME = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g;

/** Of a text, because a library in JavaScript takes a tenth of a millisecond for each name, and a certificate may have thousands. */
export function dnsNamesOf(subjectAltName = ''): string[] {
  const names: string[] = [];
  for (const [, kind, value] of subjectAltName.matchAll(ALTERNATIVE_NAME)) {
    if (kind === 'DNS') names.push((value!.startsWith('"') ? String(JSON.parse(value!)) : value!).toLowerCase());
  }
  return names;
}

/** RFC 7468 §5; other blocks and text between blocks are ignored. */
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** All certificates of a PEM text, in order: one to ten. Throws a {@link ChainError}. */
export function parseCertificates(pem: string): NodeCertificate[] {
  const blocks = pem.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new ChainError('no-certificate', 'There is no PEM certificate.');
  if (blocks.length > MAX_CERTIFICATES) {
    throw new ChainError('too-many-certificates', `A chain has no more than ${MAX_CERTIFICATES} certificates.`);
  }
  return reading(() => blocks.map((block) => new NodeCertificate(block)));
}

function checkDates(certificate: NodeCertificate, nowMs: number): void {
  const subject = certificate.subject?.replaceAll('\n', ', ') || `serial ${certificate.serialNumber}`;
  if (Date.parse(certificate.validTo) <= nowMs) {
    throw new ChainError('expired', `The certificate (${subject}) expired at ${certificate.validTo}.`);
  }
  if (Date.parse(certificate.validFrom) > nowMs + CLOCK_SKEW_MS) {
    throw new ChainError('not-yet-valid', `The certificate (${subject}) is not valid before ${certificate.validFrom}.`);
  }
}

function checkOrder(certificates: readonly NodeCertificate[]): void {
  for (let i = 0; i + 1 < certificates.length; i++) {
    const [certificate, issuer] = [certificates[i]!, certificates[i + 1]!];
    if (!issuer.ca || !certificate.checkIssued(issuer)) {
      throw new ChainError('wrong-order', `Certificate ${i + 2} of the chain did not issue certificate ${i + 1}.`);
    }
    if (!certificate.verify(issuer.publicKey)) {
      throw new ChainError('bad-signature', `The signature of certificate ${i + 1} of the chain is wrong.`);
    }
  }
}

function reading<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof ChainError) throw cause;
    throw new ChainError('unreadable', 'The certificate cannot be read.', { cause });
  }
}
