/** Whoever may name an origin cannot have this process calculate in a field of its choice; nor can a client. */
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TlsOptions } from 'node:tls';
import t, { type Test } from 'tap';
import { X509CertificateGenerator } from '../../../src/certs/x509.js';
import { createEgress } from '../../../src/egress/egress.js';

/** Signed by itself. */
async function makeRsaPair(): Promise<{ cert: string; key: string }> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: Buffer.of(1, 0, 1),
  };
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const made = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=origin',
    keys,
    signingAlgorithm: algorithm,
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { cert: made.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n` };
}

/** What the keys were agreed on; the code of the failure where they were not. */
async function agree(t: Test, server: TlsOptions, client: { readonly ecdhCurve?: string } = {}): Promise<string> {
  const listening = createServer(server, (socket) => socket.on('error', () => {}).end());
  listening.on('tlsClientError', (_error, socket) => socket.destroy());
  await once(listening.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => listening.close());
  const { port } = listening.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...client });
  t.teardown(() => socket.destroy());
  return new Promise((resolve) => {
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'error'));
    socket.on('secureConnect', () => resolve((socket.getEphemeralKeyInfo() as { readonly type: string }).type));
  });
}

t.test('keys are agreed on with curves only', async (t) => {
  const pair = await makeRsaPair();
  const finite: TlsOptions = {
    ...pair,
    ...{ ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto', maxVersion: 'TLSv1.2' },
  };
  t.equal(await agree(t, finite), 'DH', 'as Node.js does it');
  createEgress({ allowed: [], own: { has: () => false } });
  t.not(await agree(t, finite), 'DH', 'whoever may connect to others does not');
  t.equal(await agree(t, { ...pair, maxVersion: 'TLSv1.2' }), 'ECDH');
  t.match(await agree(t, pair), /^(ECDH|TLSGroup)$/);
  for (const curve of ['X25519', 'P-256', 'P-384']) {
    t.equal(await agree(t, pair, { ecdhCurve: curve }), 'ECDH', `a client with ${curve}`);
  }
  t.match(await agree(t, pair, { ecdhCurve: 'ffdhe3072' }), /^E|^ERR_/, 'a client with a finite field');
  createEgress({ allowed: [], own: { has: () => false } });
  t.equal(await agree(t, { ...pair, maxVersion: 'TLSv1.2' }), 'ECDH', 'twice does nothing more');
});
