/**
 * The edge in the real program, with nginx as the origin and curl, h2load and wrk as clients: from the first record to the
 * last handshake.
 */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { freePort } from '../support/free-ports.js';
import { fileOfNginx, hasNginx, startNginx } from '../support/nginx.js';
import { childOf, type Program, startProgram, stopProgram } from '../support/program.js';
import { until } from '../support/until.js';

const KEY = 'edge-key-0123456789-0123456789-0123456789';
const missing = ['curl', 'dig', 'h2load', 'wrk'].filter(
  (client) => spawnSync(client, ['--version']).error !== undefined,
);
const hasAll = hasNginx && missing.length === 0;
const skip =
  hasAll || process.env['CI'] === 'true'
    ? false
    : `not installed: ${['nginx', ...missing].slice(hasNginx ? 1 : 0).join(', ')}`;

interface Answer<Result> {
  readonly result: Result;
  readonly success: boolean;
}

interface Room {
  readonly program: Program;
  readonly directory: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly originPort: number;
  readonly call: <Result>(method: string, path: string, body?: unknown) => Promise<Answer<Result>>;
  /** All names lead to the edge. */
  readonly curl: (url: string, ...options: string[]) => Promise<{ status: number; body: string }>;
  /** Makes a zone whose `www` is proxied to nginx over plain HTTP. Returns the path of its records. */
  readonly proxiedZone: (name: string) => Promise<string>;
}

/** The program with nginx as an origin. */
async function startRoom(t: Test, environment: NodeJS.ProcessEnv): Promise<Room> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-edge-'));
  const [httpPort, httpsPort, originPort] = [await freePort(), await freePort(), await freePort()];
  const nginx = await startNginx(directory, originPort, `listen 127.0.0.1:${originPort};`);
  writeFileSync(fileOfNginx(directory, 'index.html'), 'hello from the origin\n');
  writeFileSync(fileOfNginx(directory, 'style.css'), 'body {}\n');
  const program = await startProgram({
    directory,
    key: KEY,
    environment: {
      ZONEPLANE_EDGE: 'auto',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
      ZONEPLANE_EDGE_HTTP_PORT: String(httpPort),
      ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
      ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
      ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
      ...environment,
    },
  });
  t.teardown(async () => {
    await stopProgram(program);
    nginx.kill('SIGTERM');
    await once(nginx, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });

  async function call<Result>(method: string, path: string, body?: unknown): Promise<Answer<Result>> {
    const response = await fetch(`${program.api}/client/v4${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer<Result>;
    if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  }
  const curl = (url: string, ...options: string[]): Promise<{ status: number; body: string }> =>
    runCurl(url, [...['--resolve', `*:${httpPort}:127.0.0.1`, '--resolve', `*:${httpsPort}:127.0.0.1`], ...options]);

  async function proxiedZone(name: string): Promise<string> {
    const { result } = await call<{ id: string }>('POST', '/zones', { name });
    const records = `/zones/${result.id}/dns_records`;
    await call('POST', records, { type: 'A', name: 'origin', content: '127.0.0.1' });
    const settings = { origin_port: originPort };
    await call('POST', records, { type: 'CNAME', name: 'www', content: `origin.${name}`, proxied: true, settings });
    await call('PATCH', `/zones/${result.id}/settings/ssl`, { value: 'flexible' });
    return records;
  }
  return { program, directory, httpPort, httpsPort, originPort, call, curl, proxiedZone };
}

t.test('a proxied record and a custom hostname lead to nginx', { skip, timeout: 300_000 }, async (t) => {
  const room = await startRoom(t, { ZONEPLANE_EDGE_ACCESS_LOG: '1' });
  const { program, directory, httpPort, httpsPort, originPort, call, curl } = room;

  await t.rejects(curl(`http://www.shop.example:${httpPort}/`), 'nothing listens while nothing is proxied');
  const zone = await call<{ id: string }>('POST', '/zones', { name: 'shop.example' });
  const records = `/zones/${zone.result.id}/dns_records`;
  await call('POST', records, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const proxied = {
    type: 'CNAME',
    proxied: true,
    content: 'origin.shop.example',
    settings: { origin_port: originPort },
  };
  const made = await call<{ settings: object }>('POST', records, { ...proxied, name: 'www' });
  t.same(made.result.settings, { origin_port: originPort }, 'the port is shown back');
  await call('PATCH', `/zones/${zone.result.id}/settings/ssl`, { value: 'flexible' });
  await until(async () => (await curl(`http://www.shop.example:${httpPort}/`)).status === 200);
  t.equal((await curl(`http://www.shop.example:${httpPort}/`)).body, 'hello from the origin\n');
  t.equal((await curl(`http://other.shop.example:${httpPort}/`)).status, 409, 'a name nobody proxies');

  const root = join(directory, 'root.pem');
  writeFileSync(root, await (await fetch(`${program.api}/ca.pem`)).text());
  const trusted = ['--cacert', root];
  const secure = `https://www.shop.example:${httpsPort}/`;
  await until(async () => (await curl(secure, ...trusted)).status === 200);
  t.equal((await curl(secure, ...trusted)).body, 'hello from the origin\n', 'the certificate of the zone');
  await until(async () => dig(program.dnsPort, 'www.shop.example', 'HTTPS') === '1 . alpn="h2" ipv4hint=203.0.113.80');
  t.equal(dig(program.dnsPort, 'www.shop.example', 'A'), '203.0.113.80', 'as its hint says');

  const cacheOf = async (path: string): Promise<string> => {
    const { body } = await curl(`${secure}${path}`, ...trusted, '--http2', '-D', '-', '-o', '/dev/null');
    return /^cf-cache-status: (\w+)/im.exec(body)?.[1] ?? 'none';
  };
  t.same([await cacheOf('style.css'), await cacheOf('style.css')], ['MISS', 'HIT']);
  t.equal(await cacheOf(''), 'DYNAMIC', 'a page is not stored');
  await call('POST', `/zones/${zone.result.id}/purge_cache`, { hosts: ['www.shop.example'] });
  await until(async () => (await cacheOf('style.css')) === 'MISS');
  t.equal(await cacheOf('style.css'), 'HIT');
  await t.test('many requests by clients that judge', async (t) => {
    const target = `https://www.shop.example:${httpsPort}/style.css`;
    const h2 = await promisify(execFile)('h2load', [
      ...['-n', '2000', '-c', '4', '-m', '20', `--connect-to=127.0.0.1:${httpsPort}`, target],
    ]);
    t.match(h2.stdout, /2000 succeeded, 0 failed, 0 errored, 0 timeout/);
    t.match(h2.stdout, /Application protocol: h2/);
    const wrk = ['-t', '1', '-c', '8', '-d', '1', '--timeout', '60s', '-H', 'Host: www.shop.example'];
    const h1 = await promisify(execFile)('wrk', [...wrk, `http://127.0.0.1:${httpPort}/style.css`]);
    t.match(h1.stdout, /[1-9]\d* requests in/);
    t.notMatch(h1.stdout, /Non-2xx|Socket errors/);
  });

  const line = (await lineOf(program, (entry) => entry['target'] === '/style.css' && entry['httpVersion'] === '2.0'))!;
  t.match(line, {
    msg: 'request',
    method: 'GET',
    scheme: 'https',
    host: 'www.shop.example',
    status: 200,
    complete: true,
  });
  t.match(line, { tlsVersion: 'TLSv1.3', client: '127.0.0.1', ray: /^[0-9a-f]{16}$/, octets: 8 });
  await until(async () => {
    const metrics = await (await fetch(`${program.api}/metrics`)).text();
    return [
      /^zoneplane_edge_requests_total\{http_version="2\.0",status="200"\} \d+$/m,
      /^zoneplane_edge_requests_total\{http_version="1\.1",status="409"\} \d+$/m,
      /^zoneplane_edge_failures_total\{code="1001",cause=""\} \d+$/m,
      /^zoneplane_edge_cache_results_total\{result="HIT"\} \d+$/m,
      /^zoneplane_edge_tls_handshakes_total\{tls_version="TLSv1\.3"\} \d+$/m,
      /^zoneplane_edge_origin_seconds_count [1-9]\d*$/m,
      /^zoneplane_edge_behind 0$/m,
    ].every((pattern) => pattern.test(metrics));
  });

  await call('POST', records, { ...proxied, name: 'fallback' });
  const hostnames = `/zones/${zone.result.id}/custom_hostnames`;
  await call('PUT', `${hostnames}/fallback_origin`, { origin: 'fallback.shop.example' });
  const customer = await call<{ id: string }>('POST', '/zones', { name: 'customer.example' });
  await call('POST', `/zones/${customer.result.id}/dns_records`, {
    type: 'CNAME',
    name: 'app',
    content: 'fallback.shop.example',
  });
  const created = await call<{ id: string }>('POST', hostnames, {
    hostname: 'app.customer.example',
    ssl: { method: 'txt', type: 'dv' },
  });
  const path = `${hostnames}/${created.result.id}`;
  await until(async () => {
    const { result } = await call<{ status: string; ssl: { status: string } }>('GET', path);
    return result.status === 'active' && result.ssl.status === 'active';
  });
  const url = `https://app.customer.example:${httpsPort}/`;
  for (const version of ['--http1.1', '--http2']) {
    t.same(await curl(url, ...trusted, version), { status: 200, body: 'hello from the origin\n' }, version);
  }

  const edgeProcess = childOf(program.child.pid!, 'edge')!;
  const edited = { ssl: { method: 'txt', type: 'dv', settings: { min_tls_version: '1.2' } } };
  const stateOf = (answer: Answer<{ status: string; ssl: { status: string } }>) =>
    `${answer.result.status} ${answer.result.ssl.status}`;
  process.kill(edgeProcess, 'SIGSTOP');
  t.equal(stateOf(await call('PATCH', path, edited)), 'active_redeploying active', 'an edge does not read');
  t.equal(stateOf(await call('GET', path)), 'active_redeploying active');
  process.kill(edgeProcess, 'SIGCONT');
  await until(async () => stateOf(await call('GET', path)) === 'active active');
  edited.ssl.settings.min_tls_version = '1.0';
  t.match(stateOf(await call('PATCH', path, edited)), /^active(_redeploying)? active$/);

  t.equal(await namesOf(httpsPort, 'app.customer.example'), 'DNS:app.customer.example', 'a certificate of its own');
  t.equal(await namesOf(httpsPort, 'www.shop.example'), 'DNS:shop.example, DNS:*.shop.example');

  const session = await handshake(httpsPort, 'app.customer.example');
  t.ok(session, 'a session to come back with');
  const again = await handshake(httpsPort, 'app.customer.example', session);
  t.ok(again, 'and it is good for another connection');
  await call('DELETE', path);
  await until(async () => (await handshake(httpsPort, 'app.customer.example')) === undefined);
  t.equal(await handshake(httpsPort, 'app.customer.example', session), undefined, 'a saved session opens nothing');
  await t.rejects(curl(url, ...trusted), 'nor does curl get in');
});

t.test('when the edge runs, and that its end is nobody else’s', { skip, timeout: 300_000 }, async (t) => {
  const room = await startRoom(t, { ZONEPLANE_EDGE: 'on' });
  const { program, curl, httpPort, call } = room;
  const url = `http://www.shop.example:${httpPort}/`;
  await until(async () => (await curl(url)).status === 409);
  t.pass('on: it runs although nothing is proxied');
  await room.proxiedZone('shop.example');
  await until(async () => (await curl(url)).status === 200);
  await until(() => dig(program.dnsPort, 'www.shop.example', 'A') === '203.0.113.80', 'DNS to have it, too');
  const others = ['admin', 'dns'].map((role) => childOf(program.child.pid!, role));
  const first = childOf(program.child.pid!, 'edge')!;
  process.kill(first, 'SIGKILL');
  let asked = 0;
  await until(async () => {
    if (dig(program.dnsPort, 'www.shop.example', 'A') !== '203.0.113.80') throw t.fail('DNS does not answer');
    if (!(await call('GET', '/zones')).success) throw t.fail('the API does not answer');
    asked += 1;
    return (await curl(url)).status === 200;
  });
  t.ok(asked > 0, 'both answered meanwhile');
  t.not(childOf(program.child.pid!, 'edge'), first, 'another process');
  t.same(
    ['admin', 'dns'].map((role) => childOf(program.child.pid!, role)),
    others,
    'and the others are the same',
  );
});

t.test('auto: it ends with the last proxied record', { skip, timeout: 300_000 }, async (t) => {
  const room = await startRoom(t, {});
  const { curl, httpPort, call, program } = room;
  const url = `http://www.shop.example:${httpPort}/`;
  const records = await room.proxiedZone('shop.example');
  await until(async () => (await curl(url)).status === 200);
  const { result } = await call<{ id: string; name: string }[]>('GET', `${records}?name=www.shop.example`);
  await call('DELETE', `${records}/${result[0]!.id}`);
  await until(() =>
    curl(url).then(
      () => false,
      () => true,
    ),
  );
  await until(async () => childOf(program.child.pid!, 'edge') === undefined);
  t.pass('the process ends, too');
});

t.test('off: it never runs', { skip, timeout: 300_000 }, async (t) => {
  const room = await startRoom(t, { ZONEPLANE_EDGE: 'off' });
  await room.proxiedZone('shop.example');
  await until(async () => dig(room.program.dnsPort, 'www.shop.example', 'A') === '203.0.113.80');
  await t.rejects(room.curl(`http://www.shop.example:${room.httpPort}/`));
  t.equal(childOf(room.program.child.pid!, 'edge'), undefined);
});

/** What our DNS answers, in short form. */
function dig(port: number, name: string, type: string): string {
  const options = ['@127.0.0.1', '-p', String(port), '+short', '+tries=3', '+time=5', name, type];
  return spawnSync('dig', options, { encoding: 'utf8' }).stdout.trim();
}

/** The first line of the log that fits, as soon as it is there. */
async function lineOf(
  { printed }: Program,
  fits: (entry: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown> | undefined> {
  let found: Record<string, unknown> | undefined;
  await until(async () => {
    const lines = printed()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'));
    found = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(fits);
    return found !== undefined;
  });
  return found;
}

/** Throws when curl fails. */
async function runCurl(url: string, options: readonly string[]): Promise<{ status: number; body: string }> {
  const { stdout } = await promisify(execFile)('curl', ['-sS', '-m', '10', '-w', '%{http_code}', ...options, url]);
  return { status: Number(stdout.slice(-3)), body: stdout.slice(0, -3) };
}

/** The names in the certificate that a host presents. */
async function namesOf(port: number, servername: string): Promise<string | undefined> {
  const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subjectaltname } = socket.getPeerCertificate();
  socket.destroy();
  return subjectaltname;
}

/** The session of a TLS 1.2 connection, whose ticket comes with the handshake; undefined where it fails. */
function handshake(port: number, servername: string, session?: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({
      ...{ port, host: '127.0.0.1', servername, rejectUnauthorized: false, maxVersion: 'TLSv1.2' },
      ...(session && { session }),
    });
    socket.once('secureConnect', () => {
      resolve(socket.getSession());
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
  });
}
