/** The certificates the built-in authority issues for servers (RFC 5280 §4, RFC 9525). */
import { parseIP } from '../../base/ip.js';
import type { Random } from '../../base/random.js';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '../x509.js';
import type { CertificateRequest } from './certificate-request.js';
import { type Issuer, keyIdentifierOf, randomSerial, wholeSeconds } from './issuers.js';

export interface Validity {
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * The subject is empty unless one is given, since a common name ends at 64 octets; so the names are critical (RFC 5280
 * §4.2.1.6).
 * `names`: host names and IP addresses. Nobody asks this authority for a revocation list: there is none.
 */
export async function signLeaf(
  issuer: Issuer,
  names: readonly string[],
  request: CertificateRequest,
  { startMs, endMs }: Validity,
  random: Random,
  subject = '',
): Promise<X509Certificate> {
  return X509CertificateGenerator.create({
    ...(subject !== '' && { subject }),
    serialNumber: randomSerial(random),
    issuer: issuer.certificate.subject,
    notBefore: wholeSeconds(startMs),
    notAfter: wholeSeconds(endMs),
    publicKey: new PublicKey(request.publicKey),
    signingKey: issuer.key,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: await extensionsOf(issuer, names, request),
  });
}

async function extensionsOf(issuer: Issuer, names: readonly string[], { publicKey, isRsa }: CertificateRequest) {
  // In TLS 1.2, the premaster secret may be encrypted to an RSA key (RFC 5246 §7.4.2).
  const usages = KeyUsageFlags.digitalSignature | (isRsa ? KeyUsageFlags.keyEncipherment : 0);
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(usages, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(
      names.map((value) => ({ type: parseIP(value) ? ('ip' as const) : ('dns' as const), value })),
      true,
    ),
    await SubjectKeyIdentifierExtension.create(new PublicKey(publicKey)),
    new AuthorityKeyIdentifierExtension(keyIdentifierOf(issuer.certificate)),
  ];
}
