/**
 * The edge in the real program, with nginx as the origin and curl and openssl as clients: from the first record to the
 * last handshake.
 */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { freePort } from '../support/free-ports.js';
import { fileOfNginx, hasNginx, startNginx } from '../support/nginx.js';
import { startProgram, stopProgram } from '../support/program.js';

const KEY = 'edge-key-0123456789-0123456789-0123456789';
const hasCurl = spawnSync('curl', ['--version']).error === undefined;
const skip = (hasNginx && hasCurl) || process.env['CI'] === 'true' ? false : 'nginx or curl is not installed';

interface Answer<Result> {
  readonly result: Result;
  readonly success: boolean;
}

t.test('a proxied record and a custom hostname lead to nginx', { skip, timeout: 120_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-edge-'));
  const [httpPort, httpsPort, originPort] = [await freePort(), await freePort(), await freePort()];
  const nginx = await startNginx(directory, originPort, `listen 127.0.0.1:${originPort};`);
  writeFileSync(fileOfNginx(directory, 'index.html'), 'hello from the origin\n');
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

  const edgeProcess = childOf(program.child.pid!, 'edge');
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

  const session = await handshake(httpsPort, 'app.customer.example');
  t.ok(session, 'a session to come back with');
  const again = await handshake(httpsPort, 'app.customer.example', session);
  t.ok(again, 'and it is good for another connection');
  await call('DELETE', path);
  await until(async () => (await handshake(httpsPort, 'app.customer.example')) === undefined);
  t.equal(await handshake(httpsPort, 'app.customer.example', session), undefined, 'a saved session opens nothing');
  await t.rejects(curl(url, ...trusted), 'nor does curl get in');
});

function childOf(parent: number, role: string): number {
  const { stdout } = spawnSync('ps', ['--ppid', String(parent), '-o', 'pid=,args='], { encoding: 'utf8' });
  const found = stdout.split('\n').find((line) => line.includes(`--role ${role}`));
  return Number(found!.trim().split(' ')[0]);
}

/** Throws when curl fails. */
async function runCurl(url: string, options: readonly string[]): Promise<{ status: number; body: string }> {
  const { stdout } = await promisify(execFile)('curl', ['-sS', '-m', '10', '-w', '%{http_code}', ...options, url]);
  return { status: Number(stdout.slice(-3)), body: stdout.slice(0, -3) };
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

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (await done().catch(() => false)) return;
    await sleep(20);
  }
  throw new Error('it did not come to that');
}
