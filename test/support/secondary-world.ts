/** The program with NSD, Knot and BIND as secondaries of one zone, and random changes of it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { TLS_CERTIFICATE, TLS_KEY } from '../server/tls-credentials.js';
import { runCommand } from './commands.js';
import { freePort } from './free-ports.js';
import { makeQuery } from './message.js';
import { type Program, startProgram, stopProgram } from './program.js';
import { askAll, type ReferenceName } from './reference-servers.js';
import { createSecondary, type Secondary } from './secondaries.js';
import { asSet, serialInAnswer, serialOf, transfer } from './transfer-client.js';
import { until } from './until.js';

const KEY = 'secondaries-key-0123456789-0123456789-0123456789';
export const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
export const APEX = parseName('example.com.');
const EDGE = '192.0.2.200,2001:db8::200';

export interface World {
  readonly directory: string;
  program: Program;
  readonly dotPort: number;
  readonly secondaries: readonly Secondary[];
  key: TsigKey;
  zone: string;
  readonly restart: (signal?: 'SIGTERM' | 'SIGKILL', meanwhile?: () => Promise<void>) => Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>;
  readonly run: (...args: string[]) => ReturnType<typeof runCommand>;
}

export async function startWorld(t: Test): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-secondaries-'));
  mkdirSync(join(directory, 'zones'));
  const host = (_: unknown, index: number): string => `h${index} A 192.0.2.${index % 250}\n`;
  writeFileSync(
    join(directory, 'zones', 'example.com.zone'),
    `$ORIGIN example.com.\n$TTL 300\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n*.wild TXT "w"\nsub NS ns.sub\nns.sub A 192.0.2.3\nMixed MX 10 Mail.Example.com.\n${Array.from({ length: 400 }, host).join('')}`,
  );
  writeFileSync(join(directory, 'cert.pem'), TLS_CERTIFICATE);
  writeFileSync(join(directory, 'key.pem'), TLS_KEY);
  const dotPort = await freePort();
  const environment = {
    ZONEPLANE_DOT_PORT: String(dotPort),
    ZONEPLANE_TLS_CERT: join(directory, 'cert.pem'),
    ZONEPLANE_TLS_KEY: join(directory, 'key.pem'),
    ZONEPLANE_EDGE_ADDRESSES: EDGE,
  };
  const names: readonly ReferenceName[] = ['nsd', 'knot', 'bind'];
  const secondaries: Secondary[] = [];
  for (const name of names) secondaries.push(createSecondary(name, directory, await freePort()));
  const world: World = {
    directory,
    program: await startProgram({ directory, key: KEY, environment, detached: true }),
    dotPort,
    secondaries,
    key: { name: parseName('transfer.test.'), algorithm: 'hmac-sha256', secret: new Uint8Array(0) },
    zone: '',
    async restart(signal = 'SIGTERM', meanwhile) {
      await stopProgram(world.program, signal);
      await meanwhile?.();
      const { dnsPort } = world.program;
      world.program = await startProgram({
        directory,
        key: KEY,
        detached: true,
        environment: { ...environment, ZONEPLANE_DNS_PORT: String(dnsPort) },
      });
      world.program = { ...world.program, dnsPort };
    },
    async call(method, path, body) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${world.program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent });
      return response.json();
    },
    run: (...args) =>
      runCommand(
        {
          ZONEPLANE_DATA_DIR: join(directory, 'data'),
          ZONEPLANE_EDGE_ADDRESSES: EDGE,
          ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8,::1/128',
        },
        ...args,
      ),
  };
  t.teardown(async () => {
    await Promise.all(secondaries.map((secondary) => secondary.stop()));
    await stopProgram(world.program);
    rmSync(directory, { recursive: true, force: true });
  });
  world.zone = (await world.call('GET', '/zones')).result[0].id;
  return world;
}

export async function serialAt(port: number): Promise<number | undefined> {
  const [answer] = await askAll(port, [makeQuery(APEX, 6)], 2000, 3);
  return serialInAnswer(answer);
}

export interface Version {
  readonly serial: number;
  readonly records: readonly string[];
}

export async function versionAt(port: number, key: TsigKey | undefined): Promise<Version> {
  const { records } = await transfer(port, APEX, key ? { key } : {});
  return { serial: serialOf(records[0]!), records: asSet(records) };
}

/** Waits until the copy of every secondary is our version, record by record. Returns it. */
export async function untilInSync(t: Test, { program, secondaries, key }: World, about: string): Promise<Version> {
  let ours = await versionAt(program.dnsPort, key);
  for (const { name, port, log } of secondaries) {
    const isInSync = async (): Promise<boolean> => {
      // Asked first, because a copy costs more.
      if ((await serialAt(port)) !== (await serialAt(program.dnsPort))) return false;
      ours = await versionAt(program.dnsPort, key);
      const copy = await versionAt(port, name === 'bind' ? undefined : key);
      return isDeepStrictEqual(copy, ours);
    };
    await until(
      isInSync,
      `${name} serves our version`,
      () => `${log().slice(-1500)}\n${program.printed().slice(-3000)}`,
    );
    t.pass(`${name}: ${about}`);
  }
  return ours;
}

/** What a test needs beside the printed configuration: it transfers the copies back. */
export function withTransfers(name: ReferenceName, printed: string): string {
  if (name === 'nsd') return printed.replace('  request-xfr', '  provide-xfr: 127.0.0.1 transfer.test\n  request-xfr');
  if (name !== 'knot') return printed;
  return printed
    .replace('template:\n', '  - id: back\n    action: transfer\n    key: transfer.test\ntemplate:\n')
    .replace('acl: zoneplane-notify', 'acl: [zoneplane-notify, back]');
}

let counter = 0;

/** One random change of the zone, by the API. */
export async function changeSomething({ call, zone }: World, pick: (below: number) => number): Promise<void> {
  const path = `/zones/${zone}/dns_records`;
  const list = async (): Promise<{ id: string; name: string; type: string }[]> =>
    (await call('GET', `${path}?per_page=1000&type=A`)).result;
  const records = await list();
  const victim = records[pick(250) % records.length]!;
  const name = `r${counter++}`;
  switch (pick(7)) {
    case 0:
      await call('POST', path, { type: 'A', name, content: `198.51.100.${pick(250)}`, ttl: 60 + pick(200) });
      return;
    case 1:
      await call('DELETE', `${path}/${victim.id}`);
      return;
    case 2:
      await call('PATCH', `${path}/${victim.id}`, { ttl: 60 + pick(200), content: `198.51.100.${pick(250)}` });
      return;
    case 3:
      await call('PATCH', `${path}/${victim.id}`, { proxied: true });
      return;
    case 4:
      await call('POST', path, { type: 'TXT', name, content: `"${'x'.repeat(pick(250))}" "é"`, ttl: 300 });
      return;
    case 5:
      await call('POST', `${path}/batch`, {
        deletes: [{ id: victim.id }],
        posts: [
          { type: 'MX', name, content: 'Mail.Example.NET', priority: pick(20), ttl: 120 },
          { type: 'CNAME', name: `${name}.deep.er`, content: 'target.example.org', ttl: 1 },
        ],
      });
      return;
    default:
      await call('PATCH', `/zones/${zone}/dns_settings`, { soa: { ttl: 300 + pick(200) } });
  }
}
