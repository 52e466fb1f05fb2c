/**
 * TLS at the edge: what counts for each host from the first octet on, tickets, certificates that change, and what floods it.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import { type ConnectionOptions, getCiphers, type TLSSocket } from 'node:tls';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { readClientHello } from '../../src/base/connections/client-hello.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { dropCertificateRequest } from '../../src/certs/certificates.js';
import { ticketSecretJob } from '../../src/certs/ticket-secret.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { CIPHER_SUITES } from '../../src/hostnames/routing/tls-policy.js';
import type { Vault } from '../../src/vault/vault.js';
import {
  addHostname,
  type EdgeWorld,
  exchange,
  keepCertificate,
  LaterClock,
  startEdgeWorld,
  startOrigin,
} from './fixture.js';

const HOST = 'www.example.org';
const GET = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

async function refusal(asked: Promise<TLSSocket>): Promise<string> {
  try {
    (await asked).destroy();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
  throw new Error('the handshake was done');
}

async function startWorld(t: Parameters<typeof startEdgeWorld>[0], options = {}): Promise<EdgeWorld & { id: string }> {
  const origin = await startOrigin(t, (request, response) => {
    request.resume();
    if (request.url === '/early') response.end('early');
    else request.once('end', () => response.end(`page ${request.rawHeaders.join(' ')}`));
  });
  const world = await startEdgeWorld(t, options);
  const id = await world.zone('example.org', origin.port);
  await editZoneSetting(world.ctx, id, 'ssl', 'flexible');
  await world.heard();
  return { ...world, id };
}

t.test('versions, suites and protocols count for each host', async (t) => {
  const world = await startWorld(t);
  const set = async (name: string, value: string): Promise<void> => {
    await editZoneSetting(world.ctx, world.id, name, value);
    await world.heard();
  };
  const protocolOf = async (options = {}): Promise<string | null> => {
    const socket = await world.tls(HOST, options);
    const version = socket.getProtocol();
    socket.destroy();
    return version;
  };
  t.equal(await protocolOf(), 'TLSv1.3');
  t.equal(await protocolOf({ maxVersion: 'TLSv1.2' }), 'TLSv1.2');
  t.match(
    await refusal(world.tls(HOST, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' })),
    /ERR_SSL|ECONNRESET/,
  );
  await set('min_tls_version', '1.3');
  t.match(await refusal(world.tls(HOST, { maxVersion: 'TLSv1.2' })), 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
  await set('min_tls_version', '1.2');
  await set('tls_1_3', 'off');
  t.equal(await protocolOf(), 'TLSv1.2', 'a client that could speak 1.3 speaks 1.2');
  const offered = { ALPNProtocols: ['h2', 'http/1.1'] };
  t.equal((await world.tls(HOST, offered)).alpnProtocol, 'h2');
  await set('http2', 'off');
  t.equal((await world.tls(HOST, offered)).alpnProtocol, 'http/1.1');
});

t.test('a custom hostname has versions and suites of its own', async (t) => {
  const world = await startWorld(t);
  const customer = async (hostname: string, settings: object): Promise<void> => {
    const ssl = JSON.stringify({ method: 'txt', type: 'dv', authority: '', wildcard: false, settings });
    const id = await addHostname(world.ctx, 'example.org', hostname, { ssl });
    await world.certify({ kind: 'hostname', id }, 'example.org', [hostname]);
  };
  const known = getCiphers();
  for (const suite of CIPHER_SUITES) t.ok(known.includes(suite.toLowerCase()), `${suite} is one of OpenSSL`);
  const weak = 'ECDHE-ECDSA-AES128-GCM-SHA256';
  const strong = 'ECDHE-ECDSA-AES256-GCM-SHA384';
  await customer('strong.customer.test', { ciphers: [strong], http2: 'off' });
  await customer('new.customer.test', { min_tls_version: '1.3' });
  await customer('old.customer.test', { tls_1_3: 'off', ciphers: [weak, strong] });
  await customer('usual.customer.test', {});
  await world.heard();
  const suiteOf = async (host: string, options: ConnectionOptions = {}): Promise<string> => {
    const socket = await world.tls(host, options);
    const { version, name } = socket.getCipher();
    socket.destroy();
    return `${version} ${name}`;
  };
  const only = (ciphers: string) => ({ ciphers, maxVersion: 'TLSv1.2' }) as const;
  t.equal(await suiteOf('strong.customer.test', only(strong)), `TLSv1.2 ${strong}`);
  t.match(await refusal(world.tls('strong.customer.test', only(weak))), /HANDSHAKE_FAILURE/);
  t.match(await suiteOf('strong.customer.test'), /^TLSv1\.3/, 'the list is for TLS 1.2');
  t.equal((await world.tls('strong.customer.test', { ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol, 'http/1.1');
  t.match(await refusal(world.tls('new.customer.test', { maxVersion: 'TLSv1.2' })), /PROTOCOL_VERSION/);
  t.match(await suiteOf('new.customer.test'), /^TLSv1\.3/);
  t.equal(await suiteOf('old.customer.test', { ciphers: `${strong}:${weak}` }), `TLSv1.2 ${weak}`, 'in its own order');
  t.equal(await suiteOf('usual.customer.test'), 'TLSv1.3 TLS_AES_128_GCM_SHA256', 'the cheaper one, which all have');
  t.equal(await suiteOf('usual.customer.test', only(weak)), `TLSv1.2 ${weak}`, 'others have nothing of that');
  t.equal(await suiteOf('usual.customer.test', only(strong)), `TLSv1.2 ${strong}`);
});

t.test('a host without a certificate gets an alert, whatever it is', async (t) => {
  const world = await startWorld(t);
  for (const name of ['unknown.example', 'a.b.example.org']) {
    t.equal(await refusal(world.tls(name)), 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', name);
  }
  t.equal(await refusal(world.tls('')), 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'no name');
  t.match(
    await exchange(connect(world.httpsPort, '127.0.0.1'), GET(HOST)),
    /^HTTP\/1\.1 400[\s\S]*HTTPS/,
    'plain HTTP',
  );
});

t.test('certificates ordered for a zone are served, too', async (t) => {
  const world = await startWorld(t);
  await world.certify({ kind: 'zone', id: randomUUID() }, 'example.org', ['example.org', 'deep.www.example.org']);
  await world.heard();
  const socket = await world.tls('deep.www.example.org');
  t.match(socket.getPeerCertificate().subjectaltname, /deep\.www/);
  socket.destroy();
});

t.test('an edge says which certificates it has read but cannot use', async (t) => {
  const world = await startWorld(t);
  const { ctx, vault } = world;
  const owner = { kind: 'zone', id: randomUUID() } as const;
  const damaging: Vault = {
    ...vault,
    seal(...sealed) {
      const octets = vault.seal(...sealed);
      octets[octets.length - 1]! ^= 1;
      return octets;
    },
  };
  await keepCertificate(ctx, damaging, owner, 'example.org', ['deep.www.example.org']);
  await world.heard();
  t.strictSame(world.edge.progress().unusable, [`zone:${owner.id}`]);
  await world.certify(owner, 'example.org', ['deep.www.example.org']);
  await world.heard();
  t.strictSame(world.edge.progress().unusable, []);
});

t.test('a connection is for hosts of the same certificate', async (t) => {
  const world = await startWorld(t);
  const other = await startOrigin(t, (_request, response) => response.end('other'));
  const net = await world.zone('example.net', other.port);
  await editZoneSetting(world.ctx, net, 'ssl', 'flexible');
  await world.heard();
  t.match(await exchange(await world.tls(HOST), GET('www.example.net')), /^HTTP\/1\.1 421/);
  t.match(await exchange(await world.tls('example.org'), GET(HOST)), /page/, 'both names are in it');
  t.match(await exchange(await world.tls('www.example.net'), GET('www.example.net')), /other/);
});

t.test('edges share the secret of tickets: another one resumes a session, until the secret is replaced', async (t) => {
  const clock = new LaterClock();
  const world = await startWorld(t, { clock });
  const { ctx, vault } = world;
  const { handler } = ticketSecretJob(vault, systemRandom);
  const later = Object.assign(Object.create(clock) as LaterClock, { nowMs: () => Date.now() + clock.laterMs });
  const run = () =>
    handler(
      {
        store: ctx.store,
        clock: later,
        log: silentLogger(),
        attempt: 0,
        signal: new AbortController().signal,
        requireLease() {},
      },
      '',
    );
  const begunMs = clock.nowMs();
  const { againAtMs } = (await run()) as { readonly againAtMs: number };
  t.ok(againAtMs - begunMs >= 12 * 3_600_000);
  t.strictSame(await run(), { againAtMs }, 'one that is due later stays');
  const other = await world.another();
  clock.laterMs += 1500;
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    const first = await world.tls(HOST, { maxVersion });
    const session = maxVersion === 'TLSv1.3' ? ((await once(first, 'session'))[0] as Buffer) : first.getSession();
    t.equal((await other(HOST, { maxVersion, session })).isSessionReused(), true, maxVersion);
    clock.laterMs += 13 * 3_600_000;
    await run();
    clock.laterMs += 1500;
    t.equal((await other(HOST, { maxVersion, session })).isSessionReused(), false, `${maxVersion}: another secret`);
  }
  const [rows] = ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM ticket_secrets').all();
  t.strictSame(rows, [1], 'old ones go');
});

t.test('a new certificate is served at once; what is open goes on; no ticket outlives its certificate', async (t) => {
  const world = await startWorld(t);
  const owner = { kind: 'zone', id: world.id } as const;
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await world.tls(HOST, { maxVersion });
    const fingerprint = first.getPeerCertificate().fingerprint256;
    const saved = maxVersion === 'TLSv1.3' ? ((await once(first, 'session'))[0] as Buffer) : first.getSession();
    const resumed = await world.tls(HOST, { maxVersion, session: saved });
    t.equal(resumed.isSessionReused(), true, `${maxVersion}: a session is good while nothing changes`);
    resumed.destroy();
    await world.certify(owner, 'example.org', ['example.org', '*.example.org']);
    await world.heard();
    const renewed = await world.tls(HOST, { maxVersion, session: saved });
    t.equal(renewed.isSessionReused(), false, 'and of no use after');
    t.not(renewed.getPeerCertificate().fingerprint256, fingerprint);
    renewed.destroy();
    t.match(await exchange(first, GET(HOST)), /page/, 'the connection that is open goes on');
    const last = await world.tls(HOST, { maxVersion });
    const held = maxVersion === 'TLSv1.3' ? ((await once(last, 'session'))[0] as Buffer) : last.getSession()!;
    await world.ctx.store.write(() => dropCertificateRequest(world.ctx, owner));
    await world.heard();
    t.match(await refusal(world.tls(HOST, { session: held, maxVersion })), /HANDSHAKE_FAILURE/, 'nor its deletion');
    last.destroy();
    await world.certify(owner, 'example.org', ['example.org', '*.example.org']);
    await world.heard();
  }
});

t.test('slow clients are ended, and one client has so many connections', async (t) => {
  const limits = { headersTimeoutMs: 300, requestTimeoutMs: 600, keepAliveMs: 300 };
  const world = await startWorld(t, { limits, handshakeMs: 300, mostConnections: 5 });
  t.equal(await exchange(connect(world.httpsPort, '127.0.0.1'), '\x16\x03\x01'), '', 'half a first message');
  t.match(
    await exchange(connect(world.httpPort, '127.0.0.1'), 'GET / HTTP/1.1\r\nHost:'),
    /^HTTP\/1\.1 408/,
    'half a head',
  );
  const body = `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 10\r\n\r\nhalf`;
  t.match(await exchange(connect(world.httpPort, '127.0.0.1'), body), /HTTP\/1\.1 408/, 'half a body');
  const secured = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => secured });
  const slow = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false });
  slow.write('half');
  const [headers] = (await once(slow, 'response')) as [Record<string, number>];
  t.equal(headers[':status'], 408, 'half a body over HTTP/2');
  slow.resume();
  await once(slow, 'close');
  const early = session.request({ ':method': 'POST', ':path': '/early' }, { endStream: false });
  early.write('half');
  early.resume();
  await once(early, 'close');
  t.equal(early.rstCode, constants.NGHTTP2_NO_ERROR, 'a response that does not wait for the body ends the stream');
  session.destroy();
  const count = (): number => world.edge.samples().find(({ name }) => name === 'edge_connections')!.value;
  while (count() > 0) await sleep(5);
  const open = Array.from({ length: 5 }, () => connect(world.httpPort, '127.0.0.1'));
  // A port has several sockets, which do not take connections in the order in which they came.
  while (count() < open.length) await sleep(5);
  t.equal(await exchange(connect(world.httpPort, '127.0.0.1'), GET(HOST)), '', 'the sixth is ended');
  for (const socket of open) socket.destroy();
});

t.test('floods of HTTP/2 end their connection and nobody else’s', async (t) => {
  const world = await startWorld(t, { floodPenaltyMs: 1 });
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const normal = connectHttp2(`https://${HOST}`, { createConnection: () => socket });
  t.teardown(() => normal.destroy());
  await once(normal, 'remoteSettings');
  const request = Buffer.concat([Buffer.of(0x82, 0x87, 0x84, 0x41, HOST.length), Buffer.from(HOST)]);
  const cancel = Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL);
  const resets = Array.from({ length: 1000 }, (_, i) => [
    frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, request),
    frame(RST_STREAM, 0, 2 * i + 1, cancel),
  ]);
  const handled = (): number =>
    world.edge
      .samples()
      .filter(({ name }) => name === 'edge_requests_total')
      .reduce((sum, { value }) => sum + value, 0);
  await flood(world, resets.flat());
  t.ok(handled() < 60, 'rapid reset: hardly any of the requests is handled');
  const field = Buffer.concat([Buffer.of(0, 1, 0x61, 100), Buffer.alloc(100, 0x62)]);
  const more = Array.from({ length: 5000 }, () => frame(CONTINUATION, 0, 1, field));
  await flood(world, [frame(HEADERS, 0, 1, request), ...more]);
  t.pass('fields without end');
  await flood(
    world,
    Array.from({ length: 20_000 }, () => frame(PING, 0, 0, Buffer.alloc(8))),
    false,
  );
  await flood(
    world,
    Array.from({ length: 20_000 }, () => frame(SETTINGS, 0, 0, Buffer.alloc(0))),
    false,
  );
  let isOver = false;
  const storm = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) await flood(world, [frame(HEADERS, 0, 1, request), ...more]);
    }),
  );
  for (let i = 0; i < 50; i++) {
    const asked = normal.request({ ':path': '/' });
    const [answered] = (await once(asked, 'response')) as [Record<string, number>];
    if (answered[':status'] !== 200) t.fail(`${answered[':status']} in the middle of a flood`);
    asked.resume();
  }
  isOver = true;
  await storm;
  const stream = normal.request({ ':path': '/' });
  const [headers] = (await once(stream, 'response')) as [Record<string, number>];
  t.equal(headers[':status'], 200, 'the other client goes on');
  const lying = normal.request({ ':method': 'POST', ':path': '/', 'content-length': 100 }, { endStream: false });
  lying.on('error', () => {});
  lying.end('short');
  await new Promise((resolve) => lying.once('close', resolve));
  t.not(lying.rstCode, constants.NGHTTP2_NO_ERROR, 'a length that lies');
});

t.test('a client that floods again and again is refused for a while', async (t) => {
  const clock = new LaterClock();
  const world = await startWorld(t, { clock });
  const normal = await world.tls(HOST, { ALPNProtocols: ['http/1.1'] });
  const bad = [frame(HEADERS, 0, 1, Buffer.of(0x82)), frame(PING, 0, 0, Buffer.alloc(8))];
  for (let i = 0; i < 19; i++) await flood(world, bad);
  (await world.tls(HOST)).destroy();
  await flood(world, bad);
  await t.rejects(world.tls(HOST), 'its connections are refused');
  t.match(await exchange(connect(world.httpPort, '127.0.0.1'), GET(HOST)), /^HTTP\/1\.1 \d/, 'but not without TLS');
  t.match(await exchange(normal, GET(HOST)), /^HTTP\/1\.1 \d/, 'what is open goes on');
  clock.laterMs = 10_000;
  (await world.tls(HOST)).destroy();
  t.pass('it may come back');
});

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const CONTINUATION = 9;
const END_STREAM = 1;
const END_HEADERS = 4;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * Sends frames as fast as the edge takes them; resolves when it has ended the connection, or with `ends` false when all are
 * sent.
 */
async function flood(world: EdgeWorld, frames: readonly Buffer[], ends = true): Promise<void> {
  const socket = await world.tls(HOST, { ALPNProtocols: ['h2'] });
  const ended = once(socket, 'close').catch(() => {});
  socket.on('error', () => {});
  socket.resume();
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, Buffer.alloc(0)), ...frames]), () => {
    if (!ends) socket.destroy();
  });
  await ended;
}

t.test('first messages: whole, in pieces, and none', async (t) => {
  const name = Buffer.from('WWW.example.org');
  const size = (octets: Buffer, width: number): Buffer => {
    const head = Buffer.alloc(width);
    head.writeUIntBE(octets.length, 0, width);
    return Buffer.concat([head, octets]);
  };
  const list = size(Buffer.concat([Buffer.of(0), size(name, 2)]), 2);
  const extensions = size(Buffer.concat([Buffer.of(0, 0), size(list, 2)]), 2);
  const fixed = Buffer.concat([Buffer.of(3, 3), Buffer.alloc(32), Buffer.of(0, 0, 2, 0x13, 1, 1, 0)]);
  const message = Buffer.concat([Buffer.of(1), size(Buffer.concat([fixed, extensions]), 3)]);
  const hello = Buffer.concat([Buffer.of(22, 3, 1), size(message, 2)]);
  t.same(readClientHello(hello), { kind: 'hello', serverName: 'www.example.org' });
  const halves = [message.subarray(0, 20), message.subarray(20)];
  const records = Buffer.concat(halves.map((half) => Buffer.concat([Buffer.of(22, 3, 1), size(half, 2)])));
  t.same(readClientHello(records), { kind: 'hello', serverName: 'www.example.org' }, 'in two records');
  for (let length = 0; length < hello.length; length++) {
    t.equal(readClientHello(hello.subarray(0, length)).kind, 'more', `${length} octets`);
  }
  t.equal(readClientHello(Buffer.from('GET / HTTP/1.1\r\n')).kind, 'alien');
  const lying = Buffer.from(hello);
  lying[43] = 255;
  t.equal(readClientHello(lying).kind, 'alien', 'parts longer than the whole');
});
