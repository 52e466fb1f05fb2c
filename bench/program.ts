/** The whole Zoneplane, DNS and API, for measurements that write, and the writing client. */
import { mkdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { run } from './peers.js';
import { type Started, start } from './processes.js';
import { ZONE } from './workload.js';

export const PROGRAM = fileURLToPath(new URL('../src/main.js', import.meta.url));
export const KEY = 'bench-key-0123456789-0123456789-0123456789';

export interface Running {
  readonly server: Started;
  readonly api: ApiClient;
  /** Path of the zone, `/zones/<id>`. */
  readonly zonePath: string;
}

export interface ApiClient {
  /** One call on a connection that is kept; throws unless the answer is a success. */
  call(method: string, path: string, body?: unknown): Promise<{ readonly result: unknown }>;
  /** The same with a body of another type than JSON. */
  send(path: string, type: string, body: string): Promise<{ readonly result: unknown }>;
  close(): void;
}

/** Starts everything with the zone of a file; API on `port + 1`. */
export async function startProgram(
  directory: string,
  zoneFile: string,
  port: number,
  cpu?: number,
  more: Readonly<Record<string, string>> = {},
): Promise<Running> {
  mkdirSync(join(directory, 'no-zones'));
  const env = environmentOf(directory, port, more);
  run(process.execPath, [PROGRAM, 'zone', 'import', '--init', '--replace', zoneFile, '--origin', ZONE], env);
  return serve(env, port, cpu);
}

/** The same once more, after it was stopped. */
export function startAgain(directory: string, port: number, more: Readonly<Record<string, string>>): Promise<Running> {
  return serve(environmentOf(directory, port, more), port);
}

export function dataDirectoryOf(directory: string): string {
  return join(directory, 'data');
}

/** The settings with which the program serves a directory. */
export function environmentOf(
  directory: string,
  port: number,
  more: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return {
    ZONEPLANE_DATA_DIR: dataDirectoryOf(directory),
    ZONEPLANE_ZONES_DIR: join(directory, 'no-zones'),
    ZONEPLANE_DNS_HOST: '127.0.0.1',
    ZONEPLANE_DNS_PORT: String(port),
    ZONEPLANE_DNS_WORKERS: '1',
    ZONEPLANE_ADMIN_PORT: String(port + 1),
    ZONEPLANE_ADMIN_KEY: KEY,
    ZONEPLANE_RESOLVER_UPSTREAMS: '',
    ZONEPLANE_LOG_LEVEL: 'error',
    ...more,
  };
}

/** Starts the program; resolves when its API answers. */
export async function serve(env: Readonly<Record<string, string>>, port: number, cpu?: number): Promise<Running> {
  const server = await start('zoneplane', [process.execPath, PROGRAM, 'serve'], port, `ns1.${ZONE}`, {
    env,
    ...(cpu === undefined ? {} : { cpu }),
  });
  const api = createApiClient(port + 1);
  const { result } = await firstCall(api, `/zones?name=${ZONE}`);
  return { server, api, zonePath: `/zones/${(result as { id: string }[])[0]!.id}` };
}

/** DNS answers before the API is there. */
async function firstCall(api: ApiClient, path: string): Promise<{ readonly result: unknown }> {
  for (let tries = 0; tries < 1200; tries++) {
    const answer = await api.call('GET', path).catch(() => undefined);
    if (answer) return answer;
    await sleep(50);
  }
  return api.call('GET', path);
}

/** `key`: with which it asks. */
export function createApiClient(port: number, key: string = KEY): ApiClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    close: () => agent.destroy(),
    call: (method, path, body) =>
      callOnce(
        agent,
        { port, key },
        method,
        path,
        body === undefined ? undefined : ['application/json', JSON.stringify(body)],
      ),
    send: (path, type, body) => callOnce(agent, { port, key }, 'POST', path, [type, body]),
  };
}

function callOnce(
  agent: Agent,
  { port, key }: { readonly port: number; readonly key: string },
  method: string,
  path: string,
  body: readonly [type: string, text: string] | undefined,
): Promise<{ readonly result: unknown }> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (body !== undefined) {
      headers['content-type'] = body[0];
      headers['content-length'] = String(Buffer.byteLength(body[1]));
    }
    const call = request({ host: '127.0.0.1', port, method, path: `/client/v4${path}`, headers, agent }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const answered = Buffer.concat(chunks).toString();
        const isJson = answer.headers['content-type']?.includes('json');
        if (answer.statusCode === 200) resolve(isJson ? JSON.parse(answered) : { result: answered });
        else reject(new Error(`${method} ${path}: ${answer.statusCode} ${answered}`));
      });
    });
    call.on('error', reject);
    call.end(body?.[1]);
  });
}
