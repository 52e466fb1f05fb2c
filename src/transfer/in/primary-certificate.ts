/** How a primary proves over TLS who it is, and what is wrong with its certificate, in words (RFC 9103 §9.3). */
import { createHash, type X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { equalBytes, toHex } from '../../base/bytes.js';

/** How a primary proves who it is. At least one of name and pin. */
export interface PrimaryTls {
  /** The name in its certificate, which an authority has signed. */
  readonly name: string | null;
  /** SHA-256 hash of its public key. With it and without a name, the authority does not matter. */
  readonly pin: Uint8Array | null;
  /** Certificates of further authorities, PEM. */
  readonly authorities: string | undefined;
}

/** The most names of a certificate that a message lists. */
const MOST_NAMES = 5;

/** Why a connection is not one to this primary; undefined: it is. */
export function tlsFault(socket: TLSSocket, { name, pin }: PrimaryTls): string | undefined {
  if (socket.alpnProtocol !== 'dot')
    return 'it does not choose the protocol dot, without which TLS is not for transfers';
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return 'it has no certificate';
  if (pin && !equalBytes(keyHash(certificate), pin)) return 'its certificate has another key';
  if (name === null) return undefined;
  if (!certificate.checkHost(name)) return `its certificate is not for ${name}${otherNames(certificate)}`;
  if (!pin && !socket.authorized) {
    return `its certificate is not trusted: ${trustFault(certificate, String(socket.authorizationError))}`;
  }
  return undefined;
}

function otherNames({ subjectAltName }: X509Certificate): string {
  const names = [...(subjectAltName ?? '').matchAll(/DNS:([^,\s"]+)/g)].slice(0, MOST_NAMES).map(([, name]) => name);
  return names.length > 0 ? `, but for ${names.join(', ')}` : '';
}

/** `code`: that of OpenSSL. */
function trustFault(certificate: X509Certificate, code: string): string {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return `it, or that of an authority of it, has expired; its own is valid until ${instantOf(certificate.validTo)}`;
    case 'CERT_NOT_YET_VALID':
      return `it, or that of an authority of it, is not valid yet; its own is valid from ${instantOf(certificate.validFrom)} on`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return `no authority has signed it; the hash of its key, for tls_pin, is ${toHex(keyHash(certificate))}`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'an authority has signed it that is not known here (ca-bundle)';
    default:
      return code;
  }
}

function instantOf(date: string): string {
  return new Date(date).toISOString();
}

/** The SHA-256 hash of the public key (RFC 7858 §4.2). */
function keyHash({ publicKey }: X509Certificate): Uint8Array {
  const key = publicKey.export({ type: 'spki', format: 'der' });
  return new Uint8Array(createHash('sha256').update(key).digest());
}
