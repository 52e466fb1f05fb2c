/** DNS over HTTPS (RFC 8484): kdig, dig and curl as clients, then requests that none of them would send. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { type Answer, DEFERRED, type DeferredResult, Transport } from '../../src/answer/transport.js';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { parseName } from '../../src/dns/name.js';
import { startDnsServers } from '../../src/server/start.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { serveZones } from '../support/served-zones.js';
import { until } from '../support/until.js';
import { TLS_CERTIFICATE, TLS_KEY } from './tls-credentials.js';

const ZONE = {
  apex: 'example.com.',
  text: `$ORIGIN example.com.
$TTL 300
@ SOA ns h 1 3600 600 86400 60
@ NS ns
ns A 192.0.2.1
www 120 A 192.0.2.2
two 120 CNAME www
two.short 30 TXT x
short 30 CNAME www
large TXT ${Array.from({ length: 100 }, (_, i) => `"${String(i).padEnd(200, 'x')}"`).join(' ')}
`,
};
const HOST = 'ns1.zoneplane.test';
const run = promisify(execFile);
const isCi = process.env['CI'] === 'true';
const unless = (path: string): string | false => (existsSync(path) || isCi ? false : `not installed: ${path}`);

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-https-'));
const authority = join(directory, 'ca.pem');
writeFileSync(authority, TLS_CERTIFICATE);
const { answer: engine } = serveZones([ZONE]);
/** Messages with this ID are deferred, and answered as this says. */
const DEFERRED_ID = 0xdef0;
let deferredAnswer: (request: Uint8Array) => DeferredResult | Promise<DeferredResult> = () => undefined;
const answer: Answer = (request, start, ...rest) =>
  (request[start]! << 8) + request[start + 1]! === DEFERRED_ID ? DEFERRED : engine(request, start, ...rest);
const servers = await startDnsServers({
  addresses: ['127.0.0.1'],
  port: 0,
  transport: 'portable',
  answer,
  answerDeferred: (request, transport, address, from) => {
    t.match([transport, address, from > 0], [Transport.https, '127.0.0.1', true]);
    return deferredAnswer(request);
  },
  workers: 1,
  workerEngine: {
    module: new URL('./stand-in-engine.js', import.meta.url),
    connect: () => ({ data: { words: new SharedArrayBuffer(8) }, port: new MessageChannel().port1 }),
  },
  https: { port: 0, credentials: { certificate: TLS_CERTIFICATE, key: TLS_KEY } },
  log: silentLogger(),
  clock: new SystemClock(),
});
const port = servers.httpsPort!;
t.teardown(async () => {
  await servers.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

async function openSession(): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: TLS_CERTIFICATE, servername: HOST });
  await once(session, 'connect');
  return session;
}

function ask(session: ClientHttp2Session, method: string, path: string, body?: Buffer, type?: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { ':method': method, ':path': path, ...(type === undefined ? {} : { 'content-type': type }) };
    const stream = session.request(headers, { endStream: body === undefined });
    const pieces: Buffer[] = [];
    let head: Record<string, unknown> = {};
    stream.on('response', (found) => (head = found));
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => resolve({ status: Number(head[':status']), headers: head, body: Buffer.concat(pieces) }));
    stream.on('error', reject);
    if (body !== undefined) stream.end(body);
  });
}

/** With room for padding, so that answers are padded too. */
const queryFor = (name: string, type = 1): Buffer =>
  makeQuery(parseName(name), type, { edns: 1232, options: Buffer.from([0, 12, 0, 0]) });
const TYPE = 'application/dns-message';

t.test('real clients', async (t) => {
  const place = ['-p', String(port)];
  t.test('kdig', { skip: unless('/usr/bin/kdig') }, async (t) => {
    for (const mode of ['+https', '+https-get']) {
      const args = ['@127.0.0.1', ...place, '+https', mode, `+tls-ca=${authority}`, `+tls-hostname=${HOST}`];
      const { stdout } = await run('/usr/bin/kdig', [...args, 'www.example.com', 'A'], { timeout: 20_000 });
      t.match(stdout, /HTTP session \(HTTP\/2-(POST|GET)\)/, mode);
      t.match(stdout, /www\.example\.com\.\s+120\s+IN\s+A\s+192\.0\.2\.2/, mode);
    }
  });
  t.test('dig', { skip: unless('/usr/bin/dig') }, async (t) => {
    for (const mode of ['+https', '+https-get']) {
      const args = ['@127.0.0.1', ...place, mode, `+tls-ca=${authority}`, `+tls-hostname=${HOST}`, '+short'];
      const { stdout } = await run('/usr/bin/dig', [...args, 'two.example.com', 'A'], { timeout: 20_000 });
      t.equal(stdout, 'www.example.com.\n192.0.2.2\n', mode);
    }
  });
  t.test('curl, also with HTTP/1.1', { skip: unless('/usr/bin/curl') }, async (t) => {
    const url = `https://${HOST}:${port}/dns-query?dns=${queryFor('www.example.com.').toString('base64url')}`;
    for (const version of ['--http2', '--http1.1']) {
      const file = join(directory, 'answer');
      const args = ['-sS', version, '--cacert', authority, '--resolve', `${HOST}:${port}:127.0.0.1`, '-o', file];
      const { stdout } = await run('curl', [...args, '-w', '%{http_code} %{http_version} %{content_type}', url]);
      t.equal(stdout, `200 ${version === '--http2' ? '2' : '1.1'} ${TYPE}`);
    }
  });
});

t.test('answers that are made elsewhere, at once, later, or never', async (t) => {
  const session = await openSession();
  const query = makeQuery(parseName('www.example.com.'), 1, { id: DEFERRED_ID });
  // The answer of the engine to the same question.
  const made = (request: Uint8Array): Uint8Array => {
    const [copy, out] = [new Uint8Array(request), new Uint8Array(512)];
    copy[0] = 0;
    return out.slice(0, engine(copy, 0, copy.length, out, 0, out.length, Transport.https));
  };
  const post = () => ask(session, 'POST', '/dns-query', query, TYPE);
  for (const make of [made, async (request: Uint8Array) => sleep(30).then(() => made(request))]) {
    deferredAnswer = make;
    const { status, headers, body } = await post();
    t.match([status, headers['cache-control'], decodeMessage(body).answer.length], [200, 'max-age=120', 1]);
  }
  deferredAnswer = () => undefined;
  t.equal((await post()).status, 503);
  session.close();
});

t.test('answers and how long they may be cached', async (t) => {
  const session = await openSession();
  t.teardown(() => session.close());
  const rows: readonly (readonly [name: string, type: number, rcode: number, answers: number, seconds: number])[] = [
    ['www.example.com.', 1, 0, 1, 120],
    ['two.example.com.', 1, 0, 2, 120],
    ['short.example.com.', 1, 0, 2, 30],
    ['none.example.com.', 1, 3, 0, 60],
    ['www.example.com.', 28, 0, 0, 60],
    ['large.example.com.', 16, 0, 1, 300],
    ['www.example.org.', 1, 5, 0, 0],
  ];
  for (const [name, type, rcode, answers, seconds] of rows) {
    const query = queryFor(name, type);
    const posted = await ask(session, 'POST', '/dns-query', query, TYPE);
    const message = decodeMessage(posted.body);
    t.match(posted.headers, { 'content-type': TYPE, 'content-length': String(posted.body.length) }, name);
    t.equal(posted.headers['cache-control'], `max-age=${seconds}`, name);
    t.match({ rcode: message.rcode, answers: message.answer.length }, { rcode, answers }, name);
    const got = await ask(session, 'GET', `/dns-query?x=y&dns=${query.toString('base64url')}`);
    t.ok(got.body.equals(posted.body), 'the same by GET');
    const head = await ask(session, 'HEAD', `/dns-query?dns=${query.toString('base64url')}`);
    t.match([head.status, head.body.length], [200, 0]);
    t.equal(posted.body.length % 468, 0, 'padded (RFC 8467 §4.1)');
  }
  const many = Array.from({ length: 90 }, (_, i) =>
    ask(session, 'POST', '/dns-query', queryFor(`x${i}.example.com.`), TYPE),
  );
  t.ok(
    (await Promise.all(many)).every(({ status }) => status === 200),
    'many at once over one connection',
  );
});

t.test('invalid requests', async (t) => {
  const session = await openSession();
  t.teardown(() => session.close());
  const query = queryFor('www.example.com.');
  const text = query.toString('base64url');
  const rows: readonly (readonly [status: number, method: string, path: string, body?: Buffer, type?: string])[] = [
    [404, 'GET', '/'],
    [404, 'GET', `/dns-query/x?dns=${text}`],
    [400, 'GET', '/dns-query'],
    [400, 'GET', '/dns-query?dns='],
    [400, 'GET', '/dns-query?dns=a%2Bb'],
    [400, 'GET', '/dns-query?dns=A'],
    [400, 'GET', `/dns-query?dns=${Buffer.alloc(5).toString('base64url')}`],
    [400, 'POST', '/dns-query', Buffer.alloc(0), TYPE],
    [400, 'POST', '/dns-query', Buffer.concat([query.subarray(0, 2), Buffer.from([0x80]), query.subarray(3)]), TYPE],
    [415, 'POST', '/dns-query', query],
    [415, 'POST', '/dns-query', query, 'application/json'],
    [413, 'POST', '/dns-query', Buffer.alloc(65_536), TYPE],
    [405, 'PUT', '/dns-query', query, TYPE],
    [405, 'DELETE', '/dns-query'],
    [200, 'GET', `/dns-query?dns=${text}==`],
    [400, 'GET', `/dns-query?dns=${text}===`],
    [200, 'POST', '/dns-query?ignored', query, 'Application/DNS-Message; charset=x'],
  ];
  for (const [status, method, path, body, type] of rows) {
    const reply = await ask(session, method, path, body, type);
    t.equal(reply.status, status, `${method} ${path} ${type ?? ''}`);
    if (status === 405) t.equal(reply.headers['allow'], 'GET, HEAD, POST');
    if (status >= 400) t.match(reply.headers['content-type'], /^text\/plain/);
  }
  const malformed = Buffer.from(query);
  malformed.writeUInt16BE(2, 4);
  const { status, body } = await ask(session, 'POST', '/dns-query', malformed, TYPE);
  t.match([status, decodeMessage(body).rcode], [200, 1], 'a bad DNS message is answered as DNS says');
});

t.test('HTTP/1.1 with a body in pieces, a plain connection, and too many', async (t) => {
  const query = queryFor('www.example.com.');
  const body = await new Promise<Buffer>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, ca: TLS_CERTIFICATE, servername: HOST, path: '/dns-query' };
    const headers = { 'content-type': TYPE, host: HOST };
    const call = httpsRequest({ ...options, method: 'POST', headers, agent: false }, (found) => {
      const pieces: Buffer[] = [];
      found.on('data', (piece: Buffer) => pieces.push(piece));
      found.on('end', () => resolve(Buffer.concat(pieces)));
    });
    call.on('error', reject);
    call.write(query.subarray(0, 5));
    setImmediate(() => call.end(query.subarray(5)));
  });
  t.equal(decodeMessage(body).answer.length, 1);
  const sockets = Array.from({ length: 130 }, () => connectTcp(port, '127.0.0.1'));
  const closed = sockets.map((socket) => {
    socket.on('error', () => {});
    return new Promise<void>((resolve) => socket.once('close', () => resolve()));
  });
  const stillOpen = (): number => sockets.filter(({ destroyed }) => !destroyed).length;
  await until(() => stillOpen() <= 101);
  const open = stillOpen();
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  t.ok(open <= 101, `${open} connections of one client stay open`);
  const session = await openSession();
  t.equal((await ask(session, 'POST', '/dns-query', query, TYPE)).status, 200, 'and then it goes on');
  session.close();
  const counted = servers.readCounters().find(({ labels }) => labels['transport'] === 'https');
  t.ok((counted?.value ?? 0) > 100, 'counted as a transport of its own');
});
