/** What the real program connects to for a tenant: nothing of its own, whatever is allowed. */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { freePort } from '../support/free-ports.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { until } from '../support/until.js';

const KEY = 'reach-key-0123456789-0123456789-0123456789';

interface Answer {
  readonly success: boolean;
  readonly result: { readonly id: string };
  readonly errors: unknown;
}

interface Room {
  readonly program: Program;
  readonly directory: string;
  readonly originPort: number;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly call: (method: string, path: string, body?: unknown) => Promise<{ status: number; json: Answer }>;
  /** What the edge answers for a host. */
  readonly get: (host: string, path?: string) => Promise<{ status: number; body: string }>;
}

async function startRoom(t: Test, allow: string, more: NodeJS.ProcessEnv = {}): Promise<Room> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-reach-'));
  const origin = createServer((_, response) => response.end('the origin'));
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const program = await startProgram({
    directory,
    key: KEY,
    environment: {
      ZONEPLANE_EDGE: 'on',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
      ZONEPLANE_EDGE_HTTP_PORT: String(httpPort),
      ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
      ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
      ZONEPLANE_ALLOW_NETWORKS: allow,
      ...more,
    },
  });
  t.teardown(async () => {
    await stopProgram(program);
    origin.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const { port: originPort } = origin.address() as AddressInfo;
  return {
    ...{ program, directory, originPort, httpPort, httpsPort },
    async call(method, path, body) {
      const response = await fetch(`${program.api}/client/v4${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, json: (await response.json()) as Answer };
    },
    get: (host, path = '/') => get(httpPort, host, path),
  };
}

function get(port: number, host: string, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      let body = '';
      response.on('data', (piece) => (body += piece));
      response.on('end', () => resolve({ status: response.statusCode!, body }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

t.test('no name leads to a listener of the program', async (t) => {
  const room = await startRoom(t, '0.0.0.0/0,::/0');
  const { program, originPort, httpPort, httpsPort, call, get } = room;
  const { result: zone } = (await call('POST', '/zones', { name: 'a.test' })).json;
  const records = `/zones/${zone.id}/dns_records`;
  const settings = { origin_port: originPort };
  t.match(await call('POST', records, { type: 'A', name: 'private', content: '127.0.0.1', proxied: true, settings }), {
    json: { success: true, result: { proxiable: true } },
  });
  await until(async () => (await get('private.a.test')).status === 200, 'the edge answers');
  t.equal((await get('private.a.test')).body, 'the origin', 'an origin at an allowed address');
  await call('POST', records, { type: 'A', name: 'here', content: '127.0.0.1' });
  await call('POST', records, { type: 'AAAA', name: 'mapped', content: '::ffff:127.0.0.1' });
  await call('POST', records, { type: 'CNAME', name: 'chain', content: 'here.a.test' });
  const ports = [program.adminPort, program.bucketPort, program.dnsPort, httpPort, httpsPort];
  const contents: readonly (readonly [string, string])[] = [
    ...[['A', '127.0.0.1'] as const, ['A', '127.0.0.2'] as const, ['CNAME', 'here.a.test'] as const],
    ...[['CNAME', 'chain.a.test'] as const, ['CNAME', 'mapped.a.test'] as const, ['AAAA', '::1'] as const],
    ...[
      ['AAAA', '::ffff:127.0.0.1'] as const,
      ['AAAA', '64:ff9b::7f00:1'] as const,
      ['AAAA', '2002:7f00:1::'] as const,
    ],
  ];
  const names: string[] = [];
  for (const [j, port] of ports.entries()) {
    for (const [i, [type, content]] of contents.entries()) {
      // Several name servers of a machine share a port.
      if (port === program.dnsPort && (content === '127.0.0.2' || content === '::1')) continue;
      const name = `n${j}-${i}`;
      const body = { type, name, content, proxied: true, settings: { origin_port: port } };
      const { status, json } = await call('POST', records, body);
      t.equal(status, 200, `${type} ${content} port ${port}: ${JSON.stringify(json.errors)}`);
      names.push(`${name}.a.test`);
    }
  }
  for (const name of names) {
    await until(async () => (await get(name)).status !== 409, `the edge knows ${name}`);
    t.match(await get(name, '/livez'), { status: 403, body: 'error code: 1000' }, name);
  }
});

t.test('a network is for its purposes only, and what is refused names the setting', async (t) => {
  const { originPort, call, get, program } = await startRoom(t, '10.0.0.0/8:origins,127.0.0.0/8:transfers', {
    ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.9/32',
  });
  const { result: zone } = (await call('POST', '/zones', { name: 'a.test' })).json;
  const records = `/zones/${zone.id}/dns_records`;
  const settings = { origin_port: originPort };
  const body = { type: 'A', name: 'www', content: '127.0.0.1', proxied: true, settings };
  t.match(await call('POST', records, body), {
    status: 400,
    json: { errors: [{ code: 9003, message: /allow-networks/ }] },
  });
  for (const content of ['10.0.0.5', '127.0.0.9']) {
    t.match(await call('POST', records, { ...body, content, name: `n${content}` }), { status: 200 }, content);
  }
  await call('POST', records, { type: 'A', name: 'here', content: '127.0.0.1' });
  await call('POST', records, { type: 'CNAME', name: 'www', content: 'here.a.test', proxied: true, settings });
  await until(async () => (await get('www.a.test')).status !== 409, 'the edge knows the name');
  t.match(await get('www.a.test'), { status: 403, body: 'error code: 1000' });
  t.match(program.printed(), /edge-allow-origin-cidrs is replaced by allow-networks/);
});

t.test('every process says what it listens on, and takes it back', async (t) => {
  const { program, directory } = await startRoom(t, '');
  const listed = () => readdirSync(join(directory, 'data', 'listeners')).map((name) => name.split('-')[0]);
  await until(() => listed().includes('edge'), 'the edge has started');
  t.strictSame(listed().sort(), ['admin', 'dns', 'edge']);
  await stopProgram(program);
  t.strictSame(listed(), []);
});
