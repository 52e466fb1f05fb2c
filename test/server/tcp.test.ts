/** DNS over TCP: framing, half-close, back-pressure, limits and transfers (RFC 7766). */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { type Answer, Transport } from '../../src/answer/transport.js';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { Count, type CountBlock, countBlock, createCounters } from '../../src/server/counters.js';
import { guardAnswer } from '../../src/server/guard.js';
import type { ListenError } from '../../src/server/listen-error.js';
import type { AnswerTransfer } from '../../src/server/streams/stream-connection.js';
import { STREAM_LIMITS, StreamConnections, type StreamLimits } from '../../src/server/streams/stream-connections.js';
import { startTcp } from '../../src/server/tcp.js';
import { AnswerTurns } from '../../src/server/turns/answer-turns.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { frame, makeQuery, StreamClient, unframe } from './clients.js';
import { LARGE, Odd, standInAnswer } from './stand-in-engine.js';

const A = 1;
const AXFR = 252;

interface Served {
  readonly port: number;
  readonly counts: CountBlock;
  readonly clock: TestClock;
  readonly connections: StreamConnections;
}

/** A TCP server whose clock stands still. */
async function serve(
  test: Test,
  limits: Partial<StreamLimits> = {},
  transfer?: AnswerTransfer,
  engine: Answer = standInAnswer,
): Promise<Served> {
  const clock = new TestClock();
  const counts = countBlock(createCounters(1).memory, 0);
  const log = silentLogger();
  const answer = guardAnswer(engine, counts, () => {});
  const context = { answer, answerTransfer: transfer, counts, log, clock };
  const connections = new StreamConnections(context, { ...STREAM_LIMITS, ...limits }, new AnswerTurns());
  const listener = await startTcp({ host: '127.0.0.1', port: 0, connections, log });
  test.teardown(async () => {
    listener.close();
    await connections.close(0);
  });
  return { port: listener.port, counts, clock, connections };
}

/** `from`: the address of the client. */
async function open(test: Test, port: number, from?: string): Promise<StreamClient> {
  const client = await StreamClient.open('127.0.0.1', port, from);
  test.teardown(() => client.socket.destroy());
  return client;
}

/** What the stand-in answers to `query`. */
function answerTo(query: Buffer): Buffer {
  const answer = Buffer.from(query);
  answer[2]! |= 0x80;
  return answer;
}

t.test('a hundred queries in one segment are answered with one write', async (t) => {
  const { port, counts, connections } = await serve(t);
  const writes: number[] = [];
  const accept = connections.accept.bind(connections);
  connections.accept = (socket, transport) => {
    const write = socket.write.bind(socket) as (octets: Uint8Array) => boolean;
    socket.write = ((octets: Uint8Array) => {
      writes.push(octets.length);
      return write(octets);
    }) as typeof socket.write;
    accept(socket, transport);
  };
  const client = await open(t, port);
  const queries = Array.from({ length: 100 }, (_, id) => makeQuery(id, `name${id}.zone.test`, A));
  const sent = Buffer.concat(queries.map(frame));
  client.socket.write(sent);
  const got = unframe(await client.receive(sent.length));
  t.same(got, queries.map(answerTo));
  t.same(writes, [sent.length]);
  t.equal(counts[Count.query + Transport.tcp], 100);
});

t.test('a connection with many queries lets others have their turn', async (t) => {
  const heard: string[] = [];
  let other: StreamClient | undefined;
  const engine: Answer = (bytes, start, length, ...rest) => {
    const isOther = bytes[start] === 0xff;
    // It is there before the first connection has its next turn.
    if (heard.length === 0) other!.socket.write(frame(makeQuery(0xff00, 'other.zone.test', A)));
    if (isOther || heard.length === 0 || (bytes[start]! << 8) + bytes[start + 1]! === 999)
      heard.push(isOther ? 'other' : 'first');
    return standInAnswer(bytes, start, length, ...rest);
  };
  const { port } = await serve(t, {}, undefined, engine);
  const client = await open(t, port);
  other = await open(t, port);
  const queries = Array.from({ length: 1000 }, (_, id) => makeQuery(id, `name${id}.zone.test`, A));
  const sent = Buffer.concat(queries.map(frame));
  client.socket.write(sent);
  t.same(unframe(await client.receive(sent.length)), queries.map(answerTo));
  t.strictSame(heard, ['first', 'other', 'first']);
});

t.test('a client with many connections lets another have its turn before all of them', async (t) => {
  let [before, isAnswered] = [0, false];
  let other: StreamClient | undefined;
  const engine: Answer = (bytes, start, length, ...rest) => {
    if (bytes[start] === 0xff) isAnswered = true;
    else if (before === 0) other!.socket.write(frame(makeQuery(0xff00, 'other.zone.test', A)));
    if (!isAnswered) before++;
    return standInAnswer(bytes, start, length, ...rest);
  };
  const { port, connections } = await serve(t, {}, undefined, engine);
  const clients = await Promise.all(Array.from({ length: 40 }, () => open(t, port)));
  other = await open(t, port, '127.0.0.2');
  await until(() => connections.size === 41, 'all are accepted');
  const sent = Buffer.concat(Array.from({ length: 1000 }, (_, id) => frame(makeQuery(id, `name${id}.zone.test`, A))));
  for (const { socket } of clients) socket.write(sent);
  t.equal(unframe(await other.receive(frame(makeQuery(0xff00, 'other.zone.test', A)).length)).length, 1);
  t.ok(before < 2000, 'some turns of a connection, not forty');
  for (const client of clients) await client.receive(sent.length);
});

t.test('connections that end while they wait are not answered, and keep no place', async (t) => {
  let answered = 0;
  const sockets: Socket[] = [];
  const engine: Answer = (...query) => {
    answered++;
    // One has had a turn, and others wait.
    if (answered === 129) for (const socket of sockets) socket.destroy();
    return standInAnswer(...query);
  };
  const { port, connections } = await serve(t, {}, undefined, engine);
  const accept = connections.accept.bind(connections);
  connections.accept = (socket, transport) => {
    sockets.push(socket);
    accept(socket, transport);
  };
  const clients = await Promise.all(Array.from({ length: 20 }, () => open(t, port)));
  await until(() => connections.size === 20, 'all are accepted');
  const sent = Buffer.concat(Array.from({ length: 1000 }, (_, id) => frame(makeQuery(id, `name${id}.zone.test`, A))));
  for (const { socket } of clients) socket.write(sent);
  await until(() => connections.size === 0, 'all have ended');
  const query = frame(makeQuery(1, 'other.zone.test', A));
  const other = await open(t, port);
  other.socket.write(query);
  t.equal(unframe(await other.receive(query.length)).length, 1, 'the same client is answered again');
  t.ok(answered < 300, `${answered} of 20,000 were answered`);
});

t.test('what another part answers takes more of a turn', async (t) => {
  let [before, isAnswered] = [0, false];
  let other: StreamClient | undefined;
  const transfer: AnswerTransfer = (request) => {
    if (before === 0) other!.socket.write(frame(makeQuery(0xff00, 'other.zone.test', A)));
    if (!isAnswered) before++;
    return [frame(answerTo(Buffer.from(request)))];
  };
  const engine: Answer = (bytes, start, length, ...rest) => {
    isAnswered = true;
    return standInAnswer(bytes, start, length, ...rest);
  };
  const { port } = await serve(t, {}, transfer, engine);
  const client = await open(t, port);
  other = await open(t, port, '127.0.0.2');
  const sent = Buffer.concat(Array.from({ length: 400 }, (_, id) => frame(makeQuery(id, 'zone.test', AXFR))));
  client.socket.write(sent);
  t.equal(unframe(await other.receive(frame(makeQuery(0xff00, 'other.zone.test', A)).length)).length, 1);
  t.ok(before < 20, `${before} of 400 were answered before`);
  t.equal(unframe(await client.receive(sent.length)).length, 400);
});

t.test('frames may be cut anywhere', async (t) => {
  const { port } = await serve(t);
  const queries = [makeQuery(1, 'a.test', A), makeQuery(2, 'bb.test', A), makeQuery(3, 'ccc.test', A)];
  const sent = Buffer.concat(queries.map(frame));
  const expected = queries.map(answerTo);
  for (const size of [1, 2, 3, 7, 13, 29]) {
    const client = await open(t, port);
    for (let at = 0; at < sent.length; at += size) {
      client.socket.write(sent.subarray(at, at + size));
      // Let the octets go out as a segment of their own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.same(unframe(await client.receive(sent.length)), expected, `segments of ${size}`);
    client.socket.destroy();
  }
  for (let cut = 1; cut < sent.length; cut += 5) {
    const client = await open(t, port);
    client.socket.write(sent.subarray(0, cut));
    await sleep(1);
    client.socket.write(sent.subarray(cut));
    t.same(unframe(await client.receive(sent.length)), expected, `cut after ${cut}`);
    client.socket.destroy();
  }
});

t.test('the longest message passes, whole and in pieces', async (t) => {
  const { port } = await serve(t);
  const query = Buffer.concat([makeQuery(7, 'long.test', A), Buffer.alloc(65_535 - 27)]);
  const client = await open(t, port);
  client.socket.write(Buffer.concat([frame(query), frame(query)]));
  const got = unframe(await client.receive(2 * 65_537));
  t.equal(query.length, 65_535);
  t.same(got, [answerTo(query), answerTo(query)]);
});

t.test('half-close: answers are still sent, then the end', async (t) => {
  const { port, counts } = await serve(t);
  const client = await open(t, port);
  client.socket.end(Buffer.concat([frame(makeQuery(5, 'odd.test', Odd.large)), frame(makeQuery(6, 'y.test', A))]));
  const got = unframe(await client.receiveAll());
  t.same(
    got.map((message) => message.length),
    [LARGE, makeQuery(6, 'y.test', A).length],
  );
  const many = await open(t, port);
  const queries = Array.from({ length: 200 }, (_, id) => frame(makeQuery(id, 'odd.test', Odd.large)));
  many.socket.end(Buffer.concat(queries));
  const answers = unframe(await many.receiveAll());
  t.equal(answers.length, 200, 'twelve megabytes after the half-close');
  t.ok(answers.every((answer, id) => answer.readUInt16BE(0) === id && answer.length === LARGE));
  const cut = await open(t, port);
  cut.socket.end(frame(makeQuery(9, 'z.test', A)).subarray(0, 20));
  t.equal((await cut.receiveAll()).length, 0, 'half a frame is not answered');
  t.equal(counts[Count.frameRefused], 0);
});

t.test('frames shorter than a header end the connection after the previous answers', async (t) => {
  const { port, counts } = await serve(t);
  const good = frame(makeQuery(1, 'good.test', A));
  const table: [name: string, octets: Buffer, answers: number][] = [
    ['zero length', Buffer.from([0, 0]), 0],
    ['five octets', Buffer.from([0, 5, 1, 2, 3, 4, 5]), 0],
    ['eleven octets', frame(Buffer.alloc(11)), 0],
    ['good, then zero', Buffer.concat([good, Buffer.from([0, 0])]), 1],
    ['two good, then four octets, then good', Buffer.concat([good, good, frame(Buffer.alloc(4)), good]), 2],
  ];
  for (const [name, octets, answers] of table) {
    const client = await open(t, port);
    client.socket.write(octets);
    const got = unframe(await client.receiveAll());
    t.same(got, Array(answers).fill(answerTo(good.subarray(2))), name);
  }
  const split = await open(t, port);
  split.socket.write(Buffer.from([0]));
  await sleep(2);
  split.socket.write(Buffer.from([3]));
  t.equal((await split.receiveAll()).length, 0, 'a short length in two pieces');
  t.equal(counts[Count.frameRefused], table.length + 1);
});

t.test('no answer if the engine gives none, SERVFAIL if it fails', async (t) => {
  const { port, counts } = await serve(t);
  const client = await open(t, port);
  const response = makeQuery(1, 'a.test', A);
  response[2]! |= 0x80;
  const fault = makeQuery(2, 'odd.test', Odd.fault);
  const last = makeQuery(3, 'a.test', A);
  client.socket.write(Buffer.concat([response, makeQuery(4, 'odd.test', Odd.silent), fault, last].map(frame)));
  const got = unframe(await client.receive(14 + 2 + last.length));
  t.same(got, [Buffer.from([0, 2, 0x81, 2, 0, 0, 0, 0, 0, 0, 0, 0]), answerTo(last)]);
  t.equal(counts[Count.fault], 1);
  t.equal(counts[Count.silent], 2);
  t.equal(counts[Count.response + 2], 1);
});

t.test('120 idle connections do not block others', async (t) => {
  const { port, connections } = await serve(t);
  const idle = await Promise.all(Array.from({ length: 120 }, () => open(t, port)));
  const client = await open(t, port);
  client.socket.write(frame(makeQuery(1, 'a.test', A)));
  t.equal(unframe(await client.receive(26)).length, 1);
  t.equal(connections.size, STREAM_LIMITS.connectionsPerClient, 'the oldest made room');
  await idle[0]!.until(() => idle[0]!.ended);
  const last = idle[119]!;
  last.socket.write(frame(makeQuery(1, 'a.test', A)));
  t.equal(unframe(await last.receive(26)).length, 1, 'the youngest are still there');
});

t.test('at the limit, the longest idle connection is closed', async (t) => {
  const { port, connections, clock, counts } = await serve(t, { connections: 3 });
  const [first, second, third] = [await open(t, port), await open(t, port), await open(t, port)];
  const query = frame(makeQuery(1, 'a.test', A));
  for (const client of [first, third, second]) {
    clock.advance(100);
    // A frame under way counts as work, though the connection is the oldest.
    client.socket.write(client === first ? Buffer.concat([query, query.subarray(0, 1)]) : query);
    await client.receive(26);
  }
  clock.advance(100);
  await open(t, port);
  while (counts[Count.connectionEvicted] === 0) await sleep(1);
  await third.until(() => third.ended);
  t.notOk(first.ended);
  t.notOk(second.ended);
  t.equal(connections.size, 3);
});

t.test('at the limit, a client with many busy connections keeps no other out', async (t) => {
  const { port, connections } = await serve(t, { connections: 6 });
  const greedy: StreamClient[] = [];
  for (let i = 0; i < 5; i++) {
    const client = await open(t, port);
    client.socket.write(Buffer.of(0));
    greedy.push(client);
  }
  const quiet = await open(t, port, '127.0.0.2');
  const query = frame(makeQuery(1, 'a.test', A));
  quiet.socket.write(query);
  await quiet.receive(query.length);
  const newcomer = await open(t, port, '127.0.0.3');
  await until(() => greedy.some(({ ended }) => ended), 'one of the greedy client goes');
  quiet.socket.write(query);
  newcomer.socket.write(query);
  t.equal(unframe(await quiet.receive(2 * query.length)).length, 2);
  t.equal(unframe(await newcomer.receive(query.length)).length, 1);
  t.equal(connections.size, 6);
});

t.test('idle, slow and silent peers are dropped in time', async (t) => {
  const { port, clock, counts, connections } = await serve(t, { connections: 8 });
  const idle = await open(t, port);
  const busy = await open(t, port);
  const slow = await open(t, port);
  slow.socket.write(frame(makeQuery(1, 'a.test', A)).subarray(0, 9));
  await busy.until(() => true);
  while (connections.size < 3) await sleep(1);
  const drip = frame(makeQuery(1, 'a.test', A));
  let dripped = 9;
  for (let second = 0; second < 11; second++) {
    busy.socket.write(frame(makeQuery(1, 'a.test', A)));
    if (!slow.ended) slow.socket.write(drip.subarray(dripped, ++dripped));
    await busy.receive(26 * (second + 1));
    await sleep(2);
    clock.advance(1_000);
  }
  await Promise.all([idle.until(() => idle.ended), slow.until(() => slow.ended)]);
  t.notOk(busy.ended, 'queries keep a connection alive');
  t.equal(slow.octets, 0, 'octets of an endless frame do not');
  t.equal(counts[Count.connectionTimedOut], 2);
  t.equal(connections.size, 3, 'their own end is waited for');
  clock.advance(2_500);
  while (connections.size > 1) await sleep(1);

  const crowd = await Promise.all(Array.from({ length: 6 }, () => open(t, port)));
  while (connections.size < 7) await sleep(1);
  clock.advance(2_500);
  await Promise.all(crowd.map((client) => client.until(() => client.ended)));
  t.pass('idleness is shorter when connections are scarce');
});

t.test('a peer that does not read gets no further answers', async (t) => {
  const { port, counts, clock, connections } = await serve(t);
  const total = 600;
  const queries = Buffer.concat(Array.from({ length: total }, (_, id) => frame(makeQuery(id, 'odd.test', Odd.large))));
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  await once(socket, 'connect');
  t.teardown(() => socket.destroy());
  socket.write(queries);
  let seen = -1;
  while (seen <= 0 || seen < counts[Count.query + Transport.tcp]!) {
    seen = counts[Count.query + Transport.tcp]!;
    await sleep(50);
  }
  t.ok(seen > 0 && seen < total, `${seen} of ${total} queries were answered before the peer read`);
  const client = new StreamClient(socket);
  const got = unframe(await client.receive(total * (LARGE + 2)));
  t.ok(got.every((answer, id) => answer.readUInt16BE(0) === id && answer.length === LARGE));

  const stuck = connect({ host: '127.0.0.1', port });
  stuck.on('error', () => {});
  await once(stuck, 'connect');
  t.teardown(() => stuck.destroy());
  const before = counts[Count.query + Transport.tcp]!;
  stuck.write(queries);
  while (counts[Count.query + Transport.tcp]! - before < 3) await sleep(1);
  await sleep(50);
  t.equal(connections.size, 2);
  clock.advance(15_500);
  while (connections.size > 0) {
    await sleep(1);
    clock.advance(500);
  }
  t.equal(counts[Count.connectionTimedOut], 2, 'the stuck peer, and the one that became idle');
});

t.test('zone transfers: many messages, in order with the answers around them', async (t) => {
  const transfer: AnswerTransfer = (request, peer) => {
    if (request[13] === 'n'.charCodeAt(0)) return undefined;
    const id = request.subarray(0, 2);
    const broken = request[13] === 'b'.charCodeAt(0);
    t.equal(peer.address, '127.0.0.1');
    return (async function* () {
      for (let index = 0; index < 100; index++) {
        if (broken && index === 3) throw new Error('the zone is gone');
        if (index % 10 === 0) await sleep(0);
        yield frame(Buffer.concat([id, Buffer.from([0x84, index]), Buffer.alloc(40_000)]));
      }
    })();
  };
  const { port } = await serve(t, {}, transfer);
  const before = makeQuery(1, 'a.test', A);
  const axfr = makeQuery(2, 'zone.test', 252);
  const none = makeQuery(3, 'none.test', 252);
  const after = makeQuery(4, 'b.test', A);
  const client = await open(t, port);
  client.socket.end(Buffer.concat([before, axfr, none, after].map(frame)));
  const got = unframe(await client.receiveAll());
  t.equal(got.length, 103);
  t.same([got[0], got[101], got[102]], [before, none, after].map(answerTo));
  t.ok(got.slice(1, 101).every((message, index) => message[1] === 2 && message[3] === index));

  const broken = await open(t, port);
  broken.socket.write(frame(makeQuery(5, 'broken.test', 252)));
  await broken.until(() => broken.ended || broken.closed);
  t.ok(broken.octets <= 3 * 40_006, 'a transfer that fails ends the connection');
});

t.test('errors of binding are distinguished', async (t) => {
  const { port, connections } = await serve(t);
  const log = silentLogger();
  const taken = startTcp({ host: '127.0.0.1', port, connections, log });
  await t.rejects(taken, { name: 'ListenError', code: 'EADDRINUSE', listen: { protocol: 'TCP', port } });
  const error = await taken.catch((error: ListenError) => error);
  t.match(String(error), `cannot listen on TCP 127.0.0.1 port ${port}: the port is taken`);
  const foreign = startTcp({ host: '203.0.113.77', port, connections, log });
  await t.rejects(foreign, { code: 'EADDRNOTAVAIL', addressMissing: true });
});

t.test('random and mutated octets', async (t) => {
  const { port, connections } = await serve(t);
  const good = Buffer.concat(Array.from({ length: 20 }, (_, id) => frame(makeQuery(id, `m${id}.test`, A))));
  let state = 12345;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < 300; round++) {
    const octets = Buffer.from(good);
    for (let change = random(20); change > 0; change--) octets[random(octets.length)] = random(256);
    const client = await open(t, port);
    client.socket.end(round % 3 === 0 ? octets.subarray(0, random(octets.length)) : octets);
    await client.receiveAll();
    client.socket.destroy();
  }
  const client = await open(t, port);
  client.socket.write(good);
  t.equal(unframe(await client.receive(good.length)).length, 20);
  client.socket.destroy();
  while (connections.size > 0) await sleep(1);
  t.pass('all connections are gone');
});

t.test('the engine gets the time of day, also after the clock was set', async (t) => {
  const seconds: number[] = [];
  const engine: Answer = (request, start, length, response, at, limit, transport, client) => {
    seconds.push(client!.seconds);
    return standInAnswer(request, start, length, response, at, limit, transport);
  };
  const { port, clock } = await serve(t, {}, undefined, engine);
  const client = await open(t, port);
  const query = makeQuery(1, 'time.test', A);
  const begin = clock.nowMs() / 1000;
  client.socket.write(frame(query));
  await until(() => seconds.length === 1);
  clock.putBack(3_600_000);
  client.socket.write(frame(query));
  await until(() => seconds.length === 2);
  t.same(seconds, [begin, begin - 3600], 'as over UDP: cookies and EXPIRE depend on it');
});

t.test('the real clock drives the sweep', async (t) => {
  const clock = new SystemClock();
  const counts = countBlock(createCounters(1).memory, 0);
  const log = silentLogger();
  const context = { answer: standInAnswer, answerTransfer: undefined, counts, log, clock };
  const connections = new StreamConnections(context, { ...STREAM_LIMITS, idleMs: 1 }, new AnswerTurns());
  const listener = await startTcp({ host: '127.0.0.1', port: 0, connections, log });
  const client = await open(t, listener.port);
  await client.until(() => client.ended);
  listener.close();
  await connections.close(500);
  t.equal(connections.size, 0);
});
