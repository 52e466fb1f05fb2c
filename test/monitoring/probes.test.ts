/** Probes of real servers: those that answer, die, stall, lie, present wrong certificates, and lead elsewhere. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { monitorOfMembers } from '../../src/balancing/monitor.js';
import { SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { createPinger } from '../../src/monitoring/probes/ping.js';
import { type ProbeParts, probe, type Target } from '../../src/monitoring/probes/probe.js';
import { createTlsContexts } from '../../src/monitoring/probes/tls-contexts.js';
import type { Resolver } from '../../src/resolver/resolve.js';
import { openIcmp } from '../../src/roles/probing/icmp.js';
import { mayPing } from '../../src/roles/process/icmp-capability.js';
import { Linux, loadSyscalls, type Syscalls } from '../../src/server/syscalls.js';
import { makeCertificate } from '../edge/fixture.js';
import { egressTo } from '../support/egress.js';
import { seededRandom } from '../support/seeded-random.js';
import { until } from '../support/until.js';

const clock = new SystemClock();
/** Seconds; shorter than any that the API takes. */
const SHORT = 0.3;
const LONG = 20;
const ID = 'ab'.repeat(16);

async function listen(t: Test, server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  await once(server.listen(port, host), 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function startHttp(t: Test, listener: RequestListener, host?: string, port?: number): Promise<number> {
  const server = createHttpServer(listener);
  t.teardown(() => server.closeAllConnections());
  return listen(t, server, host, port);
}

async function startHttps(t: Test, tls: ServerOptions, listener: RequestListener): Promise<number> {
  const server = createHttpsServer(tls, listener);
  server.on('tlsClientError', () => {});
  t.teardown(() => server.closeAllConnections());
  return listen(t, server);
}

function startTcp(t: Test, serve: (socket: Socket) => void, host?: string): Promise<number> {
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    serve(socket);
  });
  return listen(t, server, host);
}

/** Answers with these addresses, each time with the next list. */
function scripted(...answers: (readonly string[])[]): Pick<Resolver, 'resolve'> {
  let asked = 0;
  return {
    resolve: async (_name, type) => {
      const addresses = answers[Math.min(asked >> 1, answers.length - 1)]!;
      asked++;
      const own = addresses.filter((one) => one.includes(':') === (type === 'AAAA'));
      const status = own.length > 0 ? 'ok' : 'nxdomain';
      const records = own.map((content) => ({ type, content, ttl: 60 }));
      return { status, records, chain: [], end: '', ttl: 60, source: 'upstream' } as never;
    },
  };
}

interface Given extends Partial<Pick<Target, 'address' | 'host'>> {
  readonly members?: Record<string, unknown>;
  readonly resolver?: Pick<Resolver, 'resolve'>;
  readonly networks?: readonly string[];
  readonly ca?: string;
  readonly parts?: Partial<ProbeParts>;
}

async function probeWith(port: number, given: Given = {}) {
  const { members = {}, resolver = scripted([]), networks = ['127.0.0.0/8'], ca, address = '127.0.0.1', host } = given;
  const parts = {
    clock,
    egress: egressTo(clock, networks),
    resolver,
    tls: createTlsContexts(() => ({ pem: ca === undefined ? [] : [ca], generation: 0 })),
    pinger: createPinger(() => undefined, systemRandom),
    ...given.parts,
  };
  const settings = monitorOfMembers(ID, { timeout: LONG, retries: 0, ...members });
  const { reason, responseCode, pass } = await probe(parts, { account: 1, settings, address, port, host });
  if (pass !== (reason === 'No failures')) throw new Error(`${reason} is not what ${pass} says`);
  return responseCode === undefined ? [reason] : [reason, responseCode];
}

t.test('http', async (t) => {
  const seen: (string | undefined)[] = [];
  const port = await startHttp(t, (request, response) => {
    seen.push(`${request.method} ${request.headers.host} ${request.headers['x-probe']}`, request.headers['user-agent']);
    if (request.url === '/204') response.writeHead(204).end();
    else if (request.url === '/late') setTimeout(() => response.end(), 100);
    else if (request.url === '/long') response.end(`${'x'.repeat(20_000)}ready`);
    else if (request.url === '/endless') response.write('all is READY', () => {});
    else if (request.url === '/pieces') {
      response.write('all is Re');
      setTimeout(() => response.end('ady now'), 20);
    } else response.end('all is well');
  });
  t.strictSame(await probeWith(port, { members: { header: { 'X-Probe': ['yes'], Host: ['ignored'] } } }), [
    'No failures',
    200,
  ]);
  t.strictSame(seen.splice(0), [
    `GET 127.0.0.1:${port} yes`,
    `Mozilla/5.0 (compatible; Zoneplane-Healthcheck/1.0; +${ID})`,
  ]);
  await probeWith(port, { host: 'www.example.org', members: { method: 'HEAD' } });
  t.equal(seen[0], 'HEAD www.example.org undefined');
  const at = (path: string, members = {}) => probeWith(port, { members: { path, ...members } });
  t.strictSame(await at('/204'), ['Response code mismatch error', 204]);
  t.strictSame(await at('/204', { expected_codes: '2xx' }), ['No failures', 204]);
  t.strictSame(await at('/', { expected_codes: 'twohundred' }), ['Monitor Config Error', 200]);
  t.strictSame(await at('/', { expected_body: 'IS Well' }), ['No failures', 200], 'in any case');
  t.strictSame(await at('/', { expected_body: 'ill' }), ['Response body mismatch error', 200]);
  t.strictSame(await at('/pieces', { expected_body: 'ready' }), ['No failures', 200]);
  t.strictSame(await at('/endless', { expected_body: 'ready' }), ['No failures', 200], 'before the end of the body');
  t.strictSame(await at('/endless', { expected_body: 'never', timeout: SHORT }), ['HTTP timeout occurred']);
  t.strictSame(await at('/long', { expected_body: 'ready' }), ['Response body mismatch error', 200], 'only 10 KiB');
});

t.test('servers that die, stall and lie', async (t) => {
  const closed = await startTcp(t, () => {});
  const raw = async (answer: string | undefined): Promise<number> =>
    startTcp(t, (socket) => {
      socket.once('data', () => (answer === undefined ? socket.resetAndDestroy() : socket.end(answer)));
    });
  t.strictSame(await probeWith(await raw(undefined)), ['Connection Reset by Peer']);
  t.strictSame(await probeWith(await raw('')), ['Connection Reset by Peer']);
  t.strictSame(await probeWith(await raw('SSH-2.0-something\r\n')), ['HTTP Invalid Response']);
  t.strictSame(await probeWith(await raw('HTTP/1.1 200 OK\r\nBad Header\r\n\r\n')), ['HTTP Invalid Response']);
  t.strictSame(await probeWith(await raw(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)), [
    'HTTP Invalid Response',
  ]);
  t.strictSame(
    await probeWith(await raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')),
    ['HTTP Invalid Response'],
  );
  let interim = 0;
  const flood = await startTcp(t, (socket) => {
    const more = (): void => void (interim++ < 10_000 && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n', more));
    more();
  });
  t.strictSame(await probeWith(flood), ['HTTP Invalid Response'], 'informational responses without end');

  let asked = 0;
  const stalled = await startTcp(t, () => asked++);
  t.strictSame(await probeWith(stalled, { members: { timeout: SHORT, retries: 2 } }), ['HTTP timeout occurred']);
  t.equal(asked, 3, 'what timed out is tried again at once');
  let refused = 0;
  const wrong = await startHttp(t, (_request, response) => {
    refused++;
    response.writeHead(500).end();
  });
  t.strictSame(await probeWith(wrong, { members: { retries: 2 } }), ['Response code mismatch error', 500]);
  t.equal(refused, 1, 'and nothing else is');
  t.strictSame(await probeWith(closed, { members: { type: 'tcp' } }), ['No failures']);
  const server = createServer();
  const gone = await listen(t, server);
  server.close();
  t.strictSame(await probeWith(gone, { members: { type: 'tcp' } }), ['TCP connection failed']);
  await t.rejects(probeWith(closed, { members: { type: 'icmp_ping' } }), { name: 'NoProbe' }, 'nobody is blamed');
});

t.test('pings are answered by whoever knows the number', async (t) => {
  let hear = (_message: Uint8Array): void => {};
  const sent: Uint8Array[] = [];
  const awaited: boolean[] = [];
  const pinger = createPinger((_length, heard) => {
    hear = heard;
    return { send: (_address, message) => void sent.push(message), await: (is) => void awaited.push(is) };
  }, seededRandom(1));
  const ping = { members: { type: 'icmp_ping' }, parts: { pinger } };
  // Timers of probes keep no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  const asked = probeWith(0, ping);
  await until(() => sent.length === 1, 'a request');
  const [request] = sent;
  t.strictSame([request!.length, request![0], request![1]], [24, 8, 0]);
  const reply = Buffer.from(request!);
  const forged = Buffer.from(reply).fill(7, 8);
  const unreachable = Buffer.from(reply);
  unreachable[0] = 3;
  reply[0] = 0;
  let isAnswered = false;
  void asked.then(() => (isAnswered = true));
  for (const message of [Buffer.alloc(0), forged, request!, unreachable]) hear(message);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.notOk(isAnswered, 'none of them is the reply');
  for (const message of [reply, reply]) hear(message);
  t.strictSame(await asked, ['No failures']);
  t.strictSame(awaited, [true, false]);
  t.strictSame(await probeWith(0, { members: { type: 'icmp_ping', timeout: SHORT }, parts: { pinger } }), [
    'Other Failure',
  ]);
  const refusing = createPinger(
    () => ({
      send() {
        throw Object.assign(new Error('no way'), { code: 'ENETUNREACH' });
      },
      await: () => {},
    }),
    seededRandom(2),
  );
  t.strictSame(await probeWith(0, { ...ping, parts: { pinger: refusing } }), ['Network Unreachable']);
  t.strictSame(await probeWith(0, { ...ping, address: '10.0.0.1' }), ['DNS Internal'], 'only what may be asked');
});

t.test('pings of the system, and ports of UDP', { skip: !mayPing() && 'this user may not ping' }, async (t) => {
  const calls = await loadSyscalls();
  const pinger = createPinger((length, hear) => openIcmp(calls, length, hear), systemRandom);
  const networks = ['127.0.0.0/8', '::1/128'];
  const ask = (type: string, port: number, address: string, timeout = LONG) =>
    probeWith(port, { members: { type, timeout, port: 1 }, address, networks, parts: { pinger } });
  t.strictSame(await ask('icmp_ping', 0, '127.0.0.1'), ['No failures']);
  t.strictSame(await ask('icmp_ping', 0, '::1'), ['No failures']);
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address();
  t.strictSame(await ask('udp_icmp', port, '127.0.0.1', SHORT), ['No failures'], 'silence is well');
  silent.close();
  await once(silent, 'close');
  t.strictSame(await ask('udp_icmp', port, '127.0.0.1'), ['TCP connection failed'], 'nothing listens there');
});

t.test('a raw socket hears replies, and nothing else', { skip: !mayPing() && 'this user may not ping' }, async (t) => {
  const real = await loadSyscalls();
  const isRaw = (type: number): boolean => (type & 15) === Linux.SOCK_RAW;
  const raw: Syscalls = {
    ...real,
    socket: (family, type, protocol) => (isRaw(type) ? real.socket(family, type, protocol) : -1),
  };
  for (const [length, address, reply] of [
    [4, '127.0.0.1', 0],
    [16, '::1', 129],
  ] as const) {
    const types: number[] = [];
    const socket = openIcmp(raw, length, (message) => types.push(message[0]!));
    // This user may have no raw sockets.
    if (!socket) return;
    const pinger = createPinger((_, hear) => openIcmp(raw, length, hear), systemRandom);
    socket.await(true);
    const members = { type: 'icmp_ping', timeout: LONG, port: 1 };
    const networks = ['127.0.0.0/8', '::1/128'];
    t.strictSame(await probeWith(0, { members, address, networks, parts: { pinger } }), ['No failures'], address);
    await until(() => types.length > 0);
    socket.await(false);
    t.ok(
      types.every((type) => type === reply),
      `${types}`,
    );
  }
});

t.test('certificates', async (t) => {
  const [good, other, stranger] = [['good.example.org'], ['other.example.org'], ['good.example.org']].map((names) =>
    makeCertificate(names),
  ) as [
    Record<'certificate' | 'key', string>,
    Record<'certificate' | 'key', string>,
    Record<'certificate' | 'key', string>,
  ];
  const names: unknown[] = [];
  const start = ({ certificate, key }: { certificate: string; key: string }) =>
    startHttps(t, { cert: certificate, key }, (request, response) => {
      names.push((request.socket as unknown as { servername: unknown }).servername);
      response.end();
    });
  const ca = `${good.certificate}${other.certificate}`;
  const https = (port: number, members = {}, host: string | undefined = 'good.example.org:8443') =>
    probeWith(port, { host, ca, members: { type: 'https', ...members } });
  const port = await start(good);
  t.strictSame(await https(port), ['No failures', 200]);
  t.strictSame(await https(await start(other)), ['TLS name mismatch error']);
  const strange = await start(stranger);
  t.strictSame(await https(strange), ['TLS untrusted certificate error']);
  t.strictSame(await https(strange, { allow_insecure: true }), ['No failures', 200]);
  const withoutName = await probeWith(port, { ca, members: { type: 'https' } });
  t.strictSame(withoutName, ['TLS name mismatch error'], 'the certificate must name the address');
  t.strictSame(
    await probeWith(port, {
      ca,
      address: 'good.example.org',
      resolver: scripted(['127.0.0.1']),
      members: { type: 'https' },
    }),
    ['No failures', 200],
  );
  await probeWith(port, { ca, members: { type: 'https', allow_insecure: true } });
  t.strictSame(names, ['good.example.org', 'good.example.org', 'good.example.org', false], 'no name for an address');
  const plain = await startHttp(t, (_request, response) => void response.end());
  t.strictSame(await https(plain), ['TLS protocol error']);
  t.strictSame(await https(await startTcp(t, () => {}), { timeout: SHORT }), ['TLS Handshake Failure']);
  t.strictSame(await https(await startTcp(t, (socket) => socket.destroy())), ['TLS Handshake Failure']);
  // A fatal alert: unrecognized_name (RFC 6066 §3).
  const alert = await startTcp(t, (socket) =>
    socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 112]))),
  );
  t.strictSame(await https(alert), ['TLS unrecognized name error']);
});

t.test('mail servers', async (t) => {
  const start = (...replies: string[]) =>
    startTcp(t, (socket) => {
      const left = [...replies];
      socket.write(left.shift()!);
      socket.on('data', () => left.length > 0 && socket.write(left.shift()!));
    });
  const smtp = async (...replies: string[]) =>
    probeWith(await start(...replies), { members: { type: 'smtp', timeout: 1 } });
  t.strictSame(await smtp('220-one\r\n220 two\r\n', '250 hello\r\n', '221 bye\r\n'), ['No failures', 221]);
  t.strictSame(await smtp('554 no\r\n'), ['Response code mismatch error', 554]);
  t.strictSame(await smtp('220 x\r\n', '502 no\r\n'), ['Response code mismatch error', 502]);
  t.strictSame(await smtp('hello\r\n'), ['Response code mismatch error']);
  t.strictSame(await smtp(`${'220-x\r\n'.repeat(3000)}`), ['Other Failure'], 'a greeting without end');
});

t.test('names', async (t) => {
  let asked = 0;
  const port = await startHttp(
    t,
    (_request, response) => {
      asked++;
      response.end();
    },
    '127.0.0.3',
  );
  const at = (resolver: Pick<Resolver, 'resolve'>, more: Given = {}) =>
    probeWith(port, { address: 'origin.example.org', resolver, ...more });
  t.strictSame(
    await at(scripted(['127.0.0.2', '127.0.0.3'])),
    ['No failures', 200],
    'one address that passes is enough',
  );
  t.strictSame(await at(scripted(['127.0.0.2'])), ['TCP connection failed']);
  t.strictSame(await at(scripted([])), ['DNS Unknown Host']);
  const failing = { resolve: async () => ({ status: 'servfail', records: [] }) as never };
  t.strictSame(await at(failing), ['DNS Internal']);
  const silent = { resolve: () => new Promise<never>(() => {}) };
  t.strictSame(await at(silent, { members: { timeout: SHORT } }), ['DNS Internal']);
  asked = 0;
  const rebinding = scripted(['127.0.0.3'], ['127.0.0.3', '10.0.0.1'], ['10.0.0.1']);
  t.strictSame(await at(rebinding), ['No failures', 200]);
  t.strictSame(await at(rebinding), ['DNS Internal'], 'one address that must not be asked makes the name suspect');
  t.strictSame(await at(rebinding), ['DNS Internal']);
  t.equal(asked, 1, 'nothing else was asked');
});

t.test('where a probe must not go', async (t) => {
  let asked = 0;
  const note: RequestListener = (_request, response) => {
    asked++;
    response.end();
  };
  const inside = await startHttp(t, note, '127.0.0.9');
  const listeners = [{ host: '127.0.0.1', port: 8053, place: 'here' as const }];
  const own = egressTo(clock, ['127.0.0.0/8'], listeners);
  t.strictSame(await probeWith(8053, { parts: { egress: own } }), ['DNS Internal'], 'our own listener');
  t.strictSame(await probeWith(8053, { address: '::ffff:127.0.0.1', parts: { egress: own } }), ['DNS Internal']);
  t.strictSame(await probeWith(inside, { address: '127.0.0.9', networks: [] }), ['DNS Internal'], 'a private address');
  let location = '';
  let hops = 0;
  const leading = await startHttp(t, (request, response) => {
    if (request.url === '/end') response.end('arrived');
    else {
      hops++;
      response.writeHead(302, { location }).end();
    }
  });
  const follow = { members: { follow_redirects: true, expected_body: 'arrived' }, networks: ['127.0.0.1/32'] };
  const to = (where: string) => {
    [location, hops] = [where, 0];
    return probeWith(leading, follow);
  };
  t.strictSame(await to('/end'), ['No failures', 200]);
  t.strictSame(await to(`http://127.0.0.1:${leading}/end`), ['No failures', 200]);
  t.strictSame(await to(`http://127.0.0.9:${inside}/`), ['DNS Internal', 302], 'into a network that is not allowed');
  t.strictSame(await to(`http://[::ffff:127.0.0.9]:${inside}/`), ['DNS Internal', 302]);
  const heard: (string | undefined)[] = [];
  const other = await startHttp(t, (request, response) => {
    heard.push(request.headers.authorization, request.headers['x-app'] as string);
    response.end('arrived');
  });
  location = `http://127.0.0.1:${other}/`;
  const header = { Authorization: ['secret'], 'X-App': ['shop'] };
  const told = await probeWith(leading, { ...follow, members: { ...follow.members, header } });
  t.strictSame(
    [told, heard],
    [
      ['No failures', 200],
      [undefined, 'shop'],
    ],
    'credentials are for nobody else',
  );
  t.strictSame(await to('ftp://127.0.0.1/'), ['HTTP Invalid Response', 302]);
  t.strictSame(await to('http://['), ['HTTP Invalid Response', 302]);
  t.strictSame(await to('/again'), ['Response code mismatch error', 302]);
  t.equal(hops, 6, 'no more than five redirects');
  t.strictSame(
    await probeWith(leading, { members: { expected_codes: '302' } }),
    ['No failures', 302],
    'only if wanted',
  );
  t.equal(asked, 0);
});
