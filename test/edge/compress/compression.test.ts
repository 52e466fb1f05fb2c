/** Responses in the coding that the client accepts, through the edge as it runs: on their way, and from the cache. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type RequestListener, request, type ServerResponse } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { brotliDecompressSync, createGunzip, gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { type EdgeWorld, startEdgeWorld, startOrigin } from '../fixture.js';

const TEXT = '<p class="line">How many roads must a server walk down?</p>\n'.repeat(1100);
const HOST = 'www.zip.example';

const PLAIN: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  readonly body: Buffer;
  /** Without its coding. */
  readonly text: string;
}

interface Room extends EdgeWorld {
  readonly id: string;
  /** `Accept-Encoding` of the requests that the origin has seen. */
  readonly asked: (string | undefined)[];
  origin: RequestListener;
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Got>;
}

async function setUp(t: Test, options: Parameters<typeof startEdgeWorld>[1] = {}): Promise<Room> {
  const asked: (string | undefined)[] = [];
  const { port } = await startOrigin(t, (incoming, response) => {
    asked.push(incoming.headers['accept-encoding']);
    room.origin(incoming, response);
  });
  const world = await startEdgeWorld(t, options);
  const id = await world.zone('zip.example', port);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
  const room: Room = {
    ...world,
    ...{ id, asked },
    origin: (_request, response) => page(response),
    get: (path, headers = {}, method = 'GET') => get(world.httpPort, path, headers, method),
  };
  return room;
}

function page(
  response: ServerResponse,
  fields: Readonly<Record<string, string>> = {},
  body: string | Buffer = TEXT,
): void {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...fields,
  });
  response.end(body);
}

async function get(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  method: string,
): Promise<Got> {
  const asked = request({ host: '127.0.0.1', port, path, method, headers: { host: HOST, ...headers } });
  asked.end();
  const [response] = await once(asked, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const read = body.length > 0 ? PLAIN[response.headers['content-encoding'] ?? ''] : undefined;
  const { statusCode: status, headers: fields, trailers } = response;
  return { status, headers: fields, trailers, body, text: (read ? read(body) : body).toString() };
}

t.test('responses on their way', async (t) => {
  const room = await setUp(t);

  await t.test('each coding that the client accepts, with the fields that follow from it', async (t) => {
    room.origin = (_request, response) =>
      page(response, { etag: '"abc"', 'accept-ranges': 'bytes', 'content-md5': 'x', 'repr-digest': 'sha-256=:AA==:' });
    for (const coding of ['gzip', 'br', 'zstd']) {
      const { status, headers, body, text } = await room.get('/', { 'accept-encoding': coding });
      t.match({ status, headers }, { status: 200, headers: { 'content-encoding': coding, etag: 'W/"abc"' } });
      t.match(headers, { vary: 'Accept-Encoding', 'content-type': 'text/html; charset=utf-8' });
      for (const gone of ['content-length', 'accept-ranges', 'content-md5', 'repr-digest'])
        t.notOk(headers[gone], gone);
      t.equal(text, TEXT);
      t.ok(body.length < TEXT.length / 10, `${body.length} octets of ${coding}`);
      const head = await room.get('/', { 'accept-encoding': coding }, 'HEAD');
      t.match(head.headers, { 'content-encoding': coding, etag: 'W/"abc"', vary: 'Accept-Encoding' });
      t.equal(head.headers['content-length'], undefined);
    }
    const plain = await room.get('/');
    t.match(plain.headers, { vary: 'Accept-Encoding', etag: '"abc"', 'content-length': String(TEXT.length) });
    t.equal(plain.headers['content-encoding'], undefined);
    const post = await room.get('/', { 'accept-encoding': 'gzip' }, 'POST');
    t.equal(post.headers['content-encoding'], 'gzip');
  });

  await t.test('origins are told a normal form, and clients without the field stay without it', async (t) => {
    const forms = ['gzip, deflate, br, zstd', 'br;q=0.3,gzip;q=0.7', 'deflate', 'gzip;q=0'];
    room.asked.length = 0;
    for (const form of forms) await room.get('/', { 'accept-encoding': form });
    await room.get('/');
    t.strictSame(room.asked, ['gzip, br', 'gzip, br', 'identity', 'identity', undefined]);
    const two = await room.raw(
      `GET / HTTP/1.1\r\nHost: ${HOST}\r\nAccept-Encoding: deflate\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
    );
    t.match(two, /content-encoding: gzip/i);
    t.equal(room.asked.at(-1), 'gzip', 'several lines are one field');
  });

  await t.test('what stays as it is', async (t) => {
    const encoded = gzipSync(TEXT);
    const rows: [why: string, RequestListener, headers?: Record<string, string>][] = [
      ['encoded by the origin', (_q, r) => page(r, { 'content-encoding': 'gzip', etag: '"a"' }, encoded)],
      ['no-transform', (_q, r) => page(r, { 'cache-control': 'private, no-transform', etag: '"a"' })],
      ['a picture', (_q, r) => page(r, { 'content-type': 'image/png', etag: '"a"' })],
      ['no type', (_q, r) => r.writeHead(200, { etag: '"a"' }).end(TEXT)],
      ['short', (_q, r) => page(r, { etag: '"a"' }, 'x'.repeat(1024))],
      [
        'short, of unknown length',
        (_q, r) =>
          void r.writeHead(200, { 'content-type': 'text/plain', etag: '"a"' }).write('x'.repeat(1024), () => r.end()),
      ],
      ['events', (_q, r) => page(r, { 'content-type': 'text/event-stream', etag: '"a"' })],
      [
        'a part',
        (_q, r) =>
          r
            .writeHead(206, { 'content-type': 'text/html', 'content-range': `bytes 0-9/${TEXT.length}`, etag: '"a"' })
            .end(TEXT.slice(0, 10)),
        { range: 'bytes=0-9' },
      ],
      ['nothing', (_q, r) => r.writeHead(204, { etag: '"a"' }).end()],
    ];
    for (const [why, origin, headers] of rows) {
      room.origin = origin;
      const got = await room.get('/', { 'accept-encoding': 'gzip, br', ...headers });
      t.equal(got.headers.etag, '"a"', why);
      t.equal(got.headers['content-encoding'], why.startsWith('encoded') ? 'gzip' : undefined, why);
      t.equal(got.headers.vary, undefined, `${why}: no Vary`);
    }
    room.origin = (_request, response) => page(response);
    const { headers: kept } = await room.get('/', {
      'accept-encoding': 'gzip',
      'cache-control': 'max-age=0,no-transform',
    });
    t.equal(kept['content-encoding'], undefined, 'no-transform of the client');
    const old = await room.raw(`GET / HTTP/1.0\r\nHost: ${HOST}\r\nAccept-Encoding: gzip\r\n\r\n`);
    t.notMatch(old, /content-encoding/i, 'HTTP/1.0 could not tell a whole body from one that was cut');
  });

  await t.test('a 304 has the tag that the client was given', async (t) => {
    room.origin = (_request, response) => response.writeHead(304, { etag: '"abc"' }).end();
    const asked = { 'accept-encoding': 'gzip' };
    const [weak, strong] = ['W/"abc"', '"abc"'].map((tag) => room.get('/', { ...asked, 'if-none-match': tag }));
    t.match((await weak!).headers, { etag: 'W/"abc"', vary: 'Accept-Encoding' });
    t.match((await strong!).headers, { etag: '"abc"' });
  });

  await t.test('a slow body of unknown length arrives as it comes, and trailers follow it', async (t) => {
    let go = (): void => {};
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', trailer: 'x-sum, content-digest' });
      response.write('first');
      go = () => {
        response.addTrailers({ 'x-sum': '5', 'content-digest': 'sha-256=:AA==:' });
        response.end('second');
      };
    };
    const asked = request({
      host: '127.0.0.1',
      port: room.httpPort,
      headers: { host: HOST, 'accept-encoding': 'gzip' },
    });
    asked.end();
    const [response] = await once(asked, 'response');
    t.equal(response.headers['content-encoding'], 'gzip');
    let text = '';
    for await (const piece of response.pipe(createGunzip())) {
      text += String(piece);
      if (text === 'first') go();
    }
    t.equal(text, 'firstsecond', 'the second part was sent after the first one had arrived');
    t.strictSame({ ...response.trailers }, { 'x-sum': '5' });
  });

  await t.test('HTTP/2', async (t) => {
    room.origin = (_request, response) => page(response, { etag: '"abc"' });
    const socket = await room.tls(HOST, { ALPNProtocols: ['h2'] });
    const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
    const stream = session.request({ ':path': '/', 'accept-encoding': 'gzip, br;q=0.1' });
    const [headers] = await once(stream, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    t.match(headers, { 'content-encoding': 'gzip', etag: 'W/"abc"', vary: 'Accept-Encoding' });
    t.equal(gunzipSync(Buffer.concat(chunks)).toString(), TEXT);
    session.close();
  });

  await t.test('an origin that dies in the middle: the client notices', async (t) => {
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 1e6 });
      response.write(TEXT, () => response.destroy());
    };
    await t.rejects(room.get('/', { 'accept-encoding': 'gzip' }));
    t.equal(heldBy(room), 0, 'nothing is held');
  });

  await t.test('a client that dies in the middle frees everything', async (t) => {
    const ended = Promise.withResolvers<void>();
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write(TEXT);
      response.on('close', ended.resolve);
    };
    const asked = request({ host: '127.0.0.1', port: room.httpPort, headers: { host: HOST, 'accept-encoding': 'br' } });
    asked.on('error', () => {}).end();
    await once(asked, 'response');
    t.ok(heldBy(room) > 0);
    asked.destroy();
    await ended.promise;
    while (heldBy(room) > 0) await new Promise(setImmediate);
  });

  await t.test('beyond the share of an account, responses stay plain', async (t) => {
    const open: ServerResponse[] = [];
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write(TEXT);
      open.push(response);
    };
    const codings: (string | undefined)[] = [];
    const all: ReturnType<typeof request>[] = [];
    for (let i = 0; i < 30; i++) {
      const asked = request({
        host: '127.0.0.1',
        port: room.httpPort,
        headers: { host: HOST, 'accept-encoding': 'br' },
      });
      all.push(asked.on('error', () => {}));
      asked.end();
      const [response] = await once(asked, 'response');
      codings.push(response.headers['content-encoding']);
    }
    t.equal(codings[0], 'br');
    t.equal(codings.at(-1), undefined);
    for (const asked of all) asked.destroy();
    while (heldBy(room) > 0) await new Promise(setImmediate);
    room.origin = (_request, response) => page(response);
    t.equal((await room.get('/', { 'accept-encoding': 'br' })).headers['content-encoding'], 'br', 'and then again');
  });

  await t.test('settings: brotli, and compression as a whole', async (t) => {
    room.origin = (_request, response) => page(response, { etag: '"abc"' });
    const coding = async (field: string) =>
      (await room.get('/', { 'accept-encoding': field })).headers['content-encoding'];
    await editZoneSetting(room.ctx, room.id, 'brotli', 'off');
    await room.heard();
    t.strictSame([await coding('br'), await coding('gzip, br')], [undefined, 'gzip']);
    await editZoneSetting(room.ctx, room.id, 'compression', 'off');
    await room.heard();
    const { headers, body } = await room.get('/', { 'accept-encoding': 'gzip, br, zstd' });
    t.match(headers, { etag: '"abc"', 'content-length': String(TEXT.length) });
    t.strictSame([headers['content-encoding'], headers.vary, body.toString()], [undefined, undefined, TEXT]);
  });
});

/** Octets that encoders hold. */
function heldBy({ edge }: EdgeWorld): number {
  return edge.samples().find(({ name }) => name === 'edge_compression_bytes')!.value;
}

/** Responses that were compressed, each time anew. */
function countOf({ edge }: EdgeWorld): number {
  const counts = edge.samples().filter(({ name }) => name === 'edge_compressed_total');
  return counts.reduce((sum, { value }) => sum + value, 0);
}

function storedBy({ edge }: EdgeWorld): number {
  return edge.samples().find(({ name }) => name === 'edge_cache_bytes')!.value;
}

t.test('stored responses', async (t) => {
  const room = await setUp(t);
  const kept = { 'cache-control': 'public, max-age=600', etag: '"abc"' };
  room.origin = (_request, response) => page(response, kept);
  const ask = (path: string, coding?: string, more: Record<string, string> = {}) =>
    room.get(path, { ...(coding !== undefined && { 'accept-encoding': coding }), ...more });

  await t.test('one body serves all, and is compressed once in each coding', async (t) => {
    room.asked.length = 0;
    const first = await ask('/a', 'gzip');
    t.match(first.headers, { 'cf-cache-status': 'MISS', 'content-encoding': 'gzip', etag: 'W/"abc"' });
    t.equal(first.text, TEXT);
    const [before, octets] = [countOf(room), storedBy(room)];
    for (let i = 0; i < 3; i++) {
      const again = await ask('/a', 'gzip, deflate');
      t.match(again.headers, { 'cf-cache-status': 'HIT', 'content-encoding': 'gzip', etag: 'W/"abc"' });
      t.match(again.headers, { 'content-length': String(again.body.length), vary: 'Accept-Encoding' });
      t.equal(again.text, TEXT);
    }
    t.equal(countOf(room), before, 'nothing is compressed again');
    const other = await ask('/a', 'gzip, br');
    t.match(other.headers, { 'cf-cache-status': 'HIT', 'content-encoding': 'br' });
    t.equal(other.text, TEXT);
    t.equal((await ask('/a', 'br')).body.compare(other.body), 0);
    t.equal(countOf(room), before + 1);
    t.ok(storedBy(room) >= octets + other.body.length, 'the form counts into what is stored');
    const plain = await ask('/a');
    t.match(plain.headers, { 'cf-cache-status': 'HIT', etag: '"abc"', vary: 'Accept-Encoding' });
    t.match(plain.headers, { 'content-length': String(TEXT.length), 'accept-ranges': 'bytes' });
    t.equal(plain.text, TEXT);
    const head = await room.get('/a', { 'accept-encoding': 'br' }, 'HEAD');
    t.match(head.headers, { 'content-encoding': 'br', 'content-length': String(other.body.length), etag: 'W/"abc"' });
    t.equal(room.asked.length, 1, 'the origin was asked once');
  });

  await t.test('conditions match both tags; ranges are those of the plain body', async (t) => {
    for (const tag of ['"abc"', 'W/"abc"']) {
      const got = await ask('/a', 'gzip', { 'if-none-match': tag });
      t.match(got, { status: 304, headers: { etag: 'W/"abc"', vary: 'Accept-Encoding' } });
    }
    t.match(await ask('/a', undefined, { 'if-none-match': 'W/"abc"' }), { status: 304, headers: { etag: '"abc"' } });
    const part = await ask('/a', 'gzip', { range: 'bytes=3-9' });
    t.match(part, { status: 206, text: TEXT.slice(3, 10), headers: { etag: '"abc"', vary: 'Accept-Encoding' } });
    t.equal(part.headers['content-encoding'], undefined);
    const strong = await ask('/a', 'gzip', { range: 'bytes=3-9', 'if-range': '"abc"' });
    t.equal(strong.status, 206);
    const weak = await ask('/a', 'gzip', { range: 'bytes=3-9', 'if-range': 'W/"abc"' });
    t.match(weak, { status: 200, text: TEXT, headers: { 'content-encoding': 'gzip' } });
  });

  await t.test('a response that is large, or of unknown length', async (t) => {
    const large = TEXT.repeat(4);
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/css', ...kept });
      response.write(large.slice(0, 99_999), () => response.end(large.slice(99_999)));
    };
    for (const result of ['MISS', 'HIT', 'HIT']) {
      const got = await ask('/b', 'br');
      t.match(got.headers, { 'cf-cache-status': result, 'content-encoding': 'br' });
      t.equal(got.text, large);
    }
    room.origin = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/css', ...kept });
      response.write('short', () => response.end());
    };
    t.match((await ask('/short', 'gzip')).headers, { 'cf-cache-status': 'MISS', etag: '"abc"' });
    t.match((await ask('/short', 'gzip')).headers, { 'cf-cache-status': 'HIT', etag: '"abc"' });
  });

  await t.test('many at once: one asks the origin, and one compresses', async (t) => {
    room.origin = (_request, response) => page(response, kept);
    await ask('/c');
    const before = countOf(room);
    const all = await Promise.all(Array.from({ length: 20 }, () => ask('/c', 'gzip')));
    for (const { text, headers } of all) t.strictSame([text, headers['content-encoding']], [TEXT, 'gzip']);
    t.equal(countOf(room), before + 1);
  });

  await t.test('what does not become smaller stays plain', async (t) => {
    const noise = Buffer.alloc(4096);
    for (let i = 0, x = 1; i < noise.length; i++) noise[i] = (x = (x * 1103515245 + 12345) & 0x7fffffff) >> 16;
    room.origin = (_request, response) => page(response, kept, noise);
    await ask('/noise', 'br');
    const again = await ask('/noise', 'br');
    t.match(again.headers, { 'cf-cache-status': 'HIT', 'content-length': '4096', etag: '"abc"' });
    t.equal(again.headers['content-encoding'], undefined);
  });

  await t.test('encodings of the origin are stored as it made them, for clients that accept them', async (t) => {
    const encoded = gzipSync(TEXT);
    room.origin = ({ headers }, response) => {
      const takesGzip = headers['accept-encoding']?.includes('gzip');
      if (takesGzip) page(response, { ...kept, 'content-encoding': 'gzip' }, encoded);
      else page(response, kept);
    };
    const gzip = await ask('/d', 'gzip');
    t.match(gzip.headers, { 'cf-cache-status': 'MISS', 'content-encoding': 'gzip', etag: '"abc"' });
    t.match((await ask('/d', 'gzip, deflate')).headers, { 'cf-cache-status': 'HIT', 'content-encoding': 'gzip' });
    // The response has no Vary, and yet no client gets what it cannot read.
    const plain = await ask('/d', 'identity');
    t.match(plain.headers, { 'cf-cache-status': 'MISS' });
    t.strictSame([plain.text, plain.headers['content-encoding']], [TEXT, undefined]);
  });

  await t.test('after a 304 of the origin, the forms are still there', async (t) => {
    room.origin = ({ headers }, response) => {
      if (headers['if-none-match'] === '"abc"') response.writeHead(304, { etag: '"abc"' }).end();
      else page(response, { ...kept, 'cache-control': 'public, max-age=0' });
    };
    await ask('/e', 'gzip');
    await ask('/e', 'gzip');
    const before = countOf(room);
    const confirmed = await ask('/e', 'gzip');
    t.match(confirmed.headers, { 'cf-cache-status': 'REVALIDATED', 'content-encoding': 'gzip', etag: 'W/"abc"' });
    t.equal(confirmed.text, TEXT);
    t.equal(countOf(room), before);
  });
});

t.test('without a cache', async (t) => {
  const room = await setUp(t, { cacheOctets: 0 });
  const { headers, text } = await room.get('/', { 'accept-encoding': 'zstd, gzip;q=0.9' });
  t.strictSame([headers['content-encoding'], text], ['zstd', TEXT]);
});
