/** The identifier of a certificate for its authority (RFC 9773 §4.1). */
import { AuthorityKeyIdentifierExtension, X509Certificate } from '../x509.js';

/**
 * The issuer's key identifier and the serial number, each in base64url, separated by a dot: for `replaces` and renewal
 * information. `certificate`: DER. Undefined for a certificate without its issuer's key identifier.
 */
export function certificateIdentifier(certificate: Uint8Array): string | undefined {
  const read = new X509Certificate(new Uint8Array(certificate));
  const { keyId } = read.getExtension(AuthorityKeyIdentifierExtension) ?? {};
  return keyId === undefined ? undefined : `${hexToBase64url(keyId)}.${hexToBase64url(asInteger(read.serialNumber))}`;
}

/** The contents octets of a DER INTEGER. The library omits the leading zero that keeps a number positive. */
function asInteger(hex: string): string {
  return /^[89a-f]/i.test(hex) ? `00${hex}` : hex;
}

function hexToBase64url(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url');
}
