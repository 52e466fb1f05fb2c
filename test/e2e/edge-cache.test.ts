/** The cache of the edge in the real program: an origin that the test plays, clients over HTTP, purges over the API. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { freePort } from '../support/free-ports.js';
import { startProgram, stopProgram } from '../support/program.js';
import { until } from '../support/until.js';

const KEY = 'cache-key-0123456789-0123456789-0123456789';
const HOST = 'www.shop.example';

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** Of `Cf-Cache-Status`. */
  readonly result: string | string[] | undefined;
  /** Whether the body came whole. */
  readonly isWhole: boolean;
}

type Origin = (request: IncomingMessage, response: ServerResponse) => void;

async function setUp(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-edge-cache-'));
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const asked: string[] = [];
  let origin: Origin = (_request, response) => void response.end('hello');
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    origin(incoming, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const program = await startProgram({
    directory,
    key: KEY,
    environment: {
      ZONEPLANE_EDGE: 'on',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
      ZONEPLANE_EDGE_HTTP_PORT: String(httpPort),
      ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
      ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
      ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
    },
  });
  const agent = new Agent({ keepAlive: true });
  t.teardown(async () => {
    agent.destroy();
    await stopProgram(program);
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  async function call(method: string, path: string, body: unknown): Promise<{ id: string }> {
    const response = await fetch(`${program.api}/client/v4${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as { success: boolean; result: { id: string } };
    if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.result;
  }
  function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: httpPort, path, method, agent, headers: { host: HOST, ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', () => {});
          response.on('close', () =>
            resolve({
              status: response.statusCode!,
              text: Buffer.concat(chunks).toString(),
              headers: response.headers,
              result: response.headers['cf-cache-status'],
              isWhole: response.complete,
            }),
          );
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  }
  const zone = `/zones/${(await call('POST', '/zones', { name: 'shop.example' })).id}`;
  await call('POST', `${zone}/dns_records`, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const settings = { origin_port: (server.address() as AddressInfo).port };
  const proxied = { type: 'CNAME', name: 'www', content: 'origin.shop.example', proxied: true, settings };
  await call('POST', `${zone}/dns_records`, proxied);
  await call('PATCH', `${zone}/settings/ssl`, { value: 'flexible' });
  await until(async () => (await get('/ready')).text === 'hello');
  return {
    asked,
    httpPort,
    get,
    results: async (...paths: string[]) => {
      const results: unknown[] = [];
      for (const path of paths) results.push((await get(path)).result);
      return results;
    },
    /** When it resolves, the edge has heard all that was sent to it before: it has taken turns since. */
    async pass(): Promise<void> {
      for (let turn = 0; turn < 5; turn++) await get('/', { host: 'nobody.example' });
    },
    purge: (body: object) => call('POST', `${zone}/purge_cache`, body),
    set: (name: string, value: unknown) => call('PATCH', `${zone}/settings/${name}`, { value }),
    set origin(next: Origin) {
      origin = next;
    },
  };
}

t.test('from the first request to the purge', { timeout: 300_000 }, async (t) => {
  const room = await setUp(t);
  const { get, results, purge } = room;

  await t.test('files are stored, by hosts purged, and pages are not', async (t) => {
    room.origin = (_request, response) => void response.end('body {}');
    t.same(await results('/a.css', '/a.css', '/page', '/page'), ['MISS', 'HIT', 'DYNAMIC', 'DYNAMIC']);
    const hit = await get('/a.css');
    t.match(hit, { status: 200, text: 'body {}', isWhole: true });
    t.match(hit.headers, {
      age: /^\d+$/,
      'cache-status': /^Zoneplane; hit; ttl=\d+$/,
      'content-length': '7',
      'cf-ray': /./,
    });
    t.match(await get('/a.css', {}, 'HEAD'), { status: 200, text: '', result: 'HIT' });
    t.match(await get('/a.css', { range: 'bytes=0-3' }), { status: 206, text: 'body', result: 'HIT' });
    await purge({ hosts: ['other.shop.example'] });
    await purge({ hosts: [HOST] });
    await until(async () => (await get('/a.css')).result === 'MISS');
    t.equal((await get('/a.css')).result, 'HIT');
    for (const body of [{ purge_everything: true }, { files: [`http://${HOST}/a.css`] }, { prefixes: [HOST] }]) {
      await purge(body);
      await until(async () => (await get('/a.css')).result === 'MISS');
    }
  });

  await t.test('what is for one user is not stored', async (t) => {
    let count = 0;
    const rows: [headers: Record<string, string>, request?: Record<string, string>][] = [
      [{ 'cache-control': 'private' }],
      [{ 'set-cookie': 'session=1' }],
      [{ 'cache-control': 'max-age=60' }, { authorization: 'Bearer x' }],
    ];
    for (const [i, [headers, sent]] of rows.entries()) {
      room.origin = (_request, response) => void response.writeHead(200, headers).end(`secret ${++count}`);
      const first = await get(`/user-${i}.css`, sent);
      const second = await get(`/user-${i}.css`);
      t.not(first.text, second.text, JSON.stringify(headers));
    }
  });

  await t.test('only whole bodies are stored, however they are framed', async (t) => {
    room.origin = (_request, response) => {
      response.write('chun');
      response.end('ked');
    };
    t.same(await results('/chunked.css', '/chunked.css'), ['MISS', 'HIT']);
    t.equal((await get('/chunked.css')).text, 'chunked');
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    t.equal((await get('/cut.css')).isWhole, false);
    room.origin = (_request, response) => {
      response.useChunkedEncodingByDefault = false;
      response.removeHeader('transfer-encoding');
      response.shouldKeepAlive = false;
      response.write('until ');
      response.end('the end');
    };
    t.match(await get('/closed.css'), { text: 'until the end', isWhole: true });
    room.origin = (_request, response) => void response.end('whole');
    t.same(await results('/cut.css', '/closed.css', '/cut.css', '/closed.css'), ['MISS', 'MISS', 'HIT', 'HIT']);
  });

  await t.test('many ask the origin once, and one that leaves takes nothing from the others', async (t) => {
    const answers: ServerResponse[] = [];
    room.origin = (_request, response) => void answers.push(response);
    const before = room.asked.length;
    const leaving = request({ host: '127.0.0.1', port: room.httpPort, path: '/many.css', headers: { host: HOST } });
    leaving.on('error', () => {});
    leaving.end();
    await until(async () => answers.length === 1);
    const waiting = Array.from({ length: 5 }, () => get('/many.css'));
    await room.pass();
    leaving.destroy();
    await room.pass();
    answers[0]!.end('for all');
    for (const one of await Promise.all(waiting)) t.match(one, { text: 'for all', isWhole: true });
    t.equal(room.asked.length, before + 1);
  });

  await t.test('a purge is right against a response that is on its way', async (t) => {
    room.origin = (_request, response) => void response.end('stored');
    await get('/probe.css');
    const answers: ServerResponse[] = [];
    room.origin = (_request, response) => void answers.push(response);
    const before = get('/flight.css');
    await until(async () => answers.length === 1);
    answers[0]!.write('old ');
    await purge({ hosts: [HOST] });
    room.origin = (_request, response) => void response.end('new');
    await until(async () => (await get('/probe.css')).text === 'new');
    t.match(await get('/flight.css'), { text: 'new', result: 'MISS' });
    answers[0]!.end('end');
    t.equal((await before).text, 'old end');
    t.match(await get('/flight.css'), { text: 'new', result: 'HIT' });
  });

  await t.test('an origin that fails, and settings', async (t) => {
    room.origin = (_request, response) => void response.writeHead(200, { 'cache-control': 'max-age=1' }).end('kept');
    await get('/kept.css');
    room.origin = (_request, response) => void response.destroy();
    await sleep(1100);
    t.match(await get('/kept.css'), { status: 200, text: 'kept', result: 'STALE' });
    t.match(await get('/new.css'), { status: 520 });
    room.origin = (_request, response) => void response.end('x');
    await room.set('browser_cache_ttl', 7200);
    await until(async () => (await get('/ttl.css')).headers['cache-control'] === 'max-age=7200');
    await room.set('cache_level', 'cache_everything');
    room.origin = (_request, response) => void response.writeHead(200, { 'cache-control': 'max-age=60' }).end('x');
    await until(async () => (await get('/page')).result === 'HIT');
    await room.set('development_mode', 'on');
    await until(async () => (await get('/page')).result === 'BYPASS');
    await t.rejects(room.set('cache_level', 'some'), /1007/);
    await t.rejects(room.set('browser_cache_ttl', -1), /1007/);
  });
});
