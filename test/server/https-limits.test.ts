/** DNS over HTTPS and TLS with silent clients: real connections, small limits, time set by the test. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { parseName } from '../../src/dns/name.js';
import { countBlock, createCounters } from '../../src/server/counters.js';
import { startHttps } from '../../src/server/https.js';
import { HTTPS_LIMITS, HttpsConnections, type HttpsLimits } from '../../src/server/https-connections.js';
import { STREAM_LIMITS, StreamConnections } from '../../src/server/streams/stream-connections.js';
import { startTls } from '../../src/server/tls.js';
import { AnswerTurns } from '../../src/server/turns/answer-turns.js';
import { makeQuery } from '../support/message.js';
import { serveZones } from '../support/served-zones.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { TLS_CERTIFICATE, TLS_KEY } from './tls-credentials.js';

const ZONE = {
  apex: 'example.com.',
  text: `$ORIGIN example.com.
@ 300 SOA ns h 1 3600 600 86400 60
@ 300 NS ns
ns 300 A 192.0.2.1
large 300 TXT ${Array.from({ length: 200 }, (_, i) => `"${String(i).padEnd(250, 'x')}"`).join(' ')}
`,
};
const { answer } = serveZones([ZONE]);
const credentials = { certificate: TLS_CERTIFICATE, key: TLS_KEY };
const TYPE = 'application/dns-message';
const LOCAL = { host: '127.0.0.1', port: 0, log: silentLogger() };

async function startServer(
  t: Test,
  limits: Partial<HttpsLimits> = {},
  turns: Pick<AnswerTurns, 'take'> = new AnswerTurns(),
) {
  const clock = new TestClock();
  const counts = countBlock(createCounters(1).memory, 0);
  const connections = new HttpsConnections(counts, { ...HTTPS_LIMITS, ...limits }, clock);
  const listener = await startHttps({
    ...LOCAL,
    answer,
    turns,
    counts,
    connections,
    credentials,
    clock,
  });
  const opened: { destroy(): void }[] = [];
  t.teardown(() => {
    for (const one of opened) one.destroy();
    listener.close();
    connections.close();
  });
  const own = <Opened extends { destroy(): void }>(one: Opened): Opened => {
    opened.push(one);
    return one;
  };
  return {
    clock,
    connections,
    port: listener.port,
    async session(options: object = {}): Promise<ClientHttp2Session> {
      const at = { ca: TLS_CERTIFICATE, servername: 'ns1.zoneplane.test', ...options };
      const session = own(connectHttp2(`https://127.0.0.1:${listener.port}`, at));
      session.on('error', () => {});
      await once(session, 'remoteSettings');
      return session;
    },
    async secure(): Promise<Socket> {
      const at = { ca: TLS_CERTIFICATE, servername: 'ns1.zoneplane.test', ALPNProtocols: ['http/1.1'] };
      const socket = own(connectTls({ port: listener.port, host: '127.0.0.1', ...at }));
      socket.on('error', () => {}).resume();
      await once(socket, 'secureConnect');
      return socket;
    },
    async silent(): Promise<Socket> {
      const socket = own(connectTcp(listener.port, '127.0.0.1'));
      socket.on('error', () => {}).resume();
      await once(socket, 'connect');
      return socket;
    },
  };
}

function post(session: ClientHttp2Session, body: Buffer | undefined): ClientHttp2Stream {
  const stream = session.request({ ':method': 'POST', ':path': '/dns-query', 'content-type': TYPE });
  stream.on('error', () => {});
  if (body) stream.end(body);
  return stream;
}

async function isAnswered(session: ClientHttp2Session): Promise<boolean> {
  const stream = post(session, makeQuery(parseName('ns.example.com.'), 1));
  stream.resume();
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  return headers[':status'] === 200;
}

t.test('a handshake must end in ten seconds, even when its octets come one by one', async (t) => {
  const { clock, silent, session } = await startServer(t);
  const quiet = await silent();
  const slow = await silent();
  // The begin of a record of 512 octets.
  slow.write(Buffer.from([22, 3, 1, 2, 0]));
  // A whole connection after these two: they have arrived.
  await session();
  for (let second = 0; second < 9; second++) {
    clock.advance(1000);
    slow.write(Buffer.from([0]));
    await sleep(5);
  }
  t.notOk(quiet.destroyed || slow.destroyed);
  clock.advance(1000);
  await until(() => quiet.destroyed && slow.destroyed, 'both are gone');
});

t.test('a client with many silent connections blocks only itself', async (t) => {
  const { silent, session } = await startServer(t);
  const sockets = await Promise.all(Array.from({ length: 60 }, silent));
  await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 10, 'the oldest gave way');
  t.ok(await isAnswered(await session()));
});

t.test('DNS over TLS: the same', async (t) => {
  const clock = new TestClock();
  const counts = countBlock(createCounters(1).memory, 0);
  const context = { answer, answerTransfer: undefined, counts, log: silentLogger(), clock };
  const connections = new StreamConnections(context, STREAM_LIMITS, new AnswerTurns());
  const listener = await startTls({ ...LOCAL, connections, credentials, counts, clock });
  t.teardown(async () => {
    listener.close();
    await connections.close(100);
  });
  const sockets = Array.from({ length: 60 }, () => connectTcp(listener.port, '127.0.0.1').on('error', () => {}));
  for (const socket of sockets) socket.resume();
  await until(() => sockets.filter(({ destroyed }) => destroyed).length === 10, 'the oldest ten gave way');
  clock.advance(10_000);
  await until(() => sockets.every(({ destroyed }) => destroyed), 'the others have their time');
});

t.test('at the limit, the longest idle connection is closed', async (t) => {
  const { clock, session } = await startServer(t, { connectionsPerClient: 3 });
  const sessions: ClientHttp2Session[] = [];
  for (let i = 0; i < 3; i++) {
    sessions.push(await session());
    clock.advance(10);
  }
  t.ok(await isAnswered(sessions[0]!), 'the first is the latest now');
  clock.advance(10);
  t.ok(await isAnswered(await session()), 'a new one comes in');
  await until(() => sessions[1]!.destroyed, 'the second went');
  t.notOk(sessions[0]!.destroyed || sessions[2]!.destroyed);
});

t.test('quiet connections are closed: sessions, pings, slow header fields', async (t) => {
  const { clock, session, secure, connections } = await startServer(t);
  const quiet = await session();
  let told: number | undefined;
  quiet.on('goaway', (code) => {
    told = code;
  });
  const pinging = await session();
  const slow = await secure();
  slow.write('GET /dns-query?dns=AAAA HTTP/1.1\r\n');
  await until(() => connections.size === 3, 'three are open');
  for (let second = 0; second < 32; second++) {
    clock.advance(1000);
    if (!pinging.destroyed) pinging.ping(() => {});
    if (!slow.destroyed) slow.write('x: y\r\n');
    await sleep(2);
  }
  clock.advance(5000);
  await until(() => quiet.destroyed && pinging.destroyed && slow.destroyed, 'all are gone');
  t.equal(told, constants.NGHTTP2_NO_ERROR, 'a session is asked first');
  t.equal(connections.size, 0);
});

t.test('a request must end in ten seconds', async (t) => {
  const { clock, session, secure } = await startServer(t);
  const one = await session();
  const unfinished = post(one, undefined);
  unfinished.write(Buffer.alloc(100));
  const old = await secure();
  old.write(`POST /dns-query HTTP/1.1\r\nhost: a\r\ncontent-type: ${TYPE}\r\ncontent-length: 9999\r\n\r\nabc`);
  t.ok(await isAnswered(one), 'others on the connection are answered');
  await sleep(200);
  clock.advance(9000);
  t.notOk(unfinished.destroyed || old.destroyed);
  clock.advance(1500);
  await until(() => unfinished.destroyed && old.destroyed, 'both were ended');
  t.ok(await isAnswered(one), 'the session goes on');
});

t.test("one connection's memory is limited: unfinished requests, unread answers", async (t) => {
  const { session } = await startServer(t, { octetsPerConnection: 400_000 });
  const sender = await session();
  const streams = Array.from({ length: 20 }, () => post(sender, undefined));
  for (const stream of streams) stream.write(Buffer.alloc(60_000));
  await until(() => streams.filter(({ destroyed }) => destroyed).length >= 14, 'the latest are refused');
  t.ok(
    streams.some(({ destroyed }) => !destroyed),
    'the earliest stay',
  );
  const deaf = await session({ settings: { initialWindowSize: 0 } });
  const query = makeQuery(parseName('large.example.com.'), 16, { edns: 1232 });
  const waiting = Array.from({ length: 20 }, () => post(deaf, query));
  await until(() => waiting.filter(({ destroyed }) => destroyed).length >= 11, 'a window of zero too');
  t.ok(await isAnswered(await session()), 'others are answered');
});

t.test('the memory of all connections is limited: the largest one is closed', async (t) => {
  const { session, connections } = await startServer(t, { octets: 300_000 });
  const [large, small] = [await session(), await session()];
  for (let i = 0; i < 4; i++) post(large, undefined).write(Buffer.alloc(50_000));
  await sleep(100);
  for (let i = 0; i < 3; i++) post(small, undefined).write(Buffer.alloc(50_000));
  await until(() => large.destroyed, 'the large one went');
  t.notOk(small.destroyed);
  t.equal(connections.size, 1);
});

t.test('a client has a part of all requests that are not answered yet; more of them are refused', async (t) => {
  const waiting: { readonly client: string; readonly goOn: () => void; readonly isGone: () => boolean }[] = [];
  const turns: Pick<AnswerTurns, 'take'> = {
    take: ({ client }, _, goOn, isGone) => void waiting.push({ client, goOn, isGone: isGone! }),
  };
  const { session } = await startServer(t, { requestsPerClient: 2, requests: 8 }, turns);
  const [one, two, other] = [await session(), await session(), await session({ localAddress: '127.0.0.2' })];
  const query = makeQuery(parseName('ns.example.com.'), 1);
  const first = post(one, query);
  const begun = [first, post(two, query)];
  await until(() => waiting.length === 2, 'they wait for their turn');
  const refused = post(two, query);
  await until(() => refused.destroyed || waiting.length > 2, 'it waits for no turn');
  t.equal(refused.rstCode, constants.NGHTTP2_REFUSED_STREAM, 'it may be sent again');
  begun.push(post(other, query));
  await until(() => waiting.length === 3, 'another client has its own part');
  t.strictSame(
    waiting.map(({ client }) => client),
    ['127.0.0.1', '127.0.0.1', '127.0.0.2'],
  );
  const answers = begun.map(async (stream) => {
    stream.resume();
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    return headers[':status'];
  });
  const ended = once(first, 'close');
  for (const { goOn } of waiting) goOn();
  t.strictSame(await Promise.all(answers), [200, 200, 200]);
  await ended;
  const again = post(one, query);
  await until(() => waiting.length === 4, 'there is room again');
  t.notOk(waiting[3]!.isGone());
  again.close(constants.NGHTTP2_CANCEL);
  await until(() => waiting[3]!.isGone(), 'a request that is reset gives its turn to the next');
});

t.test('a connection of which too many requests are refused is closed', async (t) => {
  const waiting: (() => void)[] = [];
  const turns: Pick<AnswerTurns, 'take'> = { take: (_client, _frames, goOn) => void waiting.push(goOn) };
  const { clock, session, connections } = await startServer(t, { requestsPerClient: 1, refusals: 3 }, turns);
  const [one, two] = [await session(), await session()];
  const query = makeQuery(parseName('ns.example.com.'), 1);
  const first = post(one, query);
  await until(() => waiting.length === 1, 'it waits for its turn');
  let code: number | undefined;
  two.on('goaway', (told) => {
    code = told;
  });
  for (let i = 0; i < 3; i++) {
    const refused = post(two, query);
    await until(() => refused.destroyed, 'it is refused');
    t.equal(refused.rstCode, constants.NGHTTP2_REFUSED_STREAM);
  }
  t.notOk(two.destroyed);
  post(two, query);
  await until(() => two.destroyed, 'the connection is closed');
  t.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  clock.advance(2500);
  await until(() => connections.size === 1, 'it keeps no place');
  for (const goOn of waiting) goOn();
  const [headers] = (await once(first.resume(), 'response')) as [Record<string, unknown>];
  t.equal(headers[':status'], 200, 'the other one goes on');
});
