/** Stored responses over HTTP/2: without a stream object of Node's server, they are what they are with it. */
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { until } from '../../support/until.js';
import { type EdgeWorld, startEdgeWorld } from '../fixture.js';
import { QuickClock } from '../quick-clock.js';
import { listenTo } from '../raw-origin.js';

const HOST = 'www.a.test';
const STORED =
  'Cache-Control: public, max-age=9000000\r\nETag: "one"\r\nDate: Thu, 26 Nov 2026 14:00:00 GMT\r\nCF-Ray: another';

async function start(t: Test): Promise<{ world: EdgeWorld; asked: string[] }> {
  const asked: string[] = [];
  const port = await listenTo(t, (socket, head) => {
    const path = head.split(' ')[1]!;
    asked.push(path);
    const body = path === '/empty' ? '' : `body of ${path}`;
    socket.write(`HTTP/1.1 200 OK\r\n${STORED}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  // Time runs faster, so that whoever takes nothing is noticed. Nothing else is to end by it.
  const longest = 1e9;
  const world = await startEdgeWorld(t, {
    clock: new QuickClock(200),
    handshakeMs: longest,
    originTimes: { connectMs: longest, waitMs: longest, keepAliveMs: longest },
  });
  for (const name of ['a.test', 'b.test']) {
    await editZoneSetting(world.ctx, await world.zone(name, port), 'ssl', 'flexible');
  }
  await world.heard();
  return { world, asked };
}

async function open(t: Test, world: EdgeWorld, settings = {}): Promise<ClientHttp2Session> {
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connect(`https://${HOST}`, { createConnection: () => socket, settings });
  session.on('error', () => {});
  t.teardown(() => session.destroy());
  return session;
}

/** What makes a request unusual, but not its answer. */
const GENERAL = { expect: '100-continue' };

function get(session: ClientHttp2Session, path: string, more: IncomingHttpHeaders = {}) {
  const stream = session.request({ ':path': path, ...more }, { endStream: true });
  const head = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
  return Promise.all([head, text(stream)]);
}

/** What does not differ between two responses. */
function comparable([head, body]: readonly [IncomingHttpHeaders, string]): unknown {
  const kept = Object.entries(head).filter(([name]) => !['age', 'cf-ray', 'cache-status'].includes(name));
  return { head: kept.sort(), body };
}

const countOf = ({ edge }: EdgeWorld, name: string, status?: string): number =>
  edge.samples().find((one) => one.name === name && (!status || one.labels['status'] === status))?.value ?? 0;

const started = start(t);

t.test('a stored response comes as it does on the general way, to each request with its own ray', async (t) => {
  const { world, asked } = await started;
  const session = await open(t, world);
  for (const path of ['/a', '/empty']) {
    await get(session, path);
    const general = await get(session, path, GENERAL);
    const usual = await Promise.all([get(session, path), get(session, path)]);
    for (const one of usual) t.strictSame(comparable(one), comparable(general), path);
    t.equal(general[0]['cf-cache-status'], 'HIT');
    const rays = [...usual, general].map(([head]) => String(head['cf-ray']));
    t.equal(new Set(rays.filter((ray) => /^[0-9a-f]{16}$/.test(ray))).size, 3, 'three rays, none of another edge');
  }
  t.strictSame(asked, ['/a', '/empty']);
  const [unchanged] = await get(session, '/a', { 'if-none-match': '"one"' });
  t.equal(unchanged[':status'], 304);
  const [part, piece] = await get(session, '/a', { range: 'bytes=0-3' });
  t.strictSame([part[':status'], piece], [206, 'body']);
  const [head, none] = await get(session, '/a', { ':method': 'HEAD' });
  t.strictSame([head[':status'], head['content-length'], none], [200, '10', '']);
  const [elsewhere] = await get(session, '/a', { ':authority': 'www.b.test' });
  t.equal(elsewhere[':status'], 421, 'the connection is for another host');
  const [unclear] = await get(session, '/a', { ':authority': HOST, host: 'www.b.test' });
  t.equal(unclear[':status'], 400);
  const [again, body] = await get(session, '/a');
  t.strictSame([again[':status'], body], [200, 'body of /a']);
});

t.test('a client that takes nothing is cut, and one that resets or leaves ends its own streams', async (t) => {
  const { world } = await started;
  const before = countOf(world, 'edge_requests_total', '200');
  const shut = await open(t, world, { initialWindowSize: 0 });
  const streams = [1, 2, 3].map(() => shut.request({ ':path': '/a' }));
  let begun = 0;
  let cut = 0;
  for (const stream of streams) {
    stream.on('error', () => {});
    stream.once('response', () => begun++);
    stream.once('close', () => (cut += stream.rstCode === constants.NGHTTP2_INTERNAL_ERROR ? 1 : 0));
  }
  await until(() => begun === 3);
  streams[0]!.close(constants.NGHTTP2_CANCEL);
  await until(() => cut === 2);
  t.equal(countOf(world, 'edge_stalled_clients'), 2);
  await until(() => countOf(world, 'edge_requests_total', '200') === before + 3);
  const leaving = await open(t, world, { initialWindowSize: 0 });
  const left = leaving.request({ ':path': '/a' });
  left.on('error', () => {});
  await new Promise((resolve) => left.once('response', resolve));
  leaving.destroy();
  await until(() => countOf(world, 'edge_requests_total', '200') === before + 4);
  const session = await open(t, world);
  t.equal((await get(session, '/a'))[1], 'body of /a');
  await until(() => countOf(world, 'edge_requests_total', '200') === before + 5);
  t.equal(countOf(world, 'edge_stalled_clients'), 2);
});
