/** The program with one zone and a key that may update it, for tests of dynamic updates. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { type Program, startProgram, stopProgram } from './program.js';
import { asSet, serialOf, transfer } from './transfer-client.js';

const KEY = 'updates-key-0123456789-0123456789-0123456789';
export const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
export const APEX = parseName('example.com.');
export const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
export const ZONE = `$ORIGIN example.com.
$TTL 300
@ SOA ns hostmaster 1 3600 600 86400 60
@ NS ns
@ NS ns2.example.net.
@ MX 10 mail
ns A 192.0.2.1
a A 192.0.2.10
a A 192.0.2.11
a TXT "one"
mail A 192.0.2.25
alias CNAME a.example.com.
*.wild TXT "w"
deep.ent TXT "below an empty name"
sub NS ns.sub
ns.sub A 192.0.2.53
`;

export interface World {
  readonly directory: string;
  readonly program: Program;
  readonly zone: string;
  readonly account: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>;
}

const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';

export function policyFor(zone: string, records?: { names?: string[]; types?: string[] }) {
  const resources = { [`com.cloudflare.api.account.zone.${zone}`]: '*' };
  return { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources, ...(records && { records }) };
}

/** `more`: settings of the program. */
export async function startWorld(t: Test, more: NodeJS.ProcessEnv = {}): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-updates-'));
  mkdirSync(join(directory, 'zones'));
  writeFileSync(join(directory, 'zones', 'example.com.zone'), ZONE);
  const environment = { ZONEPLANE_TRANSFER_ALLOW: '127.0.0.1/32', ...more };
  const program = await startProgram({ directory, key: KEY, environment });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const call: World['call'] = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent });
    return response.json();
  };
  const [zone] = (await call('GET', '/zones')).result;
  const world = { directory, program, zone: zone.id, account: zone.account.id, call };
  await makeKey(world, 'update.test.', [policyFor(zone.id)]);
  return world;
}

export async function makeKey({ call, account }: World, name: string, policies?: unknown): Promise<void> {
  const body = { name, algo: 'hmac-sha256.', secret: SECRET, ...(policies !== undefined && { policies }) };
  const made = await call('POST', `/accounts/${account}/secondary_dns/tsigs`, body);
  if (!made.success) throw new Error(JSON.stringify(made));
}

/** The zone as it is transferred, without its SOA. */
export async function copyOf(port: number): Promise<{ serial: number; records: string[] }> {
  const { records } = await transfer(port, APEX);
  const data = asSet(records.filter(({ type }) => type !== 6));
  return { serial: serialOf(records[0]!), records: data };
}
