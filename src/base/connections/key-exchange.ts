/**
 * How keys are agreed on with whoever is at the other end of a TLS connection: on curves only. In finite fields, a server chooses the
 * numbers that the client calculates with (RFC 5246 §7.4.3), and a client one that costs the server ten times as much as a curve does
 * (RFC 7919): a tenant's origin with 10,000 bits keeps the thread that connects to it for 0.7 s, with each connection.
 */
import tls from 'node:tls';

const NO_FIELDS = ':!kDHE';
/** Before version 3.5, OpenSSL has no word for its own list. */
const CURVES = isAtLeast(process.versions.openssl, 3, 5)
  ? 'DEFAULT:-ffdhe2048:-ffdhe3072'
  : 'X25519:P-256:X448:P-521:P-384';

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version.split('.').map(Number);
  return first > major || (first === major && second >= minor);
}

/** For all connections of this thread whose contexts are made from now on. Further calls do nothing. */
export function limitKeyExchange(): void {
  if (tls.DEFAULT_CIPHERS.endsWith(NO_FIELDS)) return;
  tls.DEFAULT_CIPHERS += NO_FIELDS;
  tls.DEFAULT_ECDH_CURVE = CURVES;
}
