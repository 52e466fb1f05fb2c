/** Consecutive answers to one peer go out as one message, and arrive as if they had been sent one by one. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { constants } from 'node:os';
import t, { type Test } from 'tap';
import { Count, countBlock, createCounters } from '../../src/server/counters.js';
import {
  answerBatch,
  BATCH,
  createDatagramBatch,
  type DatagramBatch,
  receiveBatch,
  sendBatch,
} from '../../src/server/datagram-batch.js';
import { dividesMessages, openDatagramSocket } from '../../src/server/datagram-socket.js';
import { type DatagramCalls, Linux, loadSyscalls, type Syscalls } from '../../src/server/syscalls.js';

const loaded = await loadSyscalls().catch(() => undefined);
const skip = loaded ? false : 'no batched system calls on this machine';
const calls = loaded as Syscalls;

interface Served {
  readonly fd: number;
  readonly port: number;
  readonly batch: DatagramBatch;
  readonly counts: ReturnType<typeof countBlock>;
  /** Receives everything, answers with as many octets as the first octet of a request says times 8, and sends. The number of messages. */
  serve(expected: number, kernel?: DatagramCalls): number;
}

function open(test: Test, host: string): Served {
  const options = { dualStack: host === '::', shared: false, queueOctets: 1 << 20, timeoutMs: 1000 };
  const { fd, port } = openDatagramSocket(calls, { ...options, host, port: 0 });
  test.teardown(() => calls.close(fd));
  const batch = createDatagramBatch(calls.addressOf);
  batch.divides = dividesMessages(calls, fd);
  const counts = countBlock(createCounters(1).memory, 0);
  return {
    ...{ fd, port, batch, counts },
    serve(expected, kernel = calls) {
      let received = 0;
      let messages = 0;
      while (received < expected) {
        const came = receiveBatch(batch, calls, fd, Linux.MSG_DONTWAIT, counts);
        received += came;
        messages += answerBatch(batch, came, answer, counts, 0);
        sendBatch(batch, kernel, fd, messages, counts);
      }
      return messages;
    },
  };
}

const answer = (request: Uint8Array, start: number, length: number, response: Uint8Array, at: number): number => {
  const octets = request[start]! * 8;
  response.fill(request[start + length - 1]!, at, at + octets);
  return octets;
};

interface Asker {
  /** Resolves when the queries are in the queue of the server. */
  send(...queries: readonly (readonly [size: number, mark: number])[]): Promise<void>;
  /** Size and mark of the next so many answers. */
  receive(count: number): Promise<[size: number, mark: number][]>;
}

async function ask(test: Test, port: number, address: string): Promise<Asker> {
  const socket: Socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  test.teardown(() => socket.close());
  const came: Buffer[] = [];
  socket.on('message', (message) => came.push(message));
  // It takes answers from this address alone.
  socket.connect(port, address);
  await once(socket, 'connect');
  return {
    async send(...queries) {
      for (const [size, mark] of queries) {
        await new Promise<void>((resolve, reject) =>
          socket.send(Buffer.of(size / 8, mark), (error) => (error ? reject(error) : resolve())),
        );
      }
    },
    async receive(count) {
      while (came.length < count) await once(socket, 'message');
      return came.splice(0, count).map((message) => [message.length, message.at(-1)!]);
    },
  };
}

const many = (count: number, size: number): [number, number][] =>
  Array.from({ length: count }, (_, i) => [size, (i % 250) + 1]);

t.test('as many messages as needed, the same datagrams in the same order', { skip }, async (t) => {
  const served = open(t, '127.0.0.1');
  if (!served.batch.divides) return t.comment('this kernel divides no messages');
  const client = await ask(t, served.port, '127.0.0.1');
  const table: [name: string, queries: [number, number][], messages: number][] = [
    ['a single one', [[40, 1]], 1],
    ['a whole batch of one length', many(BATCH, 104), 1],
    ['the longest that are joined', many(BATCH, 1232), 2],
    ['a shorter one ends a message', [...many(3, 104), [80, 9], ...many(2, 104)], 2],
    ['a longer one begins another', [...many(2, 80), [104, 9], [104, 8]], 2],
    [
      'two shorter ones',
      [
        [104, 1],
        [80, 2],
        [80, 3],
      ],
      2,
    ],
    ['longer than some links take', many(3, 1240), 3],
  ];
  for (const [name, queries, messages] of table) {
    await client.send(...queries);
    t.equal(served.serve(queries.length), messages, name);
    t.same(await client.receive(queries.length), queries, `${name}: what arrives`);
  }
  served.batch.divides = false;
  await client.send(...many(5, 80));
  t.equal(served.serve(5), 5, 'a kernel that does not divide messages gets each answer alone');
  t.same(await client.receive(5), many(5, 80));
});

t.test('answers for different peers, and from different addresses, stay apart', { skip }, async (t) => {
  const one = open(t, '127.0.0.1');
  if (!one.batch.divides) return t.comment('this kernel divides no messages');
  const [a, b] = [await ask(t, one.port, '127.0.0.1'), await ask(t, one.port, '127.0.0.1')];
  for (const asker of [a, a, b, b, b, a]) await asker.send([80, asker === a ? 1 : 2]);
  t.equal(one.serve(6), 3, 'by the port');
  t.same([await a.receive(3), await b.receive(3)], [many(3, 80).fill([80, 1]), many(3, 80).fill([80, 2])]);
  for (const [host, addresses] of Object.entries({
    '0.0.0.0': ['127.0.0.1', '127.0.0.2'],
    '::': ['127.0.0.3', '::1'],
  })) {
    const every = open(t, host);
    // The same sender, which takes answers from everywhere.
    const sender = createSocket({ type: host === '::' ? 'udp6' : 'udp4' });
    t.teardown(() => sender.close());
    const to = host === '::' ? ['::ffff:127.0.0.3', '::ffff:127.0.0.4'] : addresses;
    for (const address of to) {
      await new Promise<void>((resolve) => sender.send(Buffer.of(10, 1), every.port, address, () => resolve()));
    }
    t.equal(every.serve(2), 2, `${host}: from two addresses to one peer`);
    for (const address of addresses) {
      const client = await ask(t, every.port, address);
      const queries: [number, number][] = [...many(20, 80), [40, 7]];
      await client.send(...queries);
      t.equal(every.serve(21), 1, `${host}: one message to ${address}`);
      t.same(await client.receive(21), queries, 'from the address that was asked');
    }
  }
});

t.test('what the kernel refuses as one message goes out one by one, also later', { skip }, async (t) => {
  const served = open(t, '127.0.0.1');
  if (!served.batch.divides) return t.comment('this kernel divides no messages');
  const client = await ask(t, served.port, '127.0.0.1');
  let errno = 0;
  let asked = 0;
  /** A card that cannot sum up datagrams. */
  const kernel: DatagramCalls = {
    ...calls,
    sendmmsg(fd, vector, count, flags) {
      asked += 1;
      const { words, base } = served.batch;
      // The length of the control data.
      const joined = words[(vector - base) / 4 + 10]! > 0;
      errno = joined ? constants.errno.EIO : 0;
      return joined ? -1 : calls.sendmmsg(fd, vector, count, flags);
    },
    errno: () => errno || calls.errno(),
  };
  const queries: [number, number][] = [...many(9, 80), [40, 7]];
  await client.send(...queries);
  served.serve(10, kernel);
  t.same(await client.receive(10), queries);
  t.equal(asked, 11, 'once together, and ten times alone');
  await client.send(...queries);
  t.equal(served.serve(10, kernel), 10, 'the next batch is not tried');
  t.same(await client.receive(10), queries);
  t.equal(served.counts[Count.sendFailed], 0);
});
