/**
 * What tenants and clients share at the edge: none of them can use up the connections to origins, or keep others waiting. Time runs
 * faster, so that waits of seconds pass; nothing depends on how fast the machine is.
 */
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { until } from '../support/until.js';
import { type EdgeWorld, startEdgeWorld } from './fixture.js';
import { QuickClock } from './quick-clock.js';
import { listenTo } from './raw-origin.js';

const A = 'www.a.test';
const B = 'www.b.test';
const [VISITOR, GREEDY] = ['127.0.0.2', '127.0.0.3'];
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Two zones with the same origin. It answers what `serve` says; requests of A get a short answer. */
async function startTwo(t: Test, serve: (socket: Socket, head: string) => void, options = {}): Promise<EdgeWorld> {
  const port = await listenTo(t, (socket, head) =>
    head.includes(`host: ${A}`) ? socket.write(OK) : serve(socket, head),
  );
  const world = await startEdgeWorld(t, options);
  for (const name of ['a.test', 'b.test']) {
    const id = await world.zone(name, port);
    await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  }
  await world.heard();
  return world;
}

interface Asked {
  readonly socket: Socket;
  text: string;
  isOver: boolean;
}

/** Sends a request from an address of this machine. `isRead`: its answer is read. */
function ask(t: Test, port: number, from: string, request: string, isRead = true): Asked {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  const asked: Asked = { socket, text: '', isOver: false };
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  socket.on('close', () => (asked.isOver = true));
  if (isRead) socket.on('data', (piece: Buffer) => (asked.text += piece.toString('latin1')));
  else socket.pause();
  socket.write(request);
  return asked;
}

const get = (host: string, path = '/'): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const post = (host: string): string => `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\n\r\nx`;
const answered = (asked: Asked): boolean => /\r\n\r\n/.test(asked.text) || asked.isOver;

function turnsOf({ edge }: EdgeWorld, name: string, labels: Readonly<Record<string, string>>): number {
  const found = edge
    .samples()
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
  return found.reduce((sum, { value }) => sum + value, 0);
}

t.test('an origin that answers nothing keeps no place of other zones, and not all of one client', async (t) => {
  const heard: string[] = [];
  const world = await startTwo(t, (_socket, head) => void heard.push(head), { clock: new QuickClock(20) });
  for (const request of [get(B), post(B)]) {
    heard.length = 0;
    const asked = Array.from({ length: 256 }, () => ask(t, world.httpPort, GREEDY, request));
    await until(() => heard.length >= 32);
    const other = ask(t, world.httpPort, VISITOR, get(A));
    await until(() => answered(other));
    t.match(other.text, /^HTTP\/1\.1 200 /, 'another client at another zone');
    const neighbour = ask(t, world.httpPort, VISITOR, get(B));
    await until(() => heard.length >= 33);
    t.equal(heard.length, 33, 'another client at the same zone reaches the origin');
    await until(() => asked.filter(answered).length >= 224);
    const refused = asked.filter(answered);
    t.equal(refused.length, 224, 'the others of the greedy client do not wait for ever');
    t.ok(refused.every(({ text }) => /^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n/i.test(text)));
    const own = ask(t, world.httpPort, GREEDY, get(A));
    await until(() => answered(own));
    t.match(own.text, /^HTTP\/1\.1 200 /, 'the greedy client, at another zone');
    for (const { socket } of [...asked, neighbour]) socket.destroy();
    await until(() => turnsOf(world, 'turns_held', { kind: 'origin' }) === 0);
  }
  t.ok(turnsOf(world, 'turns_refused_total', { kind: 'origin-client', reason: 'late' }) >= 224, 'they are counted');
});

t.test('one client through many zones has no more connections than through one', async (t) => {
  let open = 0;
  let most = 0;
  const port = await listenTo(t, (socket, head) => {
    most = Math.max(most, ++open);
    socket.once('close', () => open--);
    if (head.includes('/answer')) socket.write(OK);
  });
  const world = await startEdgeWorld(t, { clock: new QuickClock(20) });
  const hosts = ['c', 'd', 'e', 'f', 'g'].map((name) => `www.${name}.test`);
  for (const host of hosts) await world.zone(host.slice(4), port);
  const asked = hosts
    .slice(0, 4)
    .flatMap((host) => Array.from({ length: 32 }, () => ask(t, world.httpPort, GREEDY, get(host))));
  await until(() => open === 32);
  const last = ask(t, world.httpPort, GREEDY, get(hosts[4]!, '/answer'));
  await until(() => answered(last));
  t.match(last.text, /^HTTP\/1\.1 200 /, 'a fifth zone gets a place of those that hold more');
  await until(() => asked.filter(answered).length >= 96);
  t.ok(most <= 33, `${most} at once`);
});

t.test('downloads that nobody reads do not keep others from the origin, and end', async (t) => {
  const large = Buffer.alloc(1 << 22);
  const world = await startTwo(
    t,
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${large.length * 4}\r\n\r\n`);
      for (let i = 0; i < 4; i++) socket.write(large);
    },
    { clock: new QuickClock(40) },
  );
  const unread = Array.from({ length: 270 }, () => ask(t, world.httpPort, GREEDY, get(B), false));
  await until(() => turnsOf(world, 'turns_held', { kind: 'origin' }) === 32);
  for (const from of [VISITOR, GREEDY]) {
    const other = ask(t, world.httpPort, from, get(A));
    await until(() => answered(other));
    t.match(other.text, /^HTTP\/1\.1 200 /, from);
  }
  await until(() => turnsOf(world, 'edge_stalled_clients', {}) >= 30);
  t.pass('a client that takes nothing is cut');
  for (const { socket } of unread) socket.destroy();
});

t.test('a response that fits a buffer is read ahead, so that its connection is free', async (t) => {
  const octets = 900_000;
  const world = await startTwo(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${octets}\r\n\r\n`);
    socket.write(Buffer.alloc(octets, 'x'));
  });
  const socket = await world.tls(B, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${B}`, { createConnection: () => socket, settings: { initialWindowSize: 0 } });
  t.teardown(() => session.destroy());
  let begun = 0;
  const got = Array.from({ length: 4 }, () => ({ octets: 0 }));
  for (const one of got) {
    const stream = session.request({ ':path': '/' });
    stream.on('response', () => begun++);
    stream.on('data', (piece: Buffer) => (one.octets += piece.length));
  }
  await until(() => begun === 4 && turnsOf(world, 'turns_held', { kind: 'origin' }) === 0);
  t.ok(
    got.every((one) => one.octets === 0),
    'no place is held though nothing was read',
  );
  session.settings({ initialWindowSize: 1 << 20 });
  session.setLocalWindowSize(1 << 24);
  await until(() => got.every((one) => one.octets === octets));
  t.pass('and what waited comes whole');
});

t.test('streams of HTTP/2 whose window stays shut', async (t) => {
  const world = await startTwo(
    t,
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1 << 24}\r\n\r\n`);
      socket.write(Buffer.alloc(1 << 20));
    },
    { clock: new QuickClock(40) },
  );
  const streams = await Promise.all(
    [1, 2, 3].map(async () => {
      const socket = await world.tls(B, { ALPNProtocols: ['h2'] });
      const session = connectHttp2(`https://${B}`, {
        createConnection: () => socket,
        settings: { initialWindowSize: 0 },
      });
      session.on('error', () => {});
      t.teardown(() => session.destroy());
      return Array.from({ length: 100 }, () => session.request({ ':path': '/' }));
    }),
  );
  let ended = 0;
  let begun = 0;
  for (const stream of streams.flat()) {
    stream.on('error', () => {});
    stream.on('response', (headers) => (begun += headers[':status'] === 200 ? 1 : 0));
    stream.once('close', () => ended++);
  }
  await until(() => begun >= 32);
  for (const from of [VISITOR, '127.0.0.1']) {
    const other = ask(t, world.httpPort, from, get(A));
    await until(() => answered(other));
    t.match(other.text, /^HTTP\/1\.1 200 /, from);
  }
  await until(() => ended >= 300);
  t.pass('all of them end');
});

t.test('octets after a response answer no request of another zone, and are not stored', async (t) => {
  const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=60\r\n\r\nevil';
  let late = (): void => {};
  const script: Readonly<Record<string, (socket: Socket) => void>> = {
    '/with': (socket) => socket.write(OK + evil),
    '/after': (socket) => {
      socket.write(OK);
      setImmediate(() => socket.write(evil));
    },
    '/late': (socket) => {
      socket.write(OK);
      late = () => socket.write(evil);
    },
  };
  const world = await startTwo(t, (socket, head) => script[head.split(' ')[1]!]!(socket));
  const tls = async (host: string, path: string): Promise<string> => {
    const socket = await world.tls(host);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const piece of socket) text += (piece as Buffer).toString('latin1');
    return text;
  };
  for (const path of Object.keys(script)) {
    for (let i = 0; i < 4; i++) {
      t.match(await tls(B, path), /\r\n\r\nok$/);
      t.match(await tls(A, `/${i}.js`), /\r\n\r\nok$/, `${path}: another zone`);
      // While no request of B is under way, to which it would be the answer.
      late();
      await sleep(i * 10);
      t.match(await tls(A, `/${i}.js`), /\r\n\r\nok$/, `${path}: what is stored`);
    }
  }
});

const UPGRADE = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const openWebSocket = (host: string): string =>
  `GET /ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\n${UPGRADE}\r\n`;
const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

t.test('WebSockets of one client have a bound, and give way to those of others', async (t) => {
  const port = await listenTo(t, (socket) => socket.write(AGREED));
  const world = await startEdgeWorld(t, { clock: new QuickClock(20) });
  for (const name of ['a.test', 'b.test']) await world.zone(name, port);
  const many = Array.from({ length: 300 }, () => ask(t, world.httpPort, GREEDY, openWebSocket(B)));
  await until(() => many.filter(({ text }) => text.startsWith('HTTP/1.1 101')).length >= 256);
  await until(() => many.every(answered));
  const refused = many.filter(({ text }) => /^HTTP\/1\.1 503 [\s\S]*retry-after: 5/i.test(text));
  t.equal(refused.length, 44);
  for (const from of [VISITOR, GREEDY]) {
    const other = ask(t, world.httpPort, from, openWebSocket(A));
    await until(() => answered(other));
    t.match(other.text, /^HTTP\/1\.1 101 /, from);
    const request = ask(t, world.httpPort, from, `GET / HTTP/1.1\r\nHost: ${A}\r\n\r\n`);
    await until(() => answered(request));
  }
  for (const { socket } of many) socket.destroy();
  await until(() => turnsOf(world, 'turns_held', { kind: 'websocket' }) === 2);
});

t.test('a WebSocket of which one side takes nothing ends', async (t) => {
  let origin: Socket | undefined;
  const port = await listenTo(t, (socket) => {
    origin = socket;
    socket.write(AGREED);
  });
  const world = await startEdgeWorld(t, { clock: new QuickClock(60) });
  await world.zone('b.test', port);
  const one = ask(t, world.httpPort, VISITOR, openWebSocket(B));
  await until(() => answered(one));
  await sleep(1500);
  t.notOk(one.isOver, 'nothing is said, so nothing is missing');
  one.socket.pause();
  origin!.write(Buffer.alloc(1 << 24));
  await until(() => origin!.destroyed);
  const two = ask(t, world.httpPort, VISITOR, openWebSocket(B));
  await until(() => answered(two));
  origin!.pause();
  two.socket.write(Buffer.alloc(1 << 24));
  await until(() => two.isOver);
  t.pass('nor may the origin');
});
