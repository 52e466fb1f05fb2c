/**
 * DNS over UDP: both transports give the same answers; the batched one also preserves addresses, restarts and stops.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { constants, networkInterfaces } from 'node:os';
import { Writable } from 'node:stream';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { Transport } from '../../src/answer/transport.js';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { createLogger } from '../../src/base/log.js';
import { readCounters } from '../../src/server/counter-samples.js';
import { Count, countBlock, createCounters } from '../../src/server/counters.js';
import { BATCH, createDatagramBatch, receiveBatch, sendBatch } from '../../src/server/datagram-batch.js';
import { openDatagramSocket } from '../../src/server/datagram-socket.js';
import { guardAnswer } from '../../src/server/guard.js';
import { type DatagramCalls, loadSyscalls, type Syscalls } from '../../src/server/syscalls.js';
import { AnswerTurns } from '../../src/server/turns/answer-turns.js';
import { startUdpBatched, type UdpServer } from '../../src/server/udp-batched.js';
import { startUdpAlone, startUdpPortable } from '../../src/server/udp-portable.js';
import { seededRandom } from '../support/seeded-random.js';
import { whyNoSyscalls } from '../support/syscalls.js';
import { makeQuery, UdpClient } from './clients.js';
import { Odd, standInAnswer } from './stand-in-engine.js';

const A = 1;
const clock = new SystemClock();
const skip = await whyNoSyscalls();
const hasIPv6 = Object.values(networkInterfaces()).some((list) => list?.some((entry) => entry.address === '::1'));

interface Served {
  readonly server: UdpServer;
  readonly counters: ReturnType<typeof createCounters>;
  readonly words: Int32Array;
  readonly ports: MessagePort[];
  readonly lines: string[];
}

type Way = 'batched' | 'portable' | 'alone';

async function serve(test: Test, way: Way, addresses: readonly string[], workers = 2, port = 0): Promise<Served> {
  const counters = createCounters(1 + workers);
  const words = new Int32Array(new SharedArrayBuffer(8));
  const ports: MessagePort[] = [];
  const lines: string[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  const options = {
    addresses,
    port,
    workers,
    engine: {
      module: new URL('./stand-in-engine.js', import.meta.url),
      connect(worker: number) {
        const { port1, port2 } = new MessageChannel();
        ports[worker] = port1;
        test.teardown(() => port1.close());
        return { data: { words: words.buffer }, port: port2 };
      },
    },
    counters,
    turns: new AnswerTurns(),
    firstThread: 1,
    log: createLogger({ level: 'debug', pretty: false, destination }),
    clock,
    answer: guardAnswer(standInAnswer, countBlock(counters.memory, 0), () => {}),
  };
  const server =
    way === 'batched'
      ? await startUdpBatched(await loadSyscalls(), options)
      : await (way === 'portable' ? startUdpPortable : startUdpAlone)(options);
  test.teardown(() => server.close());
  return { server, counters, words, ports, lines };
}

const serveBatched = (test: Test, addresses: readonly string[], workers?: number, port?: number): Promise<Served> =>
  serve(test, 'batched', addresses, workers, port);

async function open(test: Test, address: string, port: number, from?: string): Promise<UdpClient> {
  const client = await UdpClient.open(address, port, from);
  test.teardown(() => client.close());
  return client;
}

/** Queries, half of them with changed or cut octets; the ID is the number. */
function makePackets(count: number, seed: number): Buffer[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, id) => {
    const [choice = 0, cut = 0, ...changes] = random.bytes(14);
    let packet = makeQuery(id & 0xffff, `n${id}.${'x'.repeat(cut & 31)}.test`, [A, 28, 257, 16][choice & 3]!);
    if (choice >= 128) for (const change of changes) packet[2 + (change % (packet.length - 2))] = change;
    if (choice >= 224) packet = packet.subarray(0, cut % packet.length);
    if (choice < 2) packet = Buffer.concat([packet, Buffer.alloc(4 * cut)]);
    return packet;
  });
}

const direct = guardAnswer(standInAnswer, countBlock(createCounters(1).memory, 0), () => {});

/** What the engine says without a transport; undefined for silence. */
function directAnswer(packet: Buffer): Buffer | undefined {
  const out = Buffer.alloc(4096);
  const length = direct(packet, 0, packet.length, out, 0, out.length, Transport.udp);
  return length === 0 ? undefined : out.subarray(0, length);
}

/**
 * Sends the packets and compares the answers with the engine's own. Every 48 packets wait for their answers, the
 * last of them is a plain query: datagrams between two sockets of one machine keep their order, so nothing is missing then.
 */
async function compareAll(client: UdpClient, packets: readonly Buffer[]): Promise<number> {
  let different = 0;
  for (let first = 0; first < packets.length; first += 48) {
    const group = [...packets.slice(first, first + 48), makeQuery(first & 0xffff, 'barrier.test', A)];
    for (const packet of group) client.send(packet);
    for (const packet of group) {
      const expected = directAnswer(packet);
      if (!expected) continue;
      const got = await client.receive();
      if (!got?.equals(expected)) different += 1;
    }
  }
  return different;
}

t.test('all transports give the answers of the engine to 10,000 packets', async (t) => {
  const packets = makePackets(10_000, 7);
  const portable = await serve(t, 'portable', ['127.0.0.1']);
  t.equal(await compareAll(await open(t, '127.0.0.1', portable.server.port), packets), 0, 'portable');
  const alone = await serve(t, 'alone', ['127.0.0.1']);
  t.equal(await compareAll(await open(t, '127.0.0.1', alone.server.port), packets), 0, 'portable, in one thread');
  const sums = readCounters(portable.counters);
  if (skip === false) {
    const batched = await serveBatched(t, ['127.0.0.1']);
    t.equal(await compareAll(await open(t, '127.0.0.1', batched.server.port), packets), 0, 'batched');
    const comparable = (samples: typeof sums) =>
      samples.filter(({ name }) => name !== 'dns_batches_total' && name !== 'dns_udp_batch_seconds');
    t.same(comparable(readCounters(batched.counters)), comparable(sums), 'and count the same');
    t.same(comparable(readCounters(alone.counters)), comparable(sums), 'and count the same in one thread');
    t.equal(batched.server.countQueueDrops(), 0);
  } else t.comment(`batched transport not tested: ${skip}`);
  const value = (name: string, labels: object) =>
    sums.find((sample) => sample.name === name && Object.entries(labels).every(([k, v]) => sample.labels[k] === v))
      ?.value;
  t.equal(value('dns_queries_total', { transport: 'udp' }), 10_000 + Math.ceil(10_000 / 48));
  t.ok(value('dns_queries_by_type_total', { type: 'CAA' })! > 1_000);
  t.ok(value('dns_responses_total', { rcode: 'NOERROR' })! > 5_000);
  const sampled = value('dns_udp_batch_seconds', { le: '+Inf' })!;
  t.ok(sampled > 10 && sampled <= 10_209 / 256, `${sampled} latencies sampled`);
});

t.test('100,000 random and mutated packets', { skip }, async (t) => {
  const { server, counters } = await serveBatched(t, ['127.0.0.1'], 1);
  const client = await open(t, '127.0.0.1', server.port);
  const random = seededRandom(99);
  const packets = makePackets(50_000, 3);
  for (let made = 0; made < 50_000; made++) packets.push(Buffer.from(random.bytes(random.bytes(1)[0]! % 80)));
  t.equal(await compareAll(client, packets), 0);
  const queries = readCounters(counters).find((sample) => sample.labels['transport'] === 'udp');
  t.equal(queries?.value, 100_000 + Math.ceil(100_000 / 48), 'each was counted once');
});

t.test('all transports drop datagrams that are too long', async (t) => {
  const long = Buffer.concat([makeQuery(1, 'a.test', A), Buffer.alloc(4096)]);
  const fits = long.subarray(0, 4096);
  const servers = [await serve(t, 'portable', ['127.0.0.1'], 1), await serve(t, 'alone', ['127.0.0.1'])];
  if (skip === false) servers.push(await serveBatched(t, ['127.0.0.1'], 1));
  for (const { server, counters } of servers) {
    const client = await open(t, '127.0.0.1', server.port);
    client.send(long);
    const got = await client.ask(fits);
    t.equal(got?.length, 4096, 'the answer is that of the second');
    const discarded = readCounters(counters).find((sample) => sample.name === 'dns_datagrams_discarded_total');
    t.equal(discarded?.value, 1);
  }
});

function ownIPv6Addresses(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return own.filter((entry) => entry.family === 'IPv6' && !entry.scopeid).map((entry) => entry.address);
}

t.test('answers come from the queried address', { skip }, async (t) => {
  const v4 = await serveBatched(t, ['0.0.0.0'], 1);
  const query = makeQuery(1, 'a.test', A);
  for (const address of ['127.0.0.2', '127.9.8.7', '127.0.0.1']) {
    t.ok(await (await open(t, address, v4.server.port, '127.0.0.1')).ask(query), address);
  }
  if (!hasIPv6) return t.comment('no IPv6 on this machine: dual stack not tested');
  const dual = await serveBatched(t, ['0.0.0.0', '::'], 1);
  for (const address of ['127.0.0.2', '127.9.8.7']) {
    t.ok(await (await open(t, address, dual.server.port, '127.0.0.1')).ask(query), `${address}, dual stack`);
  }
  const v6 = await serveBatched(t, ['::'], 1);
  const places = [
    { name: 'dual stack', port: dual.server.port },
    { name: 'IPv6 only', port: v6.server.port },
  ];
  for (const address of ownIPv6Addresses()) {
    for (const { name, port } of places) {
      const answer = await (await open(t, address, port, '::1')).ask(query);
      // Other tests have interfaces of their own, and take them away again.
      if (answer || ownIPv6Addresses().includes(address)) t.ok(answer, `${address}, ${name}`);
    }
  }
  const other = createSocket('udp4');
  other.bind(v6.server.port, '0.0.0.0');
  await once(other, 'listening');
  other.close();
});

for (const way of ['batched', 'portable'] as const) {
  t.test(
    `${way}: a fault of the engine gives SERVFAIL and is reported`,
    { skip: way === 'batched' ? skip : false },
    async (t) => {
      const { server, lines } = await serve(t, way, ['127.0.0.1'], 1);
      const client = await open(t, '127.0.0.1', server.port);
      const query = makeQuery(0xabcd, 'odd.test', Odd.fault);
      t.same(await client.ask(query), Buffer.from([0xab, 0xcd, 0x81, 2, 0, 0, 0, 0, 0, 0, 0, 0]));
      while (!lines.some((line) => line.includes(query.toString('hex')))) await sleep(1);
      t.match(lines.join(''), /stand-in fault/);
    },
  );

  t.test(
    `${way}: several addresses are served by one worker`,
    { skip: way === 'batched' ? skip : false },
    async (t) => {
      const addresses = ['127.0.0.1', '127.0.0.2', ...(hasIPv6 ? ['::1'] : [])];
      const { server } = await serve(t, way, addresses, 1);
      for (const address of addresses) {
        const client = await open(t, address, server.port);
        t.equal(await compareAll(client, makePackets(500, 11)), 0, address);
      }
    },
  );

  t.test(
    `${way}: all workers take part, and all see new data before the next answer`,
    { skip: way === 'batched' ? skip : false },
    async (t) => {
      const { server, words, ports } = await serve(t, way, ['127.0.0.1'], 3);
      const clients = await Promise.all(Array.from({ length: 40 }, () => open(t, '127.0.0.1', server.port)));
      const lastOctets = async (type: number): Promise<Set<number | undefined>> => {
        const got = await Promise.all(clients.map((client) => client.ask(makeQuery(1, 'odd.test', type))));
        return new Set(got.map((answer) => answer?.at(-1)));
      };
      t.equal((await lastOctets(Odd.thread)).size, 3, 'three threads answered');
      t.same(await lastOctets(Odd.generation), new Set([0]));
      for (let generation = 1; generation <= 3; generation++) {
        for (const port of ports) port.postMessage(generation);
        Atomics.store(words, 0, generation);
        t.same(await lastOctets(Odd.generation), new Set([generation]));
      }
    },
  );

  t.test(
    `${way}: a worker that crashes is replaced while the others serve on`,
    { skip: way === 'batched' ? skip : false },
    async (t) => {
      const { server, words, lines } = await serve(t, way, ['127.0.0.1'], 2);
      const clients = await Promise.all(Array.from({ length: 24 }, () => open(t, '127.0.0.1', server.port)));
      const said = (text: string): number => lines.filter((line) => line.includes(text)).length;
      const query = makeQuery(1, 'a.test', A);
      // While the dead worker cannot start again, its share goes to the other one.
      words[1] = 1;
      clients[0]!.send(makeQuery(2, 'odd.test', Odd.exit));
      while (said('a UDP worker crashed') < 2) await sleep(1);
      const meanwhile = await Promise.all(clients.map((client) => client.ask(query)));
      t.ok(meanwhile.every((answer) => answer !== undefined));
      words[1] = 0;
      while (said('serves again') < 1) await sleep(1);
      const threads = await Promise.all(clients.map((client) => client.ask(makeQuery(3, 'odd.test', Odd.thread))));
      t.equal(new Set(threads.map((answer) => answer?.at(-1))).size, 2, 'two threads answer again');
      t.match(lines.join(''), /exit code 3/);
      t.match(lines.join(''), /stand-in cannot start/);
    },
  );

  t.test(
    `${way}: stops while queries keep coming, and leaves the port free`,
    { skip: way === 'batched' ? skip : false },
    async (t) => {
      const { server } = await serve(t, way, ['127.0.0.1'], 2);
      const client = await open(t, '127.0.0.1', server.port);
      let flooding = true;
      const flood = (async () => {
        while (flooding) {
          for (let i = 0; i < 32; i++) client.send(makeQuery(i, 'a.test', A));
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      await client.receive();
      // It does not wait for the end of the flood, which begins afterwards.
      await server.close();
      flooding = false;
      await flood;
      const again = await serve(t, way, ['127.0.0.1'], 1, server.port);
      t.equal(again.server.port, server.port);
    },
  );

  t.test(`${way}: a start that fails leaves nothing behind`, { skip: way === 'batched' ? skip : false }, async (t) => {
    const first = await serve(t, way, ['127.0.0.1'], 1);
    const { port } = first.server;
    const error = { name: 'ListenError', code: 'EADDRINUSE', listen: { protocol: 'UDP', host: '127.0.0.1', port } };
    await t.rejects(serve(t, way, ['127.0.0.1'], 1, port), error, 'also between servers that share ports');
    await t.rejects(serve(t, way, ['127.0.0.9', '127.0.0.1'], 1, port), error);
    const free = createSocket('udp4');
    free.bind(port, '127.0.0.9');
    await once(free, 'listening');
    free.close();
    await t.rejects(serve(t, way, ['203.0.113.77'], 1), { code: 'EADDRNOTAVAIL' });
    await t.rejects(serve(t, 'alone', ['127.0.0.1'], 1, port), error);
  });
}

t.test('sending continues after errors and partial sends', { skip }, async (t) => {
  const calls = await loadSyscalls();
  const { EAGAIN, EBADF, ECONNREFUSED, EINTR, ENOBUFS, EPERM } = constants.errno;
  /** A kernel that gives these results: octets sent, or the negative of an error. */
  const sendWith = (results: number[], ready: number) => {
    const batch = createDatagramBatch(calls.addressOf);
    const counts = countBlock(createCounters(1).memory, 0);
    const asked: [first: number, count: number][] = [];
    let result = 0;
    const kernel: DatagramCalls = {
      ...calls,
      sendmmsg(_fd, vector, count) {
        asked.push([(vector - batch.base) / 64 - BATCH, count]);
        result = results.shift() ?? count;
        return result < 0 ? -1 : result;
      },
      errno: () => -result,
    };
    sendBatch(batch, kernel, -1, ready, counts);
    return { asked, failed: counts[Count.sendFailed] };
  };
  const table: [name: string, results: number[], asked: [number, number][], failed: number][] = [
    ['all at once', [10], [[0, 10]], 0],
    [
      'in parts',
      [4, 5],
      [
        [0, 10],
        [4, 6],
        [9, 1],
      ],
      0,
    ],
    [
      'no room for one',
      [3, -ENOBUFS, 6],
      [
        [0, 10],
        [3, 7],
        [4, 6],
      ],
      1,
    ],
    [
      'forbidden ones',
      [-EPERM, -EPERM, 8],
      [
        [0, 10],
        [1, 9],
        [2, 8],
      ],
      2,
    ],
    [
      'an old refusal',
      [-ECONNREFUSED, 10],
      [
        [0, 10],
        [0, 10],
      ],
      0,
    ],
    [
      'refused twice',
      [2, -ECONNREFUSED, -ECONNREFUSED, 7],
      [
        [0, 10],
        [2, 8],
        [2, 8],
        [3, 7],
      ],
      1,
    ],
    [
      'interrupted',
      [2, -EINTR, 8],
      [
        [0, 10],
        [2, 8],
        [2, 8],
      ],
      0,
    ],
    [
      'queue full',
      [2, -EAGAIN],
      [
        [0, 10],
        [2, 8],
      ],
      8,
    ],
  ];
  for (const [name, results, asked, failed] of table) t.same(sendWith(results, 10), { asked, failed }, name);
  t.throws(() => sendWith([-EBADF], 10), { name: 'SystemError', syscall: 'sendmmsg', code: 'EBADF' });
});

t.test('system calls on a socket report correctly', { skip }, async (t) => {
  const calls: Syscalls = await loadSyscalls();
  const options = { dualStack: false, shared: false, queueOctets: 65_536, timeoutMs: 10 };
  const socket = openDatagramSocket(calls, { ...options, host: '127.0.0.1', port: 0 });
  const batch = createDatagramBatch(calls.addressOf);
  const counts = countBlock(createCounters(1).memory, 0);
  t.equal(receiveBatch(batch, calls, socket.fd, 0x10000, counts), 0, 'nothing came in the time');
  t.equal(counts[Count.receiveFailed], 0);
  t.ok(socket.receiveQueueOctets >= 65_536);
  calls.close(socket.fd);
  t.throws(() => receiveBatch(batch, calls, -1, 0, counts), { syscall: 'recvmmsg', code: 'EBADF' });
  t.throws(() => openDatagramSocket(calls, { ...options, host: 'localhost', port: 0 }), { code: 'EINVAL' });
});
