/** Between the edge and its origins: their certificates, HTTP/2, what comes before the response, and origins that misbehave. */
import { spawn } from 'node:child_process';
import { createHash, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, constants, createSecureServer as createHttp2Server } from 'node:http2';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '../../src/certs/x509.js';
import { createRecord } from '../../src/control/records/records.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { putFallback } from '../../src/hostnames/fallback-origin.js';
import { startScriptedUpstream } from '../support/scripted-upstream.js';
import { firstThat } from '../support/until.js';
import { addHostname, exchange, LaterClock, makeCertificate, proxy, startEdgeWorld, startOrigin } from './fixture.js';

const HOST = 'www.example.org';
const GET = (host: string, path = '/', more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`;
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

async function listen(t: Test, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** An origin that speaks octets. */
function startTcp(t: Test, serve: (socket: Socket) => void): Promise<number> {
  const server = createTcpServer((socket) => {
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    serve(socket);
  });
  return listen(t, server);
}

async function startTlsOrigin(t: Test, tls: ServerOptions): Promise<number> {
  const server = createHttpsServer(tls, (_request, response) => response.end('secured'));
  t.teardown(() => server.closeAllConnections());
  return listen(t, server);
}

/** Signed by itself, and valid until yesterday. */
async function makeExpired(name: string): Promise<{ certificate: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const day = 86_400_000;
  const made = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=expired',
    notBefore: new Date(Date.now() - 3 * day),
    notAfter: new Date(Date.now() - day),
    keys,
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { certificate: made.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n` };
}

t.test('strict verifies the certificate of the origin, full does not', async (t) => {
  const good = makeCertificate([HOST, 'good.example.org', 'expired.example.org']);
  const expired = await makeExpired('expired.example.org');
  const stranger = makeCertificate(['stranger.example.org']);
  let bundle = `${good.certificate}${expired.certificate}`;
  const clock = new LaterClock();
  const world = await startEdgeWorld(t, { readCaBundle: () => bundle, clock });
  const start = (made: { certificate: string; key: string }): Promise<number> =>
    startTlsOrigin(t, { cert: made.certificate, key: made.key });
  const goodPort = await start(good);
  const id = await world.zone('example.org', goodPort);
  const plain = await startOrigin(t, (_request, response) => response.end('plain'));
  for (const [name, port] of [
    ['other', goodPort],
    ['expired', await start(expired)],
    ['stranger', await start(stranger)],
    ['plain', plain.port],
    [
      'old',
      await startTlsOrigin(t, { cert: good.certificate, key: good.key, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }),
    ],
  ] as const) {
    await proxy(world.ctx, id, name, 'origin.example.org', port);
  }
  const ask = async (name: string): Promise<string> => {
    const host = `${name}.example.org`;
    return exchange(await world.tls(host), GET(host));
  };
  await editZoneSetting(world.ctx, id, 'ssl', 'full');
  await world.heard();
  for (const name of ['www', 'other', 'expired', 'stranger'])
    t.match(await ask(name), /200 OK[\s\S]*secured/, `full: ${name}`);
  for (const name of ['plain', 'old']) t.equal(statusOf(await ask(name)), 525, `full: ${name}`);
  await editZoneSetting(world.ctx, id, 'ssl', 'strict');
  await world.heard();
  t.match(await ask('www'), /200 OK[\s\S]*secured/);
  for (const name of ['other', 'expired', 'stranger']) {
    const answer = await ask(name);
    t.match(answer, 'error code: 526', `strict: ${name}`);
    t.equal(statusOf(answer), 526, name);
  }
  t.equal(statusOf(await ask('plain')), 525, 'no TLS at all is another failure');
  bundle = stranger.certificate;
  t.match(await ask('www'), /200 OK[\s\S]*secured/, 'roots are read anew after a while');
  clock.laterMs = 10_000;
  t.equal(statusOf(await ask('www')), 526, 'a root that was taken away, although a connection is open');
  t.match(await ask('stranger'), /200 OK[\s\S]*secured/, 'a root that was added');
  t.equal(statusOf(await world.raw(GET(HOST))), 520, 'a client without TLS: the origin is asked without it, too');
});

t.test('HTTP/2 with origins that have it, one request at a time with others', async (t) => {
  const { certificate: cert, key } = makeCertificate([HOST]);
  const both = createHttp2Server({ cert, key, allowHTTP1: true }, (request, response) => {
    const hash = createHash('sha256');
    request.on('data', (piece: Buffer) => hash.update(piece));
    request.on('end', () => response.end(`${request.httpVersion} ${hash.digest('hex')}`));
  });
  const sockets = new Set<object>();
  let mostAtOnce = 0;
  const open = new Map<object, number>();
  const old = createHttpsServer({ cert, key }, async (request, response) => {
    sockets.add(request.socket);
    const count = (open.get(request.socket) ?? 0) + 1;
    open.set(request.socket, count);
    mostAtOnce = Math.max(mostAtOnce, count);
    await sleep(20);
    open.set(request.socket, count - 1);
    response.end(request.httpVersion);
  });
  t.teardown(() => old.closeAllConnections());
  const [newPort, oldPort] = [await listen(t, both), await listen(t, old)];
  const world = await startEdgeWorld(t);
  const id = await world.zone('example.org', newPort);
  await proxy(world.ctx, id, 'old', 'origin.example.org', oldPort);
  await world.heard();
  t.match(await exchange(await world.tls(HOST), GET(HOST)), /1\.1 /, 'unless the zone says so');
  await editZoneSetting(world.ctx, id, 'origin_max_http_version', '2');
  await world.heard();
  t.match(await exchange(await world.tls(HOST), GET(HOST)), /2\.0 /);
  const body = 'x'.repeat(200_000);
  const post = `POST / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  t.match(await exchange(await world.tls(HOST), post), `2.0 ${createHash('sha256').update(body).digest('hex')}`);
  const host = 'old.example.org';
  const answers = await Promise.all(Array.from({ length: 8 }, async () => exchange(await world.tls(host), GET(host))));
  for (const answer of answers) t.match(answer, /200 OK[\s\S]*1\.1/);
  t.equal(mostAtOnce, 1, 'requests are not sent behind others that are not answered');
});

t.test('hosts share connections to an origin without TLS', async (t) => {
  const seen = new Set<unknown>();
  const origin = await startOrigin(t, (request, response) => {
    seen.add(request.socket);
    response.end('plain');
  });
  const world = await startEdgeWorld(t);
  const id = await world.zone('example.org', origin.port);
  await proxy(world.ctx, id, '*', 'origin.example.org', origin.port);
  await world.heard();
  for (const name of ['www', 'a', 'b', 'c']) t.match(await world.raw(GET(`${name}.example.org`)), /plain$/);
  t.equal(seen.size, 1);
});

t.test('responses before the response', async (t) => {
  const origin = await startTcp(t, (socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 102 Processing\r\n\r\n');
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\nX-Secret: 1\r\n\r\n');
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage');
    }),
  );
  const world = await startEdgeWorld(t);
  const id = await world.zone('example.org', origin);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
  const answer = await world.raw(GET(HOST));
  t.match(
    answer,
    /^HTTP\/1\.1 102 Processing\r\n[\s\S]*HTTP\/1\.1 103 Early Hints\r\n[\s\S]*style\.css[\s\S]*HTTP\/1\.1 200 OK/,
  );
  const secured = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => secured });
  t.teardown(() => session.destroy());
  const stream = session.request({ ':path': '/' });
  const early: string[] = [];
  stream.on('headers', (headers) => early.push(`${headers[':status']} ${headers['link'] ?? ''}`));
  const [headers] = (await once(stream, 'response')) as [Record<string, number>];
  t.equal(headers[':status'], 200);
  t.same(early, ['102 ', '103 </style.css>; rel=preload; as=style']);
});

t.test('origins that hang, lie about lengths and answer without being asked', async (t) => {
  const silent = await startTcp(t, (socket) => socket.resume());
  const stuck = await startTcp(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome'));
  });
  let connections = 0;
  const poison = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';
  const generous = await startTcp(t, (socket) => {
    connections += 1;
    socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${poison}`));
  });
  const twoLengths = await startTcp(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc')),
  );
  const bothFramings = await startTcp(t, (socket) =>
    socket.once('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    ),
  );
  const times = { connectMs: 1000, waitMs: 1000 };
  const world = await startEdgeWorld(t, { originTimes: times });
  const id = await world.zone('example.org', silent);
  for (const [name, port] of [
    ['stuck', stuck],
    ['generous', generous],
    ['two', twoLengths],
    ['both', bothFramings],
  ] as const) {
    await proxy(world.ctx, id, name, 'origin.example.org', port);
  }
  await world.heard();
  t.match(await world.raw(GET(HOST)), /^HTTP\/1\.1 524[\s\S]*error code: 524/, 'no response');
  const cut = await world.raw(GET('stuck.example.org'));
  t.ok(cut.endsWith('some'), 'a body that stops is cut off, so that the client sees that it is not whole');
  for (let i = 0; i < 3; i++) {
    const answer = await world.raw(GET('generous.example.org'));
    t.ok(answer.endsWith('\r\n\r\nok'), 'what nobody asked for answers nobody');
  }
  t.equal(connections, 3, 'and its connection is not used again');
  t.equal(statusOf(await world.raw(GET('two.example.org'))), 520, 'two lengths');
  t.equal(statusOf(await world.raw(GET('both.example.org'))), 520, 'both framings');
});

t.test('a response whose end no one can be sure of is passed on, but never stored', async (t) => {
  const asked: string[] = [];
  const body = '5\r\nsaved\r\n0\r\n\r\n';
  const answer = (socket: Socket): void => {
    socket.on('error', () => {});
    socket.once('data', (octets: Buffer) => {
      const path = decodeURIComponent(/^\w+ \/(\S+)\.css/.exec(octets.toString('latin1'))![1]!);
      asked.push(path);
      const codings = path.split('+').map((coding) => `Transfer-Encoding: ${coding}\r\n`);
      socket.end(`HTTP/1.1 200 OK\r\nCache-Control: public, max-age=600\r\n${codings.join('')}\r\n${body}`);
    });
  };
  const made = makeCertificate([HOST]);
  const secured = createTlsServer({ cert: made.certificate, key: made.key }, answer);
  const world = await startEdgeWorld(t);
  const plain = await world.zone('example.org', await startTcp(t, answer));
  await editZoneSetting(world.ctx, plain, 'ssl', 'flexible');
  const full = await world.zone('example.net', await listen(t, secured));
  await editZoneSetting(world.ctx, full, 'ssl', 'full');
  await world.heard();
  const ways = {
    'own reader': (path: string) => world.raw(GET(HOST, path)),
    undici: async (path: string) => exchange(await world.tls('www.example.net'), GET('www.example.net', path)),
  };
  for (const [way, get] of Object.entries(ways)) {
    for (const [codings, times] of [
      ['chunked', 1],
      ['Chunked', 1],
      ['identity', 2],
      ['gzip', 2],
      ['gzip, chunked', 2],
      ['chunked, identity', 2],
      ['xchunked', 2],
      ['chunked+chunked', 2],
      ['identity+chunked', 2],
    ] as const) {
      asked.length = 0;
      const path = `/${encodeURIComponent(codings)}.css`;
      const first = await get(path);
      const second = await get(path);
      t.ok(asked.length >= times, `${way}, ${codings}: asked again`);
      if (times === 1) t.match(second, /saved$/);
      if (times === 1) t.equal(asked.length, 1, `${way}, ${codings}: stored`);
      else t.notMatch(second, /cf-cache-status: HIT/i, `${way}, ${codings}: ${first.slice(0, 30)}`);
    }
  }
});

t.test('over HTTP/2 a body without a length is never stored, because its stream may have been reset', async (t) => {
  const { certificate: cert, key } = makeCertificate([HOST]);
  const asked: string[] = [];
  const origin = createHttp2Server({ cert, key });
  origin.on('stream', (stream, { ':path': path = '' }) => {
    asked.push(path);
    stream.on('error', () => {});
    const length = path.includes('length') ? { 'content-length': path.includes('reset') ? 6 : 3 } : {};
    stream.respond({ ':status': 200, 'cache-control': 'public, max-age=600', ...length });
    stream.write('cut', () => {
      if (path.includes('reset')) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      else stream.end();
    });
  });
  const world = await startEdgeWorld(t);
  const id = await world.zone('example.org', await listen(t, origin));
  await editZoneSetting(world.ctx, id, 'origin_max_http_version', '2');
  await world.heard();
  for (const [path, times] of [
    ['/length.css', 1],
    ['/length-reset.css', 2],
    ['/reset.css', 2],
    ['/plain.css', 2],
  ] as const) {
    asked.length = 0;
    for (let i = 0; i < 2; i++) await exchange(await world.tls(HOST), GET(HOST, path));
    t.same(
      asked,
      Array.from({ length: times }, () => path),
      path,
    );
  }
});

t.test('a name that comes to point inside is refused when it does', async (t) => {
  let addresses = ['127.0.0.1'];
  const upstream = await startScriptedUpstream(t, ({ name, type }) => ({
    answer: type === 'A' ? addresses.map((address) => `${name}. 0 A ${address}`) : [],
  }));
  const origin = await startOrigin(t, (_request, response) => response.end('reached'));
  const world = await startEdgeWorld(t, { servers: [upstream.server] });
  const id = await world.zone('example.org', origin.port);
  await proxy(world.ctx, id, 'rebind', 'rebind.else.test', origin.port);
  await world.heard();
  t.match(await world.raw(GET('rebind.example.org')), /reached/);
  for (const inside of [['169.254.169.254'], ['10.0.0.1'], ['0.0.0.0'], ['127.0.0.1', '192.168.1.1']]) {
    addresses = inside;
    // The last answer counts for the shortest time there is.
    const ask = () => world.raw(GET('rebind.example.org'));
    const answer = await firstThat(ask, (heard) => !heard.includes('reached'));
    t.match(answer, 'error code: 1000', inside.join());
    addresses = ['127.0.0.1'];
    t.match(await firstThat(ask, (heard) => !heard.includes('error code')), /reached/);
  }
});

t.test('a side that does not read stops the other one', async (t) => {
  const size = 64 * 1024 * 1024;
  const piece = Buffer.alloc(65_536, 'x');
  let sent = 0;
  let received = 0;
  let reads = false;
  const origin = await startOrigin(t, (request, response) => {
    if (request.method === 'POST') {
      request.on('data', (octets: Buffer) => {
        received += octets.length;
      });
      request.pause();
      const wait = setInterval(() => {
        if (!reads) return;
        clearInterval(wait);
        request.resume();
      }, 5);
      request.on('end', () => response.end(String(received)));
      return;
    }
    response.writeHead(200, { 'content-length': size });
    const push = (): void => {
      while (sent < size) {
        sent += piece.length;
        if (!response.write(piece)) {
          response.once('drain', push);
          return;
        }
      }
      response.end();
    };
    push();
  });
  const world = await startEdgeWorld(t, { bodyLimit: size });
  await world.zone('example.org', origin.port);
  /** What a counter stands at when it has stopped. */
  const settled = async (count: () => number): Promise<number> => {
    for (let last = -1; ; await sleep(200)) {
      if (count() === last && last > 0) return last;
      last = count();
    }
  };
  const client = connect(world.httpPort, '127.0.0.1');
  client.pause();
  client.write(GET(HOST));
  t.ok((await settled(() => sent)) < size / 4, 'the origin waits for the client');
  let got = 0;
  client.on('data', (octets: Buffer) => {
    got += octets.length;
  });
  client.resume();
  await once(client, 'close');
  t.ok(got >= size, 'and everything comes in the end');

  const uploader = connect(world.httpPort, '127.0.0.1');
  let answer = '';
  uploader.on('data', (octets: Buffer) => {
    answer += octets.toString('latin1');
  });
  uploader.write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`);
  let given = 0;
  const give = (): void => {
    while (given < size) {
      given += piece.length;
      if (!uploader.write(piece)) {
        uploader.once('drain', give);
        return;
      }
    }
  };
  give();
  t.ok((await settled(() => given)) < size / 4, 'the client waits for the origin');
  reads = true;
  await once(uploader, 'close');
  t.match(answer, new RegExp(`200 OK[\\s\\S]*${size}`));
});

t.test('an origin whose name has no address: the cause says whose', async (t) => {
  const world = await startEdgeWorld(t);
  const { ctx } = world;
  const id = await world.zone('example.org', 1);
  await createRecord(ctx, id, { type: 'CNAME', name: 'gone', content: 'nowhere.example.org' });
  await proxy(ctx, id, 'lost', 'gone.example.org', 80);
  await putFallback(ctx, id, 'lost.example.org');
  await addHostname(ctx, 'example.org', 'app.customer.test');
  await addHostname(ctx, 'example.org', 'own.customer.test', { origin: 'gone.example.org' });
  await addHostname(ctx, 'example.org', 'new.customer.test', { state: 'pending' });
  await world.heard();
  for (const [host, cause] of [
    ['lost.example.org', 'origin_dns'],
    ['app.customer.test', 'fallback_origin'],
    ['own.customer.test', 'origin_dns'],
    ['new.customer.test', 'ownership'],
  ] as const) {
    t.match(await world.raw(GET(host)), new RegExp(`^HTTP/1.1 530[^]*error code: 1016\n${cause}\n`), host);
  }
});

t.test(
  'a client that leaves ends its request at the origin, before the response and in the middle of it',
  async (t) => {
    const { certificate: cert, key } = makeCertificate([HOST]);
    let [heard, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answer = (
      { url = '' }: { readonly url?: string | undefined },
      response: { write(text: string): unknown; on(event: 'close', listener: () => void): unknown },
    ): void => {
      if (url.startsWith('/begun')) response.write('begun');
      heard.resolve();
      response.on('close', () => ended.resolve());
    };
    const plain = await startOrigin(t, answer);
    const secured = createHttp2Server({ cert, key, allowHTTP1: true }, answer as never);
    const sessions = new Set<{ destroy(): void }>();
    secured.on('connection', (socket: Socket) => sessions.add(socket));
    t.teardown(() => sessions.forEach((one) => void one.destroy()));
    const world = await startEdgeWorld(t);
    const id = await world.zone('example.org', await listen(t, secured));
    await proxy(world.ctx, id, 'plain', 'origin.example.org', plain.port);
    const setting = async (name: string, value: string): Promise<void> => {
      await editZoneSetting(world.ctx, id, name, value);
      await world.heard();
    };

    const overHttp1 = async (socket: Socket, host: string, path: string): Promise<() => void> => {
      socket.on('error', () => {});
      const [target, method = 'GET'] = path.split(' ');
      socket.write(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      if (path.startsWith('/begun')) await once(socket, 'data');
      return () => socket.destroy();
    };
    const overHttp2 = async (host: string, path: string, leave: 'reset' | 'close'): Promise<() => void> => {
      const socket = await world.tls(host, { ALPNProtocols: ['h2'] });
      const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
      t.teardown(() => session.destroy());
      session.on('error', () => {});
      const [target, method = 'GET'] = path.split(' ');
      const stream = session.request({ ':path': target, ':method': method }, { endStream: true });
      stream.on('error', () => {});
      if (path.startsWith('/begun')) await once(stream, 'data');
      return () => (leave === 'reset' ? stream.close(constants.NGHTTP2_CANCEL) : session.destroy());
    };
    const clients: Record<string, (host: string, path: string) => Promise<() => void>> = {
      'HTTP/1.1': (host, path) => overHttp1(connect(world.httpPort, '127.0.0.1'), host, path),
      'HTTP/1.1 over TLS': async (host, path) => overHttp1(await world.tls(host), host, path),
      'HTTP/2, the stream': (host, path) => overHttp2(host, path, 'reset'),
      'HTTP/2, the connection': (host, path) => overHttp2(host, path, 'close'),
    };
    const leaveAll = async (host: string, origin: string): Promise<void> => {
      for (const [client, ask] of Object.entries(clients)) {
        // Names of static files are those that the cache may keep.
        for (const path of ['/page', '/file.js', '/begun', '/begun.js']) {
          [heard, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
          const leave = await ask(host, path);
          await heard.promise;
          leave();
          await ended.promise;
          t.pass(`${client}, ${origin}: ${path}`);
        }
      }
    };
    await setting('ssl', 'flexible');
    await leaveAll('plain.example.org', 'an origin without TLS');
    await setting('ssl', 'full');
    delete clients['HTTP/1.1'];
    await leaveAll(HOST, 'an origin with TLS');
    await setting('origin_max_http_version', '2');
    await leaveAll(HOST, 'an origin with HTTP/2');
  },
);

t.test('a status that HTTP does not have is an unknown error, whoever asks', async (t) => {
  const odd = await startTcp(t, (socket) =>
    socket.on('data', (request: Buffer) => {
      const status = /\/(\d+)/.exec(request.toString())![1];
      socket.write(`HTTP/1.1 ${status} Whatever\r\nContent-Length: 4\r\n\r\nbody`);
    }),
  );
  const world = await startEdgeWorld(t);
  const id = await world.zone('example.org', odd);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
  const upgrade = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  for (const status of [600, 999]) {
    for (const path of [`/${status}`, `/${status}.js`]) {
      t.match(await world.raw(GET(HOST, path)), /^HTTP\/1\.1 520 [\s\S]*error code: 520/, path);
    }
    const asked = `GET /${status} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\n${upgrade}\r\n`;
    t.equal(statusOf(await exchange(connect(world.httpPort, '127.0.0.1'), asked)), 520, 'a WebSocket');
    const post = `POST /${status} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx`;
    t.equal(statusOf(await world.raw(post)), 520, 'a body');
    const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
    const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
    t.teardown(() => session.destroy());
    const [headers] = (await once(session.request({ ':path': `/${status}` }), 'response')) as [Record<string, number>];
    t.equal(headers[':status'], 520, 'HTTP/2');
  }
  t.match(await world.raw(GET(HOST, '/599')), /^HTTP\/1\.1 599 [\s\S]*body/, 'the last one that there is');
});

function makeCertificateOf(name: string): ServerOptions {
  const { certificate: cert, key } = makeCertificate([name]);
  return { cert, key };
}

/** A port of a process that stands still, and whose queue of connections is full: the system drops what else comes. */
async function startFull(t: Test): Promise<number> {
  const program =
    "const s = require('net').createServer(); s.listen(0, '127.0.0.1', 1, () => console.log(s.address().port))";
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => void child.kill('SIGKILL'));
  const port = Number(String(await once(child.stdout, 'data')));
  child.kill('SIGSTOP');
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.teardown(() => socket.destroy());
    const isFull = await Promise.race([once(socket, 'connect').then(() => false), sleep(1000).then(() => true)]);
    if (isFull) return port;
  }
}

t.test('origins that cannot be reached, or do not answer, have the codes of the vendor', async (t) => {
  const full = await startFull(t);
  const silent = await startTcp(t, (socket) => socket.resume());
  const world = await startEdgeWorld(t, { originTimes: { connectMs: 4000, waitMs: 2000 } });
  const id = await world.zone('example.org', full);
  await proxy(world.ctx, id, 'silent', 'origin.example.org', silent);
  // No host has the broadcast address, so there is no way to it.
  await createRecord(world.ctx, id, { type: 'A', name: 'far', content: '127.255.255.255' });
  await proxy(world.ctx, id, 'unreachable', 'far.example.org', 80);
  const mute = createHttpsServer(makeCertificateOf(HOST), () => {});
  t.teardown(() => mute.closeAllConnections());
  await proxy(world.ctx, id, 'mute', 'origin.example.org', await listen(t, mute));
  const codes = { www: 522, unreachable: 523 };
  for (const [ssl, what, own] of [
    ['flexible', 'an origin without TLS', { silent: 524 }],
    // Without a handshake there is no connection.
    ['full', 'an origin with TLS', { silent: 522, mute: 524 }],
  ] as const) {
    await editZoneSetting(world.ctx, id, 'ssl', ssl);
    await world.heard();
    const asked = Object.entries({ ...codes, ...own }).flatMap(([name, code]) =>
      ['/', '/file.js'].map(async (path) => {
        const host = `${name}.example.org`;
        const answer = await exchange(await world.tls(host), GET(host, path));
        t.match([statusOf(answer), answer], [code, `error code: ${code}`], `${name}${path}, ${what}`);
      }),
    );
    await Promise.all(asked);
  }
});
