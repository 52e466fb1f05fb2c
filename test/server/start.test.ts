/** All DNS sockets together: one port for UDP and TCP, TLS on its own port, counters, failure and shutdown. */
import { once } from 'node:events';
import { connect as connectTcp, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { printMetrics } from '../../src/base/metrics.js';
import { type DnsServersOptions, startDnsServers, type UdpTransport } from '../../src/server/start.js';
import { loadSyscalls } from '../../src/server/syscalls.js';
import { TestClock } from '../support/test-clock.js';
import { frame, makeQuery, StreamClient, UdpClient, unframe } from './clients.js';
import { LARGE, Odd, standInAnswer } from './stand-in-engine.js';
import { TLS_CERTIFICATE, TLS_KEY } from './tls-credentials.js';

const query = makeQuery(0x1234, 'start.test', 257);
const credentials = { certificate: TLS_CERTIFICATE, key: TLS_KEY };
const hasIPv6 = Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === '::1'));
const transports: UdpTransport[] = await loadSyscalls().then(
  () => ['batched', 'portable'],
  () => ['portable'],
);

function makeOptions(test: Test, changes: Partial<DnsServersOptions>): DnsServersOptions {
  return {
    addresses: ['127.0.0.1'],
    port: 0,
    transport: 'auto',
    workers: 1,
    answer: standInAnswer,
    workerEngine: {
      module: new URL('./stand-in-engine.js', import.meta.url),
      connect() {
        const { port1, port2 } = new MessageChannel();
        test.teardown(() => port1.close());
        return { data: { words: new SharedArrayBuffer(8) }, port: port2 };
      },
    },
    log: silentLogger(),
    clock: new SystemClock(),
    ...changes,
  };
}

async function start(test: Test, changes: Partial<DnsServersOptions>) {
  const servers = await startDnsServers(makeOptions(test, changes));
  test.teardown(() => servers.close());
  return servers;
}

async function askUdp(address: string, port: number): Promise<Buffer | undefined> {
  const client = await UdpClient.open(address, port);
  const answer = await client.ask(query);
  client.close();
  return answer;
}

async function askTcp(address: string, port: number): Promise<Buffer[]> {
  const client = await StreamClient.open(address, port);
  client.socket.end(frame(query));
  return unframe(await client.receiveAll());
}

async function openTls(port: number, options: ConnectionOptions = {}): Promise<StreamClient> {
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    servername: 'ns1.zoneplane.test',
    ca: TLS_CERTIFICATE,
    ALPNProtocols: ['dot'],
    ...options,
  });
  await once(socket, 'secureConnect');
  return new StreamClient(socket);
}

for (const transport of transports) {
  t.test(`${transport}: UDP and TCP answer on one port of every address`, async (t) => {
    for (const addresses of [['127.0.0.1', '127.0.0.2'], hasIPv6 ? ['0.0.0.0', '::'] : ['0.0.0.0']]) {
      const servers = await start(t, { addresses, transport });
      t.equal(servers.transport, transport);
      t.same(servers.addresses, addresses);
      const asked = addresses.flatMap((host) =>
        host === '0.0.0.0' ? ['127.0.0.1'] : host === '::' ? ['::1'] : [host],
      );
      for (const address of asked) {
        const expected = Buffer.from(query);
        expected[2]! |= 0x80;
        t.same(await askUdp(address, servers.port), expected, `UDP ${address}`);
        t.same(await askTcp(address, servers.port), [expected], `TCP ${address}`);
      }
      const text = await printMetrics(servers.readCounters());
      t.match(text, `zoneplane_dns_queries_total{transport="udp"} ${asked.length}\n`);
      t.match(text, `zoneplane_dns_queries_total{transport="tcp"} ${asked.length}\n`);
      t.match(text, `zoneplane_dns_queries_by_type_total{type="CAA"} ${2 * asked.length}\n`);
      t.match(text, `zoneplane_dns_responses_total{rcode="NOERROR"} ${2 * asked.length}\n`);
      t.match(text, `zoneplane_dns_connections_accepted_total ${asked.length}\n`);
    }
  });

  t.test(`${transport}: a port that is taken for TCP frees the one for UDP`, async (t) => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    t.teardown(() => holder.close());
    const failing = startDnsServers(makeOptions(t, { port, transport }));
    await t.rejects(failing, { name: 'ListenError', code: 'EADDRINUSE', listen: { protocol: 'TCP', port } });
    holder.close();
    await once(holder, 'close');
    t.equal((await start(t, { port, transport })).port, port);
  });

  t.test(`${transport}: close ends connections and does not wait for clients`, async (t) => {
    const clock = new TestClock();
    const servers = await startDnsServers(makeOptions(t, { transport, tls: { port: 0, credentials }, clock }));
    const idle = await StreamClient.open('127.0.0.1', servers.port);
    const stuck = connectTcp({ host: '127.0.0.1', port: servers.port });
    stuck.on('error', () => {});
    await once(stuck, 'connect');
    for (let id = 0; id < 400; id++) stuck.write(frame(makeQuery(id, 'odd.test', Odd.large)));
    const shaking = connectTcp({ host: '127.0.0.1', port: servers.tlsPort! });
    shaking.on('error', () => {});
    await once(shaking, 'connect');
    const secure = await openTls(servers.tlsPort!);
    secure.socket.write(frame(query));
    await secure.receive(query.length + 2);
    // Half a second passes, of the ten and more after which clients are given up.
    let isClosed = false;
    const closing = servers.close().then(() => {
      isClosed = true;
    });
    for (let passed = 0; passed < 500 && !isClosed; passed++) {
      await sleep(1);
      clock.advance(1);
    }
    await closing;
    await idle.until(() => idle.ended);
    await secure.until(() => secure.ended || secure.closed);
    for (const socket of [idle.socket, stuck, shaking, secure.socket]) socket.destroy();
    const again = await start(t, { port: servers.port, transport });
    t.equal(again.port, servers.port);
  });
}

t.test('DNS over TLS: the frames of TCP, half-close, large answers, a new certificate', async (t) => {
  const servers = await start(t, { transport: 'portable', tls: { port: 0, credentials } });
  const client = await openTls(servers.tlsPort!);
  const queries = Array.from({ length: 100 }, (_, id) => makeQuery(id, 'odd.test', id % 10 === 0 ? Odd.large : 1));
  client.socket.write(Buffer.concat(queries.map(frame)));
  const expected = 10 * (LARGE + 2) + 90 * (queries[1]!.length + 2);
  const got = unframe(await client.receive(expected));
  t.ok(got.every((answer, id) => answer.readUInt16BE(0) === id));
  client.socket.end();
  await client.until(() => client.closed);
  t.match(await printMetrics(servers.readCounters()), 'zoneplane_dns_queries_total{transport="tls"} 100\n');

  const last = await openTls(servers.tlsPort!, { ALPNProtocols: [] });
  last.socket.end(frame(query));
  t.equal(unframe(await last.receiveAll()).length, 1, 'answered after the end of the queries, without ALPN');
  last.socket.destroy();

  servers.renewCertificate(credentials);
  const renewed = await openTls(servers.tlsPort!);
  renewed.socket.write(Buffer.from([0, 5, 1, 2, 3, 4, 5]));
  t.equal((await renewed.receiveAll()).length, 0, 'a short frame ends the connection');
  renewed.socket.destroy();
  t.throws(() => servers.renewCertificate({ certificate: TLS_CERTIFICATE, key: 'no key' }), { name: 'UserError' });
  const wrong = connectTls({ host: '127.0.0.1', port: servers.tlsPort!, ca: TLS_CERTIFICATE, ALPNProtocols: ['h2'] });
  const [error] = await once(wrong, 'error');
  t.match(String(error), /no application protocol/i, 'other protocols are refused');
  await t.rejects(start(t, { tls: { port: 0, credentials: { certificate: 'no', key: 'no' } } }), { name: 'UserError' });
});

t.test('an empty list of addresses is refused', async (t) => {
  await t.rejects(startDnsServers(makeOptions(t, { addresses: [] })), { name: 'UserError' });
});
