/** Chains of certificates that came from elsewhere, checked before they are kept: against the key, the names and the time. */
import { createPublicKey, type KeyObject, X509Certificate as NodeCertificate } from 'node:crypto';
import { SubjectAlternativeNameExtension, X509Certificate } from './x509.js';

/** What a certificate says. Times in milliseconds since 1970. */
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
  /** The certificate itself, DER. */
  readonly certificate: Uint8Array;
  /** All certificates, the one itself first, and nothing else: PEM. */
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
  /** The key the certificate is for: the private or the public one. */
  readonly key: KeyObject;
  /** Host names that must all be covered: A-labels, lower case, a wildcard with `*.`. */
  readonly names: readonly string[];
  readonly nowMs: number;
}

const MAX_CERTIFICATES = 10;
/** A certificate from a clock that is ahead of ours is good. */
const CLOCK_SKEW_MS = 2 * 3_600_000;

/**
 * Reads a chain in PEM, the certificate itself first, each signed by the next (RFC 8555 §9.1), with or without the root. Whether
 * the root is one to trust is not asked. Throws a {@link ChainError}.
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

/** `certificate`: DER. Throws a {@link ChainError} when it is none. */
export function describeCertificate(certificate: Uint8Array): CertificateDescription {
  return reading(() => {
    const { fingerprint256, raw } = new NodeCertificate(certificate);
    const read = new X509Certificate(new Uint8Array(raw));
    const { name, hash } = read.signatureAlgorithm as {
      readonly name: string;
      readonly hash?: { readonly name: string };
    };
    const names = read.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
    return {
      serial: read.serialNumber.toLowerCase(),
      notBeforeMs: read.notBefore.getTime(),
      notAfterMs: read.notAfter.getTime(),
      issuer: read.issuer,
      names: names.filter(({ type }) => type === 'dns').map(({ value }) => value.toLowerCase()),
      signatureAlgorithm: hash === undefined ? name : `${name}-${hash.name.replace('SHA-', 'SHA')}`,
      fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
    };
  });
}

/** Whether a certificate for `certified` names is good for `name`: itself, or a wildcard beside its first label (RFC 9525 §6.3). */
export function isCovered(name: string, certified: readonly string[]): boolean {
  if (certified.includes(name)) return true;
  return !name.startsWith('*.') && name.includes('.') && certified.includes(`*${name.slice(name.indexOf('.'))}`);
}

/** RFC 7468 §5; other blocks and text between are passed over. */
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** All certificates of a PEM text, in order: one to ten. Throws a {@link ChainError}. */
export function parseCertificates(pem: string): NodeCertificate[] {
  const blocks = pem.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new ChainError('no-certificate', 'There is no PEM certificate.');
  if (blocks.length > MAX_CERTIFICATES) {
    throw new ChainError('too-many-certificates', `A chain has ${MAX_CERTIFICATES} certificates at most.`);
  }
  return reading(() => blocks.map((block) => new NodeCertificate(block)));
}

function checkDates(certificate: NodeCertificate, nowMs: number): void {
  const subject = certificate.subject?.replaceAll('\n', ', ') || `serial ${certificate.serialNumber}`;
  if (Date.parse(certificate.validTo) <= nowMs) {
    throw new ChainError('expired', `The certificate (${subject}) expired at ${certificate.validTo}.`);
  }
  if (Date.parse(certificate.validFrom) > nowMs + CLOCK_SKEW_MS) {
    throw new ChainError(
      'not-yet-valid',
      `The certificate (${subject}) is valid from ${certificate.validFrom} on only.`,
    );
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
