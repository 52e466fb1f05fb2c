/** Frames whose end does not come: what they keep is shared by clients. */
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { Count, countBlock, createCounters } from '../../../src/server/counters.js';
import { PartialFrame, PartialRoom, WaitingOctets } from '../../../src/server/streams/partial-frame.js';
import { STREAM_LIMITS, StreamConnections } from '../../../src/server/streams/stream-connections.js';
import { startTcp } from '../../../src/server/tcp.js';
import { AnswerTurns } from '../../../src/server/turns/answer-turns.js';
import { until } from '../../support/until.js';
import { frame, makeQuery, StreamClient } from '../clients.js';
import { standInAnswer } from '../stand-in-engine.js';

t.test('a client has half of what the others leave, and small frames are free', async (t) => {
  const room = new PartialRoom({ of: 4000, inAll: 60_000 });
  const part = (octets: number): Uint8Array => new Uint8Array(octets).fill(1);
  const [first, second, third] = [1, 2, 3].map(() => new PartialFrame(room, '192.0.2.1'));
  t.ok(first!.append(part(1500)) && second!.append(part(100)));
  t.ok(second!.append(part(900)), 'it grows while the client has less than its part');
  t.ok(third!.append(part(200)), 'free');
  t.notOk(third!.append(part(400)), 'but no more');
  const other = new PartialFrame(room, '192.0.2.2');
  t.ok(other.append(part(600)), 'another client has its own part');
  first!.clear();
  t.ok(third!.append(part(700)), 'there is room again');
  t.equal(third!.take().subarray(0, 900).indexOf(0), -1, 'all octets are there');
  t.equal(third!.length, 0);
  for (const one of [second!, other]) one.clear();
  for (let i = 0; i < 1000; i++) {
    const again = new PartialFrame(room, '192.0.2.1');
    if (!again.append(part(4000))) t.fail('what was given back is not free');
    again.clear();
  }
});

t.test('whoever holds too many unfinished frames loses connections, others none', async (t) => {
  const counts = countBlock(createCounters(1).memory, 0);
  const context = { answer: standInAnswer, answerTransfer: undefined, counts, log: silentLogger() };
  const limits = { ...STREAM_LIMITS, partialPerClient: 200_000, partial: 1_000_000 };
  const connections = new StreamConnections({ ...context, clock: new SystemClock() }, limits, new AnswerTurns());
  const listener = await startTcp({ host: '127.0.0.1', port: 0, connections, log: silentLogger() });
  const opened: StreamClient[] = [];
  t.teardown(async () => {
    for (const { socket } of opened) socket.destroy();
    listener.close();
    await connections.close(0);
  });
  const open = async (from: string): Promise<StreamClient> => {
    const client = await StreamClient.open('127.0.0.1', listener.port, from);
    opened.push(client);
    return client;
  };
  const large = frame(Buffer.concat([makeQuery(7, 'large.test', 1), Buffer.alloc(65_000)]));
  const flood: StreamClient[] = [];
  for (let i = 0; i < 10; i++) {
    const client = await open('127.0.0.1');
    client.socket.write(large.subarray(0, -1));
    flood.push(client);
  }
  await until(() => counts[Count.connectionEvicted]! >= 6, 'four of them fit');
  const other = await open('127.0.0.2');
  other.socket.write(large.subarray(0, 40_000));
  other.socket.write(large.subarray(40_000));
  await until(() => other.octets > 2, 'another client is answered');
  const kept = flood.filter(({ ended }) => !ended);
  t.ok(kept.length > 0, 'the flood keeps what fits');
});

t.test('what waits for its turn takes a part of the same room', async (t) => {
  const room = new PartialRoom({ of: 4000, inAll: 60_000 });
  const part = (octets: number): Uint8Array => new Uint8Array(octets).fill(1);
  const [first, second, free] = [1, 2, 3].map(() => new WaitingOctets(room, '192.0.2.1'));
  t.ok(first!.add(part(3000)) && first!.add(part(2000)), 'more than its part by one chunk');
  t.notOk(second!.add(part(600)));
  t.ok(second!.isEmpty);
  t.ok(free!.add(part(500)));
  t.ok(new WaitingOctets(room, '192.0.2.2').add(part(600)), 'another client has its own part');
  t.equal(first!.take()?.length, 5000);
  t.ok(second!.add(part(600)), 'there is room again');
});

t.test('a client of which too much waits loses connections, others none', async (t) => {
  const counts = countBlock(createCounters(1).memory, 0);
  const context = { answer: standInAnswer, answerTransfer: undefined, counts, log: silentLogger() };
  const limits = { ...STREAM_LIMITS, partialPerClient: 60_000, partial: 1_000_000 };
  const turns = new AnswerTurns();
  const waiting: (() => void)[] = [];
  Object.defineProperty(turns, 'isFree', { get: () => false });
  turns.wait = (_, goOn) => void waiting.push(goOn);
  const connections = new StreamConnections({ ...context, clock: new SystemClock() }, limits, turns);
  const listener = await startTcp({ host: '127.0.0.1', port: 0, connections, log: silentLogger() });
  const opened: StreamClient[] = [];
  t.teardown(async () => {
    for (const { socket } of opened) socket.destroy();
    listener.close();
    await connections.close(0);
  });
  const send = async (from: string): Promise<StreamClient> => {
    const client = await StreamClient.open('127.0.0.1', listener.port, from);
    opened.push(client);
    client.socket.write(frame(Buffer.concat([makeQuery(7, 'large.test', 1), Buffer.alloc(20_000)])));
    return client;
  };
  for (let i = 0; i < 10; i++) await send('127.0.0.1');
  await until(() => counts[Count.connectionEvicted]! >= 6, 'three or four of them fit');
  const before = waiting.length;
  const other = await send('127.0.0.2');
  await until(() => waiting.length > before);
  for (const goOn of waiting) goOn();
  await until(() => other.octets > 2, 'another client waits for its turn, and is answered');
});
