/** The short way of usual requests answers as the general one does, whatever the origin or the client does meanwhile. */
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { until } from '../../support/until.js';
import { type EdgeWorld, exchange, startEdgeWorld } from '../fixture.js';
import { listenTo } from '../raw-origin.js';

const HOST = 'www.a.test';
const LONG = Buffer.alloc(5 << 20, 'abcdefghij');
const head = (fields: string, first = '200 OK'): string => `HTTP/1.1 ${first}\r\n${fields}\r\n`;
const ok = (fields: string): string => `${head(`Content-Length: 2\r\n${fields}`)}ok`;

/** More than is read at once, and less. */
const MARKS = ['a-700000', 'b-140000', 'c-1200000', 'd-20000'];

function marked(mark: string): Buffer {
  return Buffer.alloc(Number(mark.split('-')[1]), mark);
}

/** By path: pieces that the origin writes one after the other; `end`: it ends the connection then. */
const RESPONSES: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  '/usual': [ok('X-A: 1\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n')],
  '/dated': [ok('Date: Thu, 26 Nov 2026 14:00:00 GMT\r\n')],
  '/empty': [head('Content-Length: 0\r\n')],
  '/missing': [`${head('Content-Length: 2\r\n', '404 No')}no`],
  '/last': [ok('Connection: close\r\n'), 'end'],
  '/pieces': [head('Content-Length: 6\r\n'), 'abc', 'def'],
  '/split': ['HTTP/1.1 200 OK\r\nContent-Le', 'ngth: 2\r\n\r\nok'],
  '/chunked': [head('Transfer-Encoding: chunked\r\n'), '2\r\nok\r\n0\r\n\r\n'],
  '/until-close': [head('X-A: 1\r\n'), 'ok', 'end'],
  '/none': [head('X-A: 1\r\n', '204 No Content')],
  '/hints': ['HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', ok('')],
  '/listed': [ok('Connection: x-a\r\nX-A: 1\r\n')],
  '/text': [`${head('Content-Type: text/plain\r\nContent-Length: 2000\r\n')}${'t'.repeat(2000)}`],
  '/narrow': [ok('x:\r\n'.repeat(2200))],
  '/wide': [ok(`X-Wide: ${'w'.repeat(15_000)}\r\n`)],
  '/large': [`${head('Content-Length: 100000\r\nX-A: 1\r\n')}${'l'.repeat(100_000)}`],
  '/both': [`${head('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n')}ok`],
  '/strange': ['SSH-2.0-OpenSSH\r\n'],
  '/gone': ['end'],
  '/cut': [head('Content-Length: 6\r\n'), 'abc', 'end'],
  '/more': [`${ok('')}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`],
};

/** `silent`: connections over which the edge waits for an answer. */
async function start(t: Test): Promise<{ world: EdgeWorld; asked: string[]; open: Set<Socket>; silent: Socket[] }> {
  const asked: string[] = [];
  const silent: Socket[] = [];
  const open = new Set<Socket>();
  const port = await listenTo(t, (socket, request) => {
    const path = request.split(' ')[1]!.replace(/\?.*/, '');
    asked.push(path);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (path === '/silent') {
      silent.push(socket);
      return;
    }
    if (path === '/twice') {
      socket.write(ok('ETag: "a"\r\nETag: "b"\r\n'));
      return;
    }
    if (path === '/for-all') {
      socket.write(ok('Cache-Control: public, max-age=600\r\n'));
      return;
    }
    if (path === '/asked') {
      socket.write(`${head(`Content-Length: ${request.length}\r\n`)}${request}`);
      return;
    }
    if (path === '/marked') {
      const body = marked(/\?(\S+)/.exec(request)![1]!);
      socket.write(Buffer.concat([Buffer.from(head(`Content-Length: ${body.length}\r\n`)), body]));
      return;
    }
    if (path === '/long') {
      socket.write(head(`Content-Length: ${LONG.length}\r\n`));
      socket.write(LONG);
      return;
    }
    const write = (at: number): void => {
      const piece = RESPONSES[path]![at];
      if (piece === undefined) return;
      if (piece === 'end') socket.end();
      else socket.write(piece, () => setImmediate(() => write(at + 1)));
    };
    write(0);
  });
  const world = await startEdgeWorld(t);
  const id = await world.zone('a.test', port);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
  return { world, asked, open, silent };
}

const started = start(t);

/** With one field more, Node's server reads the request, and the general way answers it. */
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${more}\r\n`;
const GENERAL = 'Keep-Alive: x\r\nConnection: close\r\n';

/** What does not differ between two responses. */
function comparable(text: string): unknown {
  const parts = text.split('\r\n\r\n');
  const [lines, body] = [parts.slice(0, -1).join('\n').split(/\r?\n/), parts.at(-1)!];
  const kept = lines
    .filter((line) => !/^(?:cf-ray|date|connection|keep-alive):/i.test(line))
    .map((line) => line.toLowerCase());
  return { first: kept[0], fields: kept.slice(1).sort(), body: body.replace(/[0-9a-f]{16}/g, 'ray') };
}

t.test('each response comes as it does on the general way', async (t) => {
  const { world } = await started;
  for (const path of Object.keys(RESPONSES)) {
    const general = await world.raw(get(path, GENERAL));
    const here = await world.raw(get(path, 'Connection: close\r\n'));
    t.strictSame(comparable(here), comparable(general), path);
    t.match(here, /cf-ray: [0-9a-f]{16}/i, path);
  }
  const { edge } = world;
  t.equal(edge.samples().find(({ name }) => name === 'turns_held')?.value, 0, 'no place is held');
});

t.test('so it does over HTTP/2', async (t) => {
  const { world } = await started;
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
  t.teardown(() => session.destroy());
  const ask = async (path: string) => {
    const stream = session.request({ ':path': path });
    let head: Record<string, unknown> = {};
    let body = '';
    stream.on('response', (fields) => (head = { ...fields }));
    stream.on('data', (piece: Buffer) => (body += piece.toString()));
    stream.on('error', () => {});
    await new Promise((resolve) => stream.once('close', resolve));
    return { head, body, code: stream.rstCode };
  };
  const unlike = (said: string): string =>
    said.replace(/transfer-encoding: chunked\r\n|(?<=^HTTP\/1\.1 \d{3}) .*/gi, '');
  // Node's client does not take that many fields.
  for (const path of Object.keys(RESPONSES).filter((one) => one !== '/narrow')) {
    const general = await world.raw(get(path, GENERAL));
    const { head, body } = await ask(path);
    const { ':status': status, ...fields } = head;
    const lines = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
    const text = `HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
    const known = general.replace(/^HTTP\/1\.1 103[\s\S]*?\r\n\r\n/, '').replace(/2\r\nok\r\n0\r\n\r\n$/, 'ok');
    t.strictSame(comparable(text), comparable(unlike(known)), path);
    t.match(head, { 'cf-ray': /^[0-9a-f]{16}$/, date: / GMT$/ }, path);
  }
  t.match((await ask('/twice')).head, { etag: '"a"' }, 'of a field that may occur once, the first counts');
  const together = await Promise.all(['/usual', '/cut', '/pieces', '/chunked'].map(ask));
  t.match(together, [
    { body: 'ok', code: 0 },
    { body: 'abc', code: 2 },
    { body: 'abcdef', code: 0 },
    { body: 'ok', code: 0 },
  ]);
  t.equal(world.edge.samples().find(({ name }) => name === 'turns_held')?.value, 0, 'no place is held');
});

t.test('a client over HTTP/2 that reads late gets everything, and one that leaves ends its exchange', async (t) => {
  const { world } = await started;
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
  t.teardown(() => session.destroy());
  const long = session.request({ ':path': '/long' });
  await new Promise((resolve) => long.once('response', resolve));
  await new Promise((resolve) => setTimeout(resolve, 20));
  let octets = 0;
  long.on('data', (piece: Buffer) => (octets += piece.length));
  await new Promise((resolve) => long.once('close', resolve));
  t.equal(octets, LONG.length);
  const left = session.request({ ':path': '/long' });
  await new Promise((resolve) => left.once('response', resolve));
  left.close();
  await until(() => world.edge.samples().find(({ name }) => name === 'turns_held')?.value === 0);
});

t.test('one connection carries responses of all kinds, in order', async (t) => {
  const { world } = await started;
  const paths = ['/usual', '/chunked', '/empty', '/split', '/text', '/last', '/pieces', '/usual'];
  const text = await world.raw(
    paths.map((path, i) => get(path, i === paths.length - 1 ? 'Connection: close\r\n' : '')).join(''),
  );
  t.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, paths.length);
  t.match(text.replace(/\s/g, ' '), /ok.*2 {2}ok.*ok.*ttt.*ok.*abcdef.*ok$/);
});

t.test('what connections of one client have in common is not how each of them came', async (t) => {
  const { world } = await started;
  const same = get('/asked', 'Connection: close\r\n');
  // Whichever comes first, and while the fields are new, known, and known to repeat.
  for (let i = 0; i < 3; i++) {
    t.match(await world.raw(same), /\nx-forwarded-proto: http\r\n/);
    t.match(await exchange(await world.tls(HOST), same), /\nx-forwarded-proto: https\r\n/);
  }
});

t.test('a response that caches may store is stored', async (t) => {
  const { world, asked } = await started;
  const results = [];
  for (let i = 0; i < 3; i++) {
    const text = await world.raw(get('/for-all', 'Connection: close\r\n'));
    results.push(/cf-cache-status: (\w+)/.exec(text)?.[1]);
  }
  t.strictSame(results, ['MISS', 'HIT', 'HIT']);
  t.equal(asked.filter((path) => path === '/for-all').length, 1);
});

t.test('a request that waits for the one before is not changed by what others send', async (t) => {
  const { world, silent } = await started;
  const heard = world.raw(get('/silent') + get('/missing', 'Connection: close\r\n'));
  await until(() => silent.length > 0);
  t.match(await world.raw(get(`/usual?${'u'.repeat(4000)}`, 'Connection: close\r\n')), /^HTTP\/1\.1 200 /);
  silent.pop()!.write(ok(''));
  t.match(await heard, /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 404 [\s\S]*no$/);
});

t.test('hints for a request that waits for the one before do not come into its body', async (t) => {
  const { world, asked, silent } = await started;
  const before = asked.length;
  const heard = world.raw(get('/silent', 'Keep-Alive: x\r\n') + get('/hints', GENERAL));
  await until(() => asked.length === before + 2 && silent.length > 0 && held(world) === 1);
  silent.pop()!.write(ok(''));
  const text = await heard;
  t.match(text, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\nokHTTP\/1\.1 200 [\s\S]*\r\n\r\nok$/);
  t.notMatch(text, /HTTP\/1\.1 103/);
});

t.test('a response that is cut while it waits ends the connection behind the one before', async (t) => {
  const { world, asked, silent } = await started;
  const before = asked.length;
  const heard = world.raw(['/silent', '/cut', '/usual'].map((path) => get(path, 'Keep-Alive: x\r\n')).join(''));
  await until(() => asked.length === before + 3 && held(world) === 1);
  silent.pop()!.write(ok(''));
  t.match(await heard, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\nok$/);
  await until(() => held(world) === 0);
});

t.test('a client whose request waits for the one before is asked for its body when that is answered', async (t) => {
  const { world, silent } = await started;
  const expecting = 'Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n';
  const text = get('/silent', 'Keep-Alive: x\r\n') + get('/silent', expecting).replace('GET', 'POST');
  const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
  const early = world.raw(text);
  await until(() => silent.length === 2);
  silent.pop()!.write(goOn + ok(''));
  await until(() => held(world) === 1);
  silent.pop()!.write(ok(''));
  t.notMatch(await early, goOn, 'not when it has its answer');
  const socket = connect(world.httpPort, '127.0.0.1');
  let heard = '';
  socket.on('data', (piece) => (heard += piece.toString('latin1')));
  socket.write(text);
  await until(() => silent.length === 2);
  const second = silent.pop()!;
  second.write(goOn);
  silent.pop()!.write(ok(''));
  await until(() => heard.endsWith(`\r\n\r\nok${goOn}`));
  socket.write('ab');
  second.write(ok(''));
  await until(() => /100 Continue\r\n\r\nHTTP\/1\.1 200 [\s\S]*\r\n\r\nok$/.test(heard));
});

t.test('a client that says at once that it sends nothing more gets its answer', async (t) => {
  const { world } = await started;
  const last = get('/for-all', 'Connection: close\r\n');
  await world.raw(last);
  // Over TLS, it is another object.
  await exchange(await world.tls(HOST), last);
  for (const open of [() => connect(world.httpPort, '127.0.0.1'), () => world.tls(HOST)]) {
    // Of a new connection over TLS, the request and the end come with the end of the handshake, within one turn.
    const asked = { '/for-all': 'HIT', '/usual': 'DYNAMIC', '/chunked': 'DYNAMIC', '/long': 'DYNAMIC' };
    for (const [path, result] of Object.entries(asked)) {
      const socket = await open();
      const heard = exchange(socket, get(path));
      socket.end();
      t.match(await heard, new RegExp(`cf-cache-status: ${result}\r\n`), path);
      if (path === '/long') t.ok((await heard).endsWith(`\r\n\r\n${LONG}`), 'all of it');
    }
    const socket = await open();
    const heard = exchange(socket, get('/usual') + get('/for-all') + get('/missing'));
    socket.end();
    t.strictSame((await heard).match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404']);
    const other = await open();
    const posted = exchange(other, `POST /usual HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 2\r\n\r\nab`);
    other.end();
    t.match(await posted, /^HTTP\/1.1 200 [\s\S]*ok$/, 'on the way of other requests');
    const idle = await open();
    idle.end();
    t.equal(await exchange(idle, ''), '');
  }
});

t.test('a client that reads slowly gets everything, and one that leaves ends its exchange', async (t) => {
  const { world, open } = await started;
  const slow = connect({ port: world.httpPort, host: '127.0.0.1' });
  t.teardown(() => slow.destroy());
  slow.pause();
  slow.write(get('/marked?s-8000000'));
  await until(() => held(world) === 1);
  // Octets of others come meanwhile to where those were read that its connection cannot take.
  for (let i = 0; i < 5; i++) {
    const text = await world.raw(get(`/marked?${i}-140000`, 'Connection: close\r\n'));
    t.ok(text.endsWith(`\r\n\r\n${marked(`${i}-140000`)}`));
  }
  const body = marked('s-8000000');
  const got: Buffer[] = [];
  let octets = 0;
  const received = new Promise<void>((resolve) => {
    slow.on('data', (piece: Buffer) => {
      got.push(piece);
      octets += piece.length;
      slow.pause();
      setImmediate(() => slow.resume());
      if (octets > body.length) resolve();
    });
  });
  slow.resume();
  await received;
  const all = Buffer.concat(got);
  t.ok(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(body), 'nothing but its own');
  t.match(await world.raw(get('/usual', 'Connection: close\r\n')), /ok$/);

  const leaving = connect({ port: world.httpPort, host: '127.0.0.1' });
  leaving.on('error', () => {});
  leaving.write(get('/silent'));
  await until(() => open.size > 0 && held(world) === 1);
  leaving.resetAndDestroy();
  await until(() => held(world) === 0);

  const cutting = connect({ port: world.httpPort, host: '127.0.0.1' });
  cutting.on('error', () => {});
  cutting.pause();
  cutting.write(get('/long'));
  await until(() => held(world) === 1);
  cutting.destroy();
  await until(() => held(world) === 0);
  t.match(await world.raw(get('/usual', 'Connection: close\r\n')), /ok$/);
});

t.test('bodies that come at once are each of its own client, however it reads', async (t) => {
  const { world } = await started;
  const bodyOf = async (stream: AsyncIterable<Buffer>, isSlow: boolean): Promise<Buffer> => {
    const got: Buffer[] = [];
    for await (const piece of stream) {
      got.push(piece);
      if (isSlow) await turn();
    }
    return Buffer.concat(got);
  };
  const tls = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const settings = { initialWindowSize: 1 << 20 };
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => tls, settings });
  t.teardown(() => session.destroy());
  const asked: Promise<void>[] = [];
  for (const mark of MARKS) {
    for (const isSlow of [false, true]) {
      const check = (got: Buffer, over: string): void => {
        t.ok(got.equals(marked(mark)), `${mark} ${over}, ${isSlow}`);
      };
      for (const socket of [connect(world.httpPort, '127.0.0.1'), await world.tls(HOST)]) {
        socket.write(get(`/marked?${mark}`, 'Connection: close\r\n'));
        const read = async () => {
          const got = await bodyOf(socket, isSlow);
          check(got.subarray(got.indexOf('\r\n\r\n') + 4), socket.constructor.name);
        };
        asked.push(read());
      }
      const stream = session.request({ ':path': `/marked?${mark}` });
      asked.push(bodyOf(stream, isSlow).then((got) => check(got, 'HTTP/2')));
    }
  }
  await Promise.all(asked);
});

function held({ edge }: EdgeWorld): number | undefined {
  return edge.samples().find(({ name, labels }) => name === 'turns_held' && labels['kind'] === 'origin')?.value;
}
