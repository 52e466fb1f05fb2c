/**
 * One socket for IPv4 and IPv6, as created for the default addresses: limits, exemptions and cookies use the real
 * address.
 */
import { networkInterfaces } from 'node:os';
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { createRateMemory } from '../../src/answer/rate-limit.js';
import { DEFAULT_ENGINE_SETTINGS, type EngineSettings } from '../../src/answer/state.js';
import { SystemClock } from '../../src/base/clock.js';
import { parseNetwork } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { parseName } from '../../src/dns/name.js';
import { startDnsServers, type UdpTransport } from '../../src/server/start.js';
import { loadSyscalls } from '../../src/server/syscalls.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { serveZones } from '../support/served-zones.js';
import { frame, StreamClient, UdpClient, unframe } from './clients.js';

const ZONE = {
  apex: 'example.com.',
  text: '$ORIGIN example.com.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n',
};
const hasIPv6 = Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === '::1'));
const transports: UdpTransport[] = await loadSyscalls().then(
  () => ['batched', 'portable'],
  () => ['portable'],
);
const COOKIE = 10;
const RATE = 5;
const FLOOD = 60;

async function start(test: Test, transport: UdpTransport, settings: Partial<EngineSettings>): Promise<number> {
  const engine = { ...DEFAULT_ENGINE_SETTINGS, ...settings };
  const { answer, writer } = serveZones([ZONE], engine);
  const servers = await startDnsServers({
    addresses: ['0.0.0.0', '::'],
    port: 0,
    transport,
    workers: 1,
    answer,
    workerEngine: {
      module: new URL('../../src/answer/worker-engine.js', import.meta.url),
      connect() {
        const { port1, port2 } = new MessageChannel();
        test.teardown(() => port1.close());
        return { data: { image: writer.current(), settings: engine }, port: port2 };
      },
    },
    log: silentLogger(),
    clock: new SystemClock(),
  });
  test.teardown(() => servers.close());
  return servers.port;
}

/** How many of as many questions are answered. */
async function flood(port: number, from: string, count: number): Promise<number> {
  const client = await UdpClient.open('127.0.0.1', port, from);
  const query = makeQuery(parseName('ns.example.com.'), 1);
  for (let i = 0; i < count; i++) client.send(query);
  let answered = 0;
  while (answered < count && (await client.receive(400))) answered += 1;
  client.close();
  return answered;
}

function withCookie(cookie: string): Buffer {
  const data = Buffer.from(cookie, 'hex');
  return makeQuery(parseName('ns.example.com.'), 1, {
    edns: 1232,
    options: Buffer.from([0, COOKIE, 0, data.length, ...data]),
  });
}

function cookieOf(answer: Buffer | undefined): readonly [rcode: number, cookie: string] {
  const { rcode, opt } = decodeMessage(answer!);
  return [rcode, opt!.options.subarray(4, 4 + opt!.options.readUInt16BE(2)).toString('hex')];
}

for (const transport of transports) {
  const skip = hasIPv6 ? false : 'this machine has no IPv6';
  t.test(`${transport}: limits and exemptions`, { skip }, async (t) => {
    const exempt = [parseNetwork('127.0.0.64/26')!];
    const rateLimit = { rate: RATE, slip: 0, exempt, memory: createRateMemory(), seed: 7 };
    const port = await start(t, transport, { rateLimit });
    const limited = await flood(port, '127.0.0.1', FLOOD);
    t.ok(limited >= RATE && limited < FLOOD / 2, `${limited} of a network over the limit`);
    t.ok((await flood(port, '127.9.0.1', RATE)) === RATE, 'another network has a limit of its own');
    t.equal(await flood(port, '127.0.0.77', FLOOD), FLOOD, 'an exempt network');
  });

  t.test(`${transport}: a cookie is the same over UDP and TCP`, { skip }, async (t) => {
    const cookieSecrets = [new Uint8Array(16).fill(9)];
    const port = await start(t, transport, { cookieSecrets, requireCookies: true });
    for (const address of ['127.0.0.1', '::1']) {
      const stream = await StreamClient.open(address, port);
      stream.socket.end(frame(withCookie('0123456789abcdef')));
      const [, cookie] = cookieOf(unframe(await stream.receiveAll())[0]);
      const client = await UdpClient.open(address, port);
      t.same(cookieOf(await client.ask(withCookie(cookie))), [0, cookie], `${address}: a cookie got over TCP`);
      const [rcode, own] = cookieOf(await client.ask(withCookie('0123456789abcdef')));
      t.equal(rcode, 23);
      t.equal(own.slice(16, 24), cookie.slice(16, 24), 'version and reserved octets');
      client.close();
    }
  });
}
