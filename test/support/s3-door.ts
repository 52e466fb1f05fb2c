/** The S3 API on a real database and a real socket, and clients that sign for it. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { parseCidrSet } from '../../src/base/ip.js';
import { createLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createS3Metrics } from '../../src/bucket/application-metrics.js';
import { createBucket } from '../../src/bucket/buckets.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import type { UploadingStore } from '../../src/bucket/uploads/uploads.js';
import { createKey, type KeyInput } from '../../src/control/access/keys.js';
import { createSecretAccessKeys, secretAccessKeyOf } from '../../src/control/access/secret-access-keys.js';
import type { Context } from '../../src/control/kernel/context.js';
import type { DoorOptions } from '../../src/s3/request.js';
import { createS3Server } from '../../src/s3/server.js';
import { ALL_PURPOSES } from '../../src/store/sealed-columns.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { ADMIN, startControl } from '../control/fixture.js';
import { freePort } from './free-ports.js';

export interface S3Answer {
  readonly status: number;
  readonly text: string;
  readonly octets: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** The code of an error. */
  readonly code: string | undefined;
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** `x-amz-content-sha256`; the digest of the body unless it is given. */
  readonly payload?: string;
  readonly at?: Date;
  /** Changes what was signed before it is sent. */
  readonly change?: (sent: { method: string; path: string; headers: Record<string, string>; body: Buffer }) => void;
  readonly credentials?: Credentials;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3World {
  readonly ctx: Context;
  readonly directory: string;
  readonly objects: UploadingStore;
  /** What listens. */
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  readonly credentials: Credentials;
  readonly client: S3Client;
  /** All that was logged. */
  readonly logged: () => string;
  makeKey(input: Partial<KeyInput>): Promise<Credentials>;
  clientFor(credentials: Credentials): S3Client;
  /** Sends a target as it is, signed by a library that is not ours. */
  send(method: string, path: string, sent?: Sent): Promise<S3Answer>;
}

/** What the library that signs wants of a hash. */
class Sha256 {
  private readonly hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as string);
  }

  update(octets: Uint8Array | string): void {
    this.hash.update(octets);
  }

  async digest(): Promise<Uint8Array> {
    return this.hash.digest();
  }

  reset(): void {}
}

export async function startS3World(t: Test, options: Partial<DoorOptions> = {}): Promise<S3World> {
  const fixture = await startControl(t);
  const { directory } = fixture;
  const { store } = fixture.ctx;
  const clock = new SystemClock();
  const vault = await unlockVault({
    ...{ store, random: systemRandom, purposes: ALL_PURPOSES },
    keys: fileKeys(join(directory, 'master.key')),
  });
  let logged = '';
  const stream = { write: (line: string): void => void (logged += line) };
  const log = createLogger({ level: 'info', pretty: false, destination: stream });
  const secretAccessKeys = createSecretAccessKeys(store, () => vault);
  const ctx: Context = { ...fixture.ctx, clock, random: systemRandom, log, secretAccessKeys };
  const objects = createLocalStore({ store, clock, random: systemRandom, log });
  const server = createS3Server({
    ...{ base: ctx, objects, clock, log, metrics: createS3Metrics(), domain: 's3.test', limit: 1 << 24 },
    ...{ trustedProxies: parseCidrSet([]), acceptsUnsigned: false },
    ...options,
  });
  const port = await freePort();
  await server.listen({ host: '127.0.0.1', port, exclusive: true });
  t.teardown(() => server.close());
  const makeKey = async (input: Partial<KeyInput>): Promise<Credentials> => {
    const { key, secret } = await createKey(ctx, { kind: 'token', name: 's3', email: ADMIN, ...input });
    return { accessKeyId: key.id, secretAccessKey: secretAccessKeyOf(secret) };
  };
  const credentials = await makeKey({});
  await createBucket(ctx, undefined, { name: 'pictures', jurisdiction: 'default' });
  const url = `http://127.0.0.1:${port}`;
  const clientFor = (own: Credentials): S3Client => {
    const client = new S3Client({
      endpoint: url,
      region: 'auto',
      forcePathStyle: true,
      credentials: own,
      maxAttempts: 1,
    });
    t.teardown(() => client.destroy());
    return client;
  };
  return {
    ...{ ctx, directory, objects, port, url, credentials, makeKey, clientFor, client: clientFor(credentials) },
    server: server.server,
    logged: () => logged,
    send: (method, path, sent = {}) => sendSigned(port, credentials, method, path, sent),
  };
}

/** Sends a request that a library signs that is not ours. */
export async function sendSigned(
  port: number,
  own: Credentials,
  method: string,
  path: string,
  { headers = {}, body = '', payload, at = new Date(), change, credentials = own }: Sent,
): Promise<S3Answer> {
  const octets = Buffer.from(body);
  const signer = new SignatureV4({
    ...{ service: 's3', region: 'auto', credentials, sha256: Sha256 as never },
    ...{ uriEscapePath: false, applyChecksum: false },
  });
  const [plain, search = ''] = path.split(/\?(.*)/s);
  const query: Record<string, string> = {};
  for (const pair of search.split('&').filter(Boolean)) {
    const [name, value = ''] = pair.split(/=(.*)/s);
    query[decodeURIComponent(name!)] = decodeURIComponent(value);
  }
  const digest = payload ?? createHash('sha256').update(octets).digest('hex');
  const signed = (await signer.sign(
    {
      ...{ method, protocol: 'http:', hostname: '127.0.0.1', port, path: plain!, query, username: '', password: '' },
      fragment: '',
      headers: { host: `127.0.0.1:${port}`, ...headers, 'x-amz-content-sha256': digest },
    } as never,
    { signingDate: at },
  )) as unknown as { headers: Record<string, string> };
  const sent = { method, path, headers: { ...signed.headers }, body: octets };
  change?.(sent);
  return sendRaw(port, sent);
}

/** Sends a request as it is. */
export function sendRaw(
  port: number,
  { method, path, headers, body }: { method: string; path: string; headers: Record<string, string>; body: Buffer },
): Promise<S3Answer> {
  return new Promise((resolve, reject) => {
    const length = body.length > 0 || method === 'PUT' || method === 'POST' ? { 'content-length': body.length } : {};
    const options = { host: '127.0.0.1', port, method, path, headers: { ...length, ...headers }, agent: false };
    const request = httpRequest(options, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const octets = Buffer.concat(pieces);
        const text = octets.toString();
        const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1];
        resolve({ status: response.statusCode!, octets, text, code, headers: response.headers });
      });
    });
    request.on('error', reject);
    Readable.from(body.length > 0 ? [body] : []).pipe(request);
  });
}
