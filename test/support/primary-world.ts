/** The real program with a TSIG key, beside servers that are primaries of its zones. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { type Program, startProgram, stopProgram } from './program.js';

const API_KEY = 'primaries-key-0123456789-0123456789-0123456789-01';
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
/** Of the key k.test, base 64. */
export const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
export const KEY: TsigKey = {
  name: parseName('k.test.'),
  algorithm: 'hmac-sha256',
  secret: new Uint8Array(Buffer.from(SECRET, 'base64')),
};

export interface World {
  /** Credential of the API. */
  readonly apiKey: string;
  readonly directory: string;
  program: Program;
  readonly restart: (signal?: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>;
  readonly account: string;
  readonly key: string;
}

export async function startWorld(t: Test): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-primaries-'));
  mkdirSync(join(directory, 'zones'));
  const options = { directory, key: API_KEY, detached: true };
  let program = await startProgram(options);
  const call: World['call'] = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent });
    return response.json();
  };
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const account = (await call('GET', '/accounts')).result[0].id;
  const tsig = { name: 'k.test.', algo: 'hmac-sha256.', secret: SECRET };
  const key = (await call('POST', `/accounts/${account}/secondary_dns/tsigs`, tsig)).result.id;
  return {
    apiKey: API_KEY,
    directory,
    get program() {
      return program;
    },
    async restart(signal = 'SIGTERM') {
      await stopProgram(program, signal);
      const { dnsPort } = program;
      program = await startProgram({ ...options, environment: { ZONEPLANE_DNS_PORT: String(dnsPort) } });
      program = { ...program, dnsPort };
    },
    call,
    account,
    key,
  };
}
