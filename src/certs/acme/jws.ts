/** Signed requests (RFC 7515, RFC 8555 §6.2): ES256 with the account's key, HS256 for an external account. */
import { createHash, createHmac, createPrivateKey, createPublicKey, KeyObject, sign } from 'node:crypto';
import { invariant } from '../../base/errors.js';

/** A JWS in its flattened JSON form. */
interface Jws {
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
}

/** Members of a public P-256 key in alphabetical order, as a thumbprint requires (RFC 7638 §3.2). */
interface PublicJwk {
  readonly crv: string;
  readonly kty: string;
  readonly x: string;
  readonly y: string;
}

export interface AccountKey {
  readonly jwk: PublicJwk;
  /** base64url(SHA-256) of the public key (RFC 7638). */
  readonly thumbprint: string;
  /** `payload`: any JSON value; undefined signs an empty payload, as POST-as-GET requires (RFC 8555 §6.3). */
  sign(header: Readonly<Record<string, unknown>>, payload: unknown): Jws;
}

/** `key`: a private P-256 key; a string is PEM. */
export function createAccountKey(key: KeyObject | string): AccountKey {
  const privateKey = key instanceof KeyObject ? key : createPrivateKey(key);
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  invariant(crv === 'P-256' && kty === 'EC' && x && y, 'an account key is a P-256 key');
  const jwk = { crv, kty, x, y };
  return {
    jwk,
    thumbprint: createHash('sha256').update(JSON.stringify(jwk)).digest('base64url'),
    sign: (header, payload) =>
      signed({ alg: 'ES256', ...header }, payload, (input) =>
        sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
      ),
  };
}

/** Binds a new account to an existing external account of the authority (RFC 8555 §7.3.4). `hmacKey`: octets. */
export function bindExternalAccount(keyId: string, hmacKey: Uint8Array, url: string, jwk: PublicJwk): Jws {
  return signed({ alg: 'HS256', kid: keyId, url }, jwk, (input) =>
    createHmac('sha256', hmacKey).update(input).digest(),
  );
}

function signed(header: object, payload: unknown, signatureOf: (input: Buffer) => Buffer): Jws {
  const head = encode(JSON.stringify(header));
  const body = payload === undefined ? '' : encode(JSON.stringify(payload));
  const signature = signatureOf(Buffer.from(`${head}.${body}`)).toString('base64url');
  return { protected: head, payload: body, signature };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}
