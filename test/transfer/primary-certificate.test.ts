/** What is said of primaries whose certificates are wrong, over TLS on loopback. */

import { createHash, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { createServer } from 'node:tls';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '../../src/certs/x509.js';
import { parseName } from '../../src/dns/name.js';
import { transferQuery } from '../../src/transfer/in/primary.js';
import type { PrimaryTls } from '../../src/transfer/in/primary-certificate.js';
import { transferMessages } from '../../src/transfer/in/stream.js';
import { anywhere } from '../support/egress.js';
import { TestClock } from '../support/test-clock.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
const NAME = 'ns1.primary.test';

interface Made {
  readonly subject: string;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: string;
  readonly key: string;
  /** The hash of its public key. */
  readonly pin: Uint8Array;
}

interface Wanted {
  /** Default: itself. */
  readonly by?: Made;
  readonly names?: readonly string[];
  /** Days from now. */
  readonly from?: number;
  readonly until?: number;
}

async function make(subject: string, { by, names = [NAME], from = -10, until = 10 }: Wanted = {}): Promise<Made> {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${subject}`,
    issuer: `CN=${by?.subject ?? subject}`,
    notBefore: new Date(Date.now() + from * DAY_MS),
    notAfter: new Date(Date.now() + until * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: (by?.keys ?? keys).privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(names.length === 0, undefined, true),
      ...(names.length > 0
        ? [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))]
        : []),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const spki = Buffer.from(await webcrypto.subtle.exportKey('spki', keys.publicKey));
  return {
    subject,
    keys,
    certificate: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`,
    pin: new Uint8Array(createHash('sha256').update(spki).digest()),
  };
}

async function listen(t: Test, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that closes each connection as soon as its handshake is done. */
function startTls(t: Test, { certificate: cert, key }: Made, protocols = ['dot']): Promise<number> {
  const server = createServer({ cert, key, ALPNProtocols: protocols }, (socket) => void socket.end());
  server.on('tlsClientError', () => {});
  return listen(t, server);
}

/** Why nothing is transferred from there. */
async function faultAt(port: number, tls: PrimaryTls, clock = new SystemClock()): Promise<unknown> {
  const context = { clock, random: systemRandom, egress: anywhere(clock), signal: new AbortController().signal };
  const query = transferQuery(systemRandom, parseName('tls.test.'), undefined);
  try {
    await transferMessages(context, { address: '127.0.0.1', port, by: 'operator', key: undefined, tls }, query).next();
    return 'it answered';
  } catch (error) {
    const { fault, message } = error as { fault: string; message: string };
    return `${fault}: ${message}`;
  }
}

t.test('names, authorities, dates and keys', async (t) => {
  const authority = await make('authority', { names: [] });
  const other = await make('other authority', { names: [] });
  const { certificate: authorities } = authority;
  const byName: PrimaryTls = { name: NAME, pin: null, authorities };
  const cases: readonly (readonly [what: string, made: Made, tls: (made: Made) => PrimaryTls, said: RegExp])[] = [
    // The handshake is accepted, so the question was sent.
    ['right', await make('a', { by: authority }), () => byName, /^unreachable: it closed the connection/],
    [
      'another name',
      await make('b', { by: authority, names: ['ns2.primary.test', 'ns3.primary.test'] }),
      () => byName,
      /^signature: its certificate is not for ns1\.primary\.test, but for ns2\.primary\.test, ns3\.primary\.test$/,
    ],
    [
      'expired',
      await make('c', { by: authority, from: -10, until: -2 }),
      () => byName,
      /^signature: its certificate is not trusted: it, or that of an authority of it, has expired; its own is valid until 20.*Z$/,
    ],
    [
      'not valid yet',
      await make('d', { by: authority, from: 2 }),
      () => byName,
      /not valid yet; its own is valid from 20.*Z on$/,
    ],
    [
      'another authority',
      await make('e', { by: other }),
      () => byName,
      /an authority has signed it that is not known here/,
    ],
    [
      'signed by itself',
      await make('f'),
      () => byName,
      /no authority has signed it; the hash of its key, for tls_pin, is [0-9a-f]{64}$/,
    ],
    ['its key is known', await make('g'), ({ pin }) => ({ ...byName, name: null, pin }), /closed the connection/],
    ['key and name', await make('h'), ({ pin }) => ({ ...byName, pin }), /closed the connection/],
    ['an expired one whose key is known', await make('i', { until: -2 }), ({ pin }) => ({ ...byName, pin }), /closed/],
    [
      'another key',
      await make('j', { by: authority }),
      () => ({ ...byName, pin: new Uint8Array(32) }),
      /has another key$/,
    ],
    [
      'the key of another name',
      await make('k', { names: ['x.test'] }),
      ({ pin }) => ({ ...byName, pin }),
      /but for x\.test$/,
    ],
  ];
  for (const [what, made, tls, said] of cases) {
    t.match(await faultAt(await startTls(t, made), tls(made)), said, what);
  }
  const made = await make('l');
  const fault = String(await faultAt(await startTls(t, made), byName));
  const hash = Buffer.from(/([0-9a-f]{64})$/.exec(fault)![1]!, 'hex');
  t.strictSame(new Uint8Array(hash), made.pin, 'what is said is what tls_pin takes');
});

t.test('servers that do not do what transfers over TLS need', async (t) => {
  const authority = await make('authority', { names: [] });
  const made = await make('a', { by: authority });
  const tls: PrimaryTls = { name: NAME, pin: null, authorities: authority.certificate };
  t.match(await faultAt(await startTls(t, made, []), tls), /^signature: it does not choose the protocol dot/);
  const clock = new TestClock();
  const silent = await listen(
    t,
    createTcpServer((socket) => void socket.on('error', () => {})),
  );
  let isDone = false;
  const waiting = faultAt(silent, tls, clock as unknown as SystemClock).finally(() => (isDone = true));
  while (!isDone) {
    // The connection is made meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 20));
    clock.advance(200);
  }
  t.match(await waiting, /^unreachable: it does not answer in TLS$/);
  t.match(await faultAt(1, tls), /^unreachable: .*ECONNREFUSED/);
});
