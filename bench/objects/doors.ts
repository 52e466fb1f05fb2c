/** The four doors of a bucket, and nginx beside them: how a load tool gets an object, and puts one. */
import { spawnSync } from 'node:child_process';
import { presign } from '../../src/s3/signature/presign.js';
import { environmentOf, KEY, PROGRAM, type Running } from '../program.js';
import { ZONE } from '../workload.js';
import type { Nginx } from './nginx.js';

const SECRET = 'bench-secret';
export const BUCKET = 'bench';
const CUSTOM_DOMAIN = `objects.${ZONE}`;

export interface Door {
  readonly name: string;
  /** Where to connect. */
  readonly port: number;
  readonly fields: readonly string[];
  /** Whether objects can be put there. */
  readonly takes: boolean;
  urlOf(method: 'GET' | 'PUT', key: string): string;
}

export interface S3Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Where everything listens, from the port of DNS on. */
export const portsOf = (port: number) => ({
  dns: port,
  admin: port + 1,
  application: port + 2,
  s3: port + 3,
  s3Tls: port + 4,
  edge: port + 5,
  edgeTls: port + 6,
  nginx: port + 7,
  nginxTls: port + 8,
  unsynced: port + 9,
  unsyncedTls: port + 10,
});

export type ObjectPorts = ReturnType<typeof portsOf>;

/** Settings of the program for all doors. `readable`: keys that the application shows. */
export function settingsOf(ports: ObjectPorts, readable: readonly string[]): Record<string, string> {
  return {
    ZONEPLANE_BUCKET_PORT: String(ports.application),
    ZONEPLANE_BUCKET_ALLOW_LIST: readable.join(','),
    ZONEPLANE_S3: 'on',
    ZONEPLANE_S3_PORT: String(ports.s3),
    ZONEPLANE_S3_TLS_PORT: String(ports.s3Tls),
    ZONEPLANE_EDGE_HOST: '127.0.0.1',
    ZONEPLANE_EDGE_HTTP_PORT: String(ports.edge),
    ZONEPLANE_EDGE_HTTPS_PORT: String(ports.edgeTls),
    ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
    ZONEPLANE_EDGE_ACCESS_LOG: '0',
    AUTH_KEY_SECRET: SECRET,
  };
}

/** Makes the bucket, binds it, gives it a name at the edge, and makes a key for S3 clients. */
export async function prepareBucket(
  running: Running,
  directory: string,
  ports: ObjectPorts,
): Promise<{ readonly account: string; readonly key: S3Key }> {
  const { api, zonePath } = running;
  const { result } = await api.call('GET', '/accounts');
  const account = (result as { id: string }[])[0]!.id;
  await api.call('POST', `/accounts/${account}/r2/buckets`, { name: BUCKET });
  const env = environmentOf(directory, ports.dns, {});
  command(['bucket', 'bind', BUCKET, '--binding', 'BENCH'], env);
  const domain = { domain: CUSTOM_DOMAIN, zoneId: zonePath.split('/').at(-1), enabled: true };
  await api.call('POST', `/accounts/${account}/r2/buckets/${BUCKET}/domains/custom`, domain);
  const key: Record<string, string> = JSON.parse(command(['bucket', 'key', 'create', BUCKET, '--json'], env));
  return { account, key: { accessKeyId: key['access_key_id']!, secretAccessKey: key['secret_access_key']! } };
}

function command(words: readonly string[], env: Readonly<Record<string, string>>): string {
  const result = spawnSync(process.execPath, [PROGRAM, ...words], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  if (result.status !== 0) throw new Error(`${words.join(' ')}: ${result.stderr}${result.stdout}`);
  return result.stdout;
}

export function doorsOf(ports: ObjectPorts, account: string, key: S3Key): readonly Door[] {
  const objects = `/client/v4/accounts/${account}/r2/buckets/${BUCKET}/objects`;
  const endpoint = new URL(`http://127.0.0.1:${ports.s3}`);
  const own = { ...key, endpoint, bucket: BUCKET, expires: 86_400 };
  const at = (port: number, prefix = '') => ({
    port,
    urlOf: (_: string, name: string) => `http://127.0.0.1:${port}${prefix}/${name}`,
  });
  return [
    { name: 'application', takes: true, fields: [`x-custom-auth-key: ${SECRET}`], ...at(ports.application) },
    { name: 'v4', takes: true, fields: [`authorization: Bearer ${KEY}`], ...at(ports.admin, objects) },
    {
      ...{ name: 'S3', takes: true, fields: [], port: ports.s3 },
      urlOf: (method, name) => presign({ ...own, method, key: name, nowMs: Date.now() }),
    },
    {
      ...{ name: 'custom domain', takes: false, fields: [], port: ports.edge },
      urlOf: (_, name) => `http://${CUSTOM_DOMAIN}:${ports.edge}/${name}`,
    },
  ];
}

export const doorOf = ({ port }: Nginx): Door => ({
  ...{ name: 'nginx', takes: true, fields: [], port },
  urlOf: (_, name) => `http://127.0.0.1:${port}/${name}`,
});
