/** What origins see and clients get: fields, bodies, failures, WebSockets, and what is refused because it is ambiguous. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { createLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { rootCertificatePem } from '../../src/certs/embedded/issuers.js';
import { createRecord, editRecord } from '../../src/control/records/records.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { failureOf } from '../../src/edge/error-pages/failures.js';
import { failurePage } from '../../src/edge/error-pages/page.js';
import { EDGE_ADDRESS, type EdgeWorld, exchange, proxy, startEdgeWorld, startOrigin } from './fixture.js';

const GET = (host: string, path = '/', more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`;

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

t.test('an origin sees the client, and no field a client made up', async (t) => {
  let seen: string[] = [];
  const origin = await startOrigin(t, (request, response) => {
    seen = request.rawHeaders;
    response.writeHead(
      200,
      [
        ['X-Two', 'a'],
        ['X-Two', 'b'],
        ['Connection', 'x-gone'],
        ['X-Gone', '1'],
      ].flat() as never,
    );
    response.end('body');
  });
  const world = await startEdgeWorld(t);
  await world.zone('example.org', origin.port);
  const more = [
    'CF-Connecting-IP: 6.6.6.6',
    'True-Client-IP: 6.6.6.6',
    'X-Forwarded-For: 7.7.7.7',
    'X-Forwarded-Proto: https',
    'Connection: close, x-secret',
    'X-Secret: 1',
    'TE: trailers',
    'CDN-Loop: other',
    'Cookie: a=b',
  ];
  const answer = await world.raw(`GET /p?q HTTP/1.1\r\nHost: WWW.example.org.:80\r\n${more.join('\r\n')}\r\n\r\n`);
  t.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  t.match(answer, /x-two: a\r\nx-two: b\r\n/);
  t.notMatch(answer, /x-gone/);
  t.match(answer, /cf-ray: [0-9a-f]{16}\r\n/);
  t.ok(answer.endsWith('\r\n\r\nbody') || answer.includes('body'));
  const fields = new Map(seen.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), seen[i + 1]!] as const] : [])));
  t.equal(fields.get('host'), 'WWW.example.org.:80');
  t.equal(fields.get('cf-connecting-ip'), '127.0.0.1');
  t.equal(fields.get('true-client-ip'), '127.0.0.1');
  t.equal(fields.get('x-forwarded-for'), '7.7.7.7, 127.0.0.1');
  t.equal(fields.get('x-forwarded-proto'), 'http');
  t.match(fields.get('cdn-loop'), /^other, zoneplane-/);
  t.equal(fields.get('cookie'), 'a=b');
  for (const name of ['x-secret', 'te']) t.notOk(fields.has(name), name);
  const looped = await world.raw(GET('www.example.org', '/', `CDN-Loop: ${fields.get('cdn-loop')}\r\n`));
  t.equal(statusOf(looped), 508);
});

t.test('bodies go both ways, with lengths and without', async (t) => {
  const origin = await startOrigin(t, (request, response) => {
    const hash = createHash('sha256');
    request.on('data', (piece: Buffer) => hash.update(piece));
    request.on('end', () => {
      response.setHeader('Trailer', 'x-sum');
      response.write('x'.repeat(100_000));
      response.addTrailers({ 'x-sum': hash.digest('hex').slice(0, 8) });
      response.end();
    });
  });
  const world = await startEdgeWorld(t, { bodyLimit: 1000 });
  await world.zone('example.org', origin.port);
  const head = 'POST / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n';
  const sum = createHash('sha256').update('hello').digest('hex').slice(0, 8);
  const known = await world.raw(`${head}Content-Length: 5\r\n\r\nhello`);
  t.equal(statusOf(known), 200);
  t.match(known, `x-sum: ${sum}`, 'trailers');
  const chunked = await world.raw(`${head}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`);
  t.match(chunked, `x-sum: ${sum}`);
  t.equal(statusOf(await world.raw(`${head}Content-Length: 1001\r\n\r\n`)), 413);
  const long = `${(2000).toString(16)}\r\n${'y'.repeat(2000)}\r\n0\r\n\r\n`;
  t.equal(statusOf(await world.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${long}`)), 413, 'longer than it may be');
  const expecting = await world.raw(`${head}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`);
  t.match(expecting, /^HTTP\/1\.1 200[\s\S]*x-sum: /, 'a body that came with its head is not asked for');
});

t.test('a client that waits is asked for its body only when an origin takes it', async (t) => {
  const origin = await startOrigin(t, (request, response) => request.pipe(response));
  const world = await startEdgeWorld(t, { bodyLimit: 1000 });
  const zone = await world.zone('example.org', origin.port);
  await proxy(world.ctx, zone, 'down', 'origin.example.org', 1);
  await editZoneSetting(world.ctx, zone, 'ssl', 'flexible');
  await world.heard();
  const post = (host: string, length: number): string =>
    `POST / HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
  for (const [host, length, status] of [
    ['www.example.org', 1001, 413],
    ['other.example', 5, 409],
    ['down.example.org', 5, 521],
  ] as const) {
    t.match(await world.raw(post(host, length)), new RegExp(`^HTTP/1\\.1 ${status} `), `${status} at once`);
  }
  const socket = connect(world.httpPort, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(post('www.example.org', 5));
  const answer = hear(socket);
  while (answer.text === '') await sleep(1);
  socket.write('hello');
  while (!answer.text.includes('hello')) await sleep(1);
  t.match(answer.text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);

  const session = await openHttp2(t, world);
  const expecting = (length: number) =>
    session.request({ ':method': 'POST', ':path': '/', expect: '100-continue', 'content-length': length });
  const refused = expecting(1001);
  refused.once('continue', () => t.fail('asked for a body that is too long'));
  t.match(await once(refused, 'response'), [{ ':status': 413 }]);
  refused.close();
  const taken = expecting(5);
  await once(taken, 'continue');
  taken.end('hello');
  t.match(await once(taken, 'response'), [{ ':status': 200 }]);
  t.equal(await text(taken), 'hello');
});

t.test('a head goes to the origin before its body is there', async (t) => {
  const heads: string[] = [];
  const origin = createTcpServer((socket) => {
    let seen = '';
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      seen += piece.toString('latin1');
      const path = /^POST (\S+)/.exec(seen)?.[1] ?? '';
      if (seen.endsWith('\r\n\r\n') && !heads.includes(path)) heads.push(path);
      if (path === '/no') socket.write('HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno');
      if (/hello/.test(seen)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes');
      if (path === '/empty') {
        const length = /\r\ncontent-length: 0\r\n/i.test(seen) ? 'length' : 'none';
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length.length}\r\n\r\n${length}`);
      }
    });
    t.teardown(() => socket.destroy());
  });
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => origin.close());
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', (origin.address() as AddressInfo).port);
  await editZoneSetting(world.ctx, zone, 'ssl', 'flexible');
  await world.heard();
  const open = (path: string, fields: string) => {
    const socket = connect(world.httpPort, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: www.example.org\r\n${fields}\r\n`);
    return { socket, heard: hear(socket) };
  };
  const refused = open('/no', 'Expect: 100-continue\r\nContent-Length: 5\r\n');
  while (!refused.heard.text.endsWith('no')) await sleep(1);
  t.match(refused.heard.text, /^HTTP\/1\.1 401 /, 'the origin refuses, and the body is never asked for');
  for (const fields of [
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Expect: 100-continue\r\nContent-Length: 5\r\n',
  ]) {
    const path = `/late-${fields.length}`;
    const { socket, heard } = open(path, fields);
    while (!heads.includes(path)) await sleep(1);
    t.equal(heard.text, '', 'the origin has not answered, so nothing is said');
    socket.write(fields.startsWith('T') ? '5\r\nhello\r\n0\r\n\r\n' : 'hello');
    while (!heard.text.endsWith('yes')) await sleep(1);
    t.match(heard.text, /^HTTP\/1\.1 200 /, fields);
  }
  const empty = open('/empty', 'Transfer-Encoding: chunked\r\n\r\n0\r\n');
  while (!empty.heard.text.endsWith('length')) await sleep(1);
  t.match(empty.heard.text, /^HTTP\/1\.1 200 /, 'a body of nothing');

  const session = await openHttp2(t, world);
  const late = session.request({ ':method': 'POST', ':path': '/late-h2' });
  while (!heads.includes('/late-h2')) await sleep(1);
  late.end('hello');
  t.match(await once(late, 'response'), [{ ':status': 200 }]);
});

t.test('trailers of responses over HTTP/2', async (t) => {
  const origin = await startOrigin(t, (_request, response) => {
    response.setHeader('Trailer', 'grpc-status');
    response.write('part');
    response.addTrailers({ 'grpc-status': '0' });
    response.end();
  });
  const world = await startEdgeWorld(t);
  await editZoneSetting(world.ctx, await world.zone('example.org', origin.port), 'ssl', 'flexible');
  await world.heard();
  const session = await openHttp2(t, world);
  for (const method of ['GET', 'POST']) {
    // The body of the POST does not end before the response.
    const stream = session.request({ ':method': method, ':path': '/' }, { endStream: method === 'GET' });
    if (method === 'POST') stream.write('begun');
    const trailers: object[] = [];
    stream.on('trailers', (fields: object) => trailers.push(fields));
    const closed = once(stream, 'close');
    t.equal(await text(stream), 'part');
    await closed;
    t.match(trailers, [{ 'grpc-status': '0' }], method);
    t.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  }
});

t.test('nothing is written into a response because of what comes after its request', async (t) => {
  const responses: ServerResponse[] = [];
  const origin = await startOrigin(t, (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-length': 20 }).write('0123456789');
    responses.push(response);
  });
  const world = await startEdgeWorld(t);
  await world.zone('example.org', origin.port);
  const post = 'POST / HTTP/1.1\r\nHost: www.example.org\r\n';
  const socket = connect(world.httpPort, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const answer = hear(socket);
  const ended = once(socket, 'close');
  socket.write(`${post}Content-Length: 1\r\n\r\nx`);
  while (!answer.text.endsWith('0123456789')) await sleep(1);
  socket.write('no request\r\n\r\n');
  await ended;
  t.match(
    answer.text,
    /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n0123456789$/,
    'the connection ends, and the body is not complete',
  );
  const refused = await world.raw(`${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`);
  t.equal(refused.split('HTTP/1.1 ').length, 2, 'one response');
  for (const response of responses) response.destroy();
});

t.test('the root of the built-in authority is where no origin is asked', async (t) => {
  const origin = await startOrigin(t, (_, response) => response.end('of the origin'));
  const world = await startEdgeWorld(t);
  await world.zone('example.org', origin.port);
  t.match(await world.raw(GET('127.0.0.1', '/ca.pem')), /^HTTP\/1\.1 409/, 'there is none yet');
  const { ctx, vault } = world;
  await rootCertificatePem({ store: ctx.store, clock: new SystemClock(), random: systemRandom, vault });
  t.match(await world.raw(GET('127.0.0.1', '/ca.pem')), /^HTTP\/1\.1 200[\s\S]*x-pem-file[\s\S]*BEGIN CERTIFICATE/);
  t.match(await world.raw(GET('127.0.0.1', '/other')), /^HTTP\/1\.1 409/);
  t.match(await world.raw(GET('www.example.org', '/ca.pem')), /of the origin$/);
});

t.test('what is ambiguous never reaches an origin', async (t) => {
  let requests = 0;
  const origin = await startOrigin(t, (_request, response) => {
    requests += 1;
    response.end('reached');
  });
  const world = await startEdgeWorld(t);
  await world.zone('example.org', origin.port);
  const post = 'POST / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n';
  const corpus: readonly [what: string, request: string, status: number][] = [
    [
      'two Host fields',
      'GET / HTTP/1.1\r\nHost: www.example.org\r\nHost: www.example.org\r\nConnection: close\r\n\r\n',
      400,
    ],
    ['no Host field', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a Host that is none', GET('www.example.org/x'), 400],
    ['a Host with credentials', GET('a@www.example.org'), 400],
    ['an absolute form of another host', GET('www.example.org', 'http://other.example/'), 400],
    ['a target that is not a path', GET('www.example.org', 'foo'), 400],
    ['the target *', 'OPTIONS * HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n\r\n', 200],
    ['a fragment', GET('www.example.org', '/a#b'), 400],
    ['both lengths', `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['two different lengths', `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`, 400],
    ['a length with a sign', `${post}Content-Length: +5\r\n\r\nhello`, 400],
    ['an unknown coding', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
    ['two codings', `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400],
    [
      'chunks in HTTP/1.0',
      'POST / HTTP/1.0\r\nHost: www.example.org\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a folded line', GET('www.example.org', '/', 'X-A: 1\r\n 2\r\n'), 400],
    ['a bare CR in a value', GET('www.example.org', '/', 'X-A: 1\r2\r\n'), 400],
    ['a NUL in a value', GET('www.example.org', '/', 'X-A: 1\0\r\n'), 400],
    ['a blank before the colon', GET('www.example.org', '/', 'X-A : 1\r\n'), 400],
    ['a bad chunk size', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n`, 400],
    ['CONNECT', 'CONNECT www.example.org:443 HTTP/1.1\r\nHost: www.example.org\r\n\r\n', 405],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n\r\n', 405],
    ['another version', 'GET / HTTP/2.0\r\nHost: www.example.org\r\nConnection: close\r\n\r\n', 505],
    ['a long target', GET('www.example.org', `/${'a'.repeat(9000)}`), 414],
    ['long fields', GET('www.example.org', '/', `X-A: ${'a'.repeat(20_000)}\r\n`), 431],
    ['many fields', GET('www.example.org', '/', 'X-A: 1\r\n'.repeat(120)), 431],
  ];
  for (const [what, request, status] of corpus) t.equal(statusOf(await world.raw(request)), status, what);
  t.ok(requests <= 1, 'a body that proves bad after its head may have been begun, nothing else');
  t.equal(
    statusOf(await world.raw(GET('www.example.org', 'http://www.example.org/x'))),
    200,
    'an absolute form that agrees',
  );
});

t.test('failures have their codes, and forms as the client accepts them', async (t) => {
  const silent = await startTcp(t, (socket) => socket.destroy());
  const garbage = await startTcp(t, (socket) => socket.end('this is not HTTP\r\n\r\n'));
  const short = await startTcp(t, (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort'));
  const large = await startTcp(t, (socket) => socket.end(`HTTP/1.1 200 OK\r\n${'X-A: 1\r\n'.repeat(10_000)}\r\n`));
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', silent.port);
  const { ctx } = world;
  await proxy(ctx, zone, 'garbage', 'origin.example.org', garbage.port);
  await proxy(ctx, zone, 'short', 'origin.example.org', short.port);
  await proxy(ctx, zone, 'large', 'origin.example.org', large.port);
  await proxy(ctx, zone, 'down', 'origin.example.org', 1);
  await proxy(ctx, zone, 'nowhere', 'missing.example.org', 80);
  await createRecord(ctx, zone, { type: 'A', name: 'inside', content: '10.0.0.1' });
  await proxy(ctx, zone, 'private', 'inside.example.org', 80);
  await proxy(ctx, zone, 'self', 'origin.example.org', world.httpPort);
  await createRecord(ctx, zone, { type: 'A', name: 'plain', content: '192.0.2.1' });
  await createRecord(ctx, zone, { type: 'A', name: 'metadata', content: '169.254.169.254' });
  await proxy(ctx, zone, 'cloud', 'metadata.example.org', 80);
  await world.heard();
  const expected: Readonly<Record<string, readonly [status: number, code: number]>> = {
    www: [520, 520],
    garbage: [520, 520],
    large: [520, 520],
    down: [521, 521],
    nowhere: [530, 1016],
    private: [403, 1000],
    cloud: [403, 1000],
    self: [403, 1000],
    plain: [409, 1001],
    absent: [409, 1001],
  };
  for (const [name, [status, code]] of Object.entries(expected)) {
    const answer = await world.raw(GET(`${name}.example.org`));
    t.equal(statusOf(answer), status, name);
    t.match(answer, `error code: ${code}`, name);
    t.match(answer, /cache-control: no-store/i);
  }
  const cut = await world.raw(GET('short.example.org'));
  t.match(cut, /^HTTP\/1\.1 200/);
  t.notMatch(cut, /error code/, 'what has begun is cut off');
  const json = await world.raw(GET('down.example.org', '/', 'Accept: text/html;q=0.5, application/json\r\n'));
  t.match(json, /application\/problem\+json/);
  t.match(JSON.parse(json.slice(json.indexOf('{'))), { error_code: 521, status: 521, host: 'down.example.org' });
  const html = await world.raw(GET('down.example.org', '/', 'Accept: text/html,*/*;q=0.8\r\n'));
  t.match(html, /<h1>Error 521<\/h1>/);
});

t.test('the form of a failure is the one that the client prefers', async (t) => {
  const failure = failureOf('originDns', 'fallback_origin', 'PUT <one> & "other"');
  const page = (accept: string | undefined, details = true) =>
    failurePage(failure, { accept, details, host: '<script>.test', ray: '0123456789abcdef' });
  for (const [accept, type] of [
    [undefined, 'text/plain'],
    ['', 'text/plain'],
    ['*/*', 'text/plain'],
    ['image/webp', 'text/plain'],
    ['text/html', 'text/html'],
    ['TEXT/HTML;level=1', 'text/html'],
    ['application/xhtml+xml,*/*;q=0.8', 'text/html'],
    ['application/json', 'application/problem+json'],
    ['application/problem+json', 'application/problem+json'],
    ['text/html;q=0.4, application/json;q=0.5', 'application/problem+json'],
    ['text/html, application/json', 'text/html'],
    ['text/html;q=0, application/json;q=0.1', 'application/problem+json'],
    ['text/html;q=nonsense', 'text/plain'],
    ['text/plain, text/html;q=0.9', 'text/plain'],
  ] as const) {
    const { status, headers } = page(accept);
    t.equal(status, 530);
    t.match(headers[headers.indexOf('content-type') + 1], new RegExp(`^${type.replace('+', '\\+')}`), String(accept));
    t.equal(headers[headers.indexOf('cache-control') + 1], 'no-store');
    t.equal(headers[headers.indexOf('cf-ray') + 1], '0123456789abcdef');
  }
  t.strictSame(JSON.parse(page('application/json').body.toString()), {
    type: 'about:blank',
    title: 'Error 1016: Origin DNS error',
    status: 530,
    error_code: 1016,
    cause: 'fallback_origin',
    detail: 'PUT <one> & "other"',
    host: '<script>.test',
    ray: '0123456789abcdef',
  });
  t.notMatch(page('application/json', false).body.toString(), /cause|detail|PUT/);
  const html = page('text/html').body.toString();
  t.notMatch(html, /<script>|<one>/, 'what others wrote is escaped');
  t.match(html, /Error 1016[\s\S]*fallback_origin/);
  t.equal(page('text/plain').body.toString(), 'error code: 1016\nfallback_origin\nPUT <one> & "other"');
  t.equal(page('text/plain', false).body.toString(), 'error code: 1016');
});

t.test('the public sees the code alone', async (t) => {
  const world = await startEdgeWorld(t, { details: false });
  await world.zone('example.org', 1);
  const answer = await world.raw(GET('www.example.org'));
  t.ok(answer.endsWith('\r\n\r\nerror code: 521'));
  t.notMatch(await world.raw(GET('www.example.org', '/', 'Accept: application/json\r\n')), /cause|detail/);
});

t.test('a request that can be repeated is, once, over a new connection', async (t) => {
  let connections = 0;
  const flaky = await startTcp(t, (socket) => {
    connections += 1;
    if (connections === 1) socket.once('data', () => socket.destroy());
    else socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  });
  const world = await startEdgeWorld(t);
  await world.zone('example.org', flaky.port);
  t.equal(statusOf(await world.raw(GET('www.example.org'))), 200);
  t.equal(connections, 2);
  connections = 0;
  const head = 'POST / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n';
  t.equal(statusOf(await world.raw(`${head}Content-Length: 2\r\n\r\nhi`)), 520, 'a POST is not');
  t.equal(connections, 1);
});

t.test('routes follow the store', async (t) => {
  const [first, second] = [
    await startOrigin(t, (_, to) => to.end('first')),
    await startOrigin(t, (_, to) => to.end('second')),
  ];
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', first.port);
  t.match(await world.raw(GET('www.example.org')), /first/);
  t.equal(statusOf(await world.raw(GET('new.example.org'))), 409);
  const id = await proxy(world.ctx, zone, 'new', 'origin.example.org', second.port);
  await world.heard();
  t.match(await world.raw(GET('new.example.org')), /second/, 'what was unknown is looked up again');
  await editRecord(world.ctx, zone, id, { settings: { origin_port: first.port } });
  await world.heard();
  t.match(await world.raw(GET('new.example.org')), /first/, 'a port that DNS does not show');
  await editRecord(world.ctx, zone, id, { proxied: false });
  while (world.edge.isBehind()) await sleep(5);
  t.equal(statusOf(await world.raw(GET('new.example.org'))), 409, 'it also looks when nobody wakes it');
});

t.test('settings of a zone', async (t) => {
  const origin = await startOrigin(t, (request, response) =>
    response.end(`proto ${request.headers['x-forwarded-proto']}`),
  );
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', origin.port);
  const set = async (name: string, value: unknown): Promise<void> => {
    await editZoneSetting(world.ctx, zone, name, value);
    await world.heard();
  };
  const secure = async (more = ''): Promise<string> =>
    exchange(await world.tls('www.example.org'), GET('www.example.org', '/a?b', more));
  t.equal(statusOf(await secure()), 525, 'full: the origin is spoken to as the client speaks');
  await set('ssl', 'flexible');
  t.match(await secure(), /proto https/);
  await set('always_use_https', 'on');
  t.match(await world.raw(GET('www.example.org', '/a?b')), `location: https://www.example.org:${world.httpsPort}/a?b`);
  t.equal(statusOf(await world.raw(GET('www.example.org', '/.well-known/acme-challenge/x'))), 200, 'challenges stay');
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n';
  t.equal(statusOf(await world.raw(GET('www.example.org', '/', upgrade))), 301, 'WebSockets, too');
  await set('security_header', { strict_transport_security: { enabled: true, max_age: 60, nosniff: true } });
  const strict = await secure();
  t.match(strict, /strict-transport-security: max-age=60\r\n/);
  t.match(strict, /x-content-type-options: nosniff/);
  await set('always_use_https', 'off');
  t.notMatch(await world.raw(GET('www.example.org')), /strict-transport/);
  await set('ssl', 'off');
  t.match(await secure(), `location: http://www.example.org:${world.httpPort}/a?b`);
});

t.test('WebSockets over both versions of HTTP', async (t) => {
  const origin = await startOrigin(t, (_request, response) => response.writeHead(200).end());
  origin.server.on('upgrade', (request, socket) => {
    if (request.url === '/refused') {
      socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno');
      return;
    }
    const accept = createHash('sha1').update(
      `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
    );
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
    );
    socket.on('data', (piece: Buffer) => socket.write(Buffer.concat([Buffer.from('echo '), piece])));
    socket.on('error', () => {});
  });
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', origin.port);
  await editZoneSetting(world.ctx, zone, 'ssl', 'flexible');
  await world.heard();
  const upgrade = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: www.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
  const socket = await world.tls('www.example.org', { ALPNProtocols: ['http/1.1'] });
  socket.write(upgrade('/'));
  t.match(await nextText(socket), /^HTTP\/1\.1 101[\s\S]*sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
  socket.write('hi');
  t.equal(await nextText(socket), 'echo hi');
  socket.destroy();
  const refused = await exchange(
    await world.tls('www.example.org', { ALPNProtocols: ['http/1.1'] }),
    upgrade('/refused'),
  );
  t.match(refused, /^HTTP\/1\.1 401/, 'the origin may say no');
  const session = await openHttp2(t, world);
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'https',
    ':path': '/',
    ':authority': 'www.example.org',
  });
  const [headers] = (await once(stream, 'response')) as [Record<string, number>];
  t.equal(headers[':status'], 200);
  stream.write('ho');
  const [piece] = (await once(stream, 'data')) as [Buffer];
  t.equal(piece.toString(), 'echo ho');
  stream.close();
  await editZoneSetting(world.ctx, zone, 'websockets', 'off');
  await world.heard();
  t.equal(
    statusOf(await exchange(await world.tls('www.example.org', { ALPNProtocols: ['http/1.1'] }), upgrade('/'))),
    400,
  );
});

t.test('WebSockets may be silent for longer than other connections', async (t) => {
  const origin = await startOrigin(t, (_request, response) => response.writeHead(200).end());
  origin.server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    socket.on('data', (piece: Buffer) => socket.write(piece));
    socket.on('error', () => {});
  });
  const limits = { headersTimeoutMs: 200, requestTimeoutMs: 200, keepAliveMs: 200 };
  const world = await startEdgeWorld(t, { limits });
  await world.zone('example.org', origin.port);
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  const sockets: Socket[] = [];
  for (let i = 0; i < 50; i++) {
    const socket = connect(world.httpPort, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\nHost: www.example.org\r\n${upgrade}\r\n`);
    t.match(await nextText(socket), /^HTTP\/1\.1 101/);
    sockets.push(socket);
  }
  // This one is closed, so the time that others may be silent is over.
  await exchange(connect(world.httpPort, '127.0.0.1'), 'GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n');
  for (const socket of sockets) {
    socket.write('still here');
    t.equal(await nextText(socket), 'still here');
    socket.destroy();
  }
});

t.test('the access log: what was asked, what was answered, and why not', async (t) => {
  const origin = await startOrigin(t, (_request, response) => response.end('body'));
  const written: string[] = [];
  const log = createLogger({ level: 'info', pretty: false, destination: { write: (line) => void written.push(line) } });
  const world = await startEdgeWorld(t, { log, logEvery: 2, details: false });
  const zone = await world.zone('example.org', origin.port);
  await proxy(world.ctx, zone, 'down', 'origin.example.org', 1);
  await world.heard();
  const requests = () => written.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
  await world.raw(GET('www.example.org', '/a?b'));
  await world.raw(GET('www.example.org', '/c'));
  await world.raw(GET('www.example.org', '/d'));
  await world.raw(GET('down.example.org'));
  while (requests().length < 2) await sleep(5);
  t.match(requests(), [
    { host: 'www.example.org', method: 'GET', target: '/c', status: 200, octets: 4, complete: true, scheme: 'http' },
    { host: 'down.example.org', status: 521, errorCode: 521, cause: /ECONNREFUSED/, client: '127.0.0.1', ms: Number },
  ]);
});

t.test('an address of the edge is not an origin, wherever it listens', async (t) => {
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', 1);
  await createRecord(world.ctx, zone, { type: 'AAAA', name: 'mapped', content: `::ffff:${EDGE_ADDRESS}` });
  await proxy(world.ctx, zone, 'loop', 'mapped.example.org', 443);
  await world.heard();
  t.equal(statusOf(await world.raw(GET('loop.example.org'))), 403);
});

/** What a connection has received, as it comes. */
function hear(socket: Socket): { text: string } {
  const heard = { text: '' };
  socket.on('data', (piece: Buffer) => {
    heard.text += piece.toString('latin1');
  });
  return heard;
}

/** A session with `www.example.org`. */
async function openHttp2(t: Test, world: EdgeWorld): Promise<ClientHttp2Session> {
  const secured = await world.tls('www.example.org', { ALPNProtocols: ['h2'] });
  const session = connectHttp2('https://www.example.org', { createConnection: () => secured });
  t.teardown(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}

async function nextText(socket: NodeJS.EventEmitter): Promise<string> {
  const [piece] = (await once(socket, 'data')) as [Buffer];
  return piece.toString('latin1');
}

async function startTcp(t: Test, serve: (socket: Socket) => void): Promise<{ port: number }> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    serve(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port };
}
