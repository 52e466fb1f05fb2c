/** Key pairs and certificate signing requests (PKCS #10, RFC 2986). */
import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { NameError, parseName } from '../dns/name.js';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from './x509.js';

export type KeyType = 'P-256' | 'RSA-2048';

/** The names or the key cannot be used in a certificate signing request. */
class CsrError extends Error {
  constructor(
    readonly code: 'no-names' | 'too-many-names' | 'bad-name' | 'bad-key',
    message: string,
  ) {
    super(message);
    this.name = 'CsrError';
  }
}

/** The limit of public authorities. */
const MAX_NAMES = 100;
/** Labels in lower case; the authority checks further rules. */
const HOST = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

const generate = promisify(generateKeyPair);

/** Generated outside the main thread, because RSA takes about 100 ms. */
export async function generatePrivateKey(type: KeyType = 'P-256'): Promise<KeyObject> {
  const pair =
    type === 'P-256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength: 2048, publicExponent: 0x10001 });
  return pair.privateKey;
}

/**
 * A signed request, DER. `key`: private. `names`: host names in A-labels, lower case, up to 253 octets each, a wildcard
 * with `*.`. The subject is empty, because a common name is limited to 64 octets (RFC 5280 appendix A.1); so the names
 * are critical (§4.2.1.6). Throws a {@link CsrError}.
 */
export async function createCsr(key: KeyObject, names: readonly string[]): Promise<Uint8Array> {
  checkNames(names);
  const algorithm = algorithmOf(key);
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: {
      privateKey: key.toCryptoKey(algorithm, false, ['sign']),
      publicKey: createPublicKey(key).toCryptoKey(algorithm, true, ['verify']),
    },
    signingAlgorithm: algorithm,
    extensions: [
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: 'dns' as const, value })),
        true,
      ),
    ],
  });
  return new Uint8Array(request.rawData);
}

function checkNames(names: readonly string[]): void {
  if (names.length === 0) throw new CsrError('no-names', 'A certificate needs at least one name.');
  if (names.length > MAX_NAMES) {
    throw new CsrError('too-many-names', `A certificate has no more than ${MAX_NAMES} names, not ${names.length}.`);
  }
  for (const name of names) {
    if (!HOST.test(name)) throw new CsrError('bad-name', `'${name.slice(0, 256)}' is not a host name in A-labels.`);
    try {
      parseName(`${name}.`);
    } catch (error) {
      if (!(error instanceof NameError)) throw error;
      throw new CsrError('bad-name', `'${name.slice(0, 256)}' is not a host name: ${error.message}`);
    }
  }
}

function algorithmOf(key: KeyObject) {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  if (namedCurve === 'prime256v1') return { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  if (key.asymmetricKeyType === 'rsa' && modulusLength !== undefined && modulusLength >= 2048) {
    return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  }
  throw new CsrError('bad-key', 'The key of a certificate must be P-256, or RSA with 2048 bits or more.');
}
