/** Datagrams that the main thread answers: in turns, and a share of the places for each client. */
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { DEFERRED } from '../../../src/answer/transport.js';
import { SystemClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { Count, countBlock, createCounters } from '../../../src/server/counters.js';
import { loadSyscalls } from '../../../src/server/syscalls.js';
import { AnswerTurns } from '../../../src/server/turns/answer-turns.js';
import { createDeferredMemory, DeferredPlaces } from '../../../src/server/turns/deferred-places.js';
import { startUdpBatched } from '../../../src/server/udp-batched.js';
import { startUdpAlone, startUdpPortable } from '../../../src/server/udp-portable.js';
import { whyNoSyscalls } from '../../support/syscalls.js';
import { until } from '../../support/until.js';
import { makeQuery, UdpClient } from '../clients.js';
import { Odd } from '../stand-in-engine.js';

/** What one client may have while others have nothing. */
const SHARE = 500;
const AT_ONCE = 50;

t.test('a client has half of what the others leave, and each has one', async (t) => {
  const memory = createDeferredMemory(0x5eed);
  const [one, other] = [new DeferredPlaces(memory), new DeferredPlaces(memory)];
  const enterAll = (places: DeferredPlaces, client: string): number[] => {
    const held: number[] = [];
    for (let place = places.enter(client); place !== undefined; place = places.enter(client)) held.push(place);
    return held;
  };
  const first = enterAll(one, '192.0.2.1');
  t.equal(first.length, SHARE);
  const second = enterAll(other, '192.0.2.2');
  t.equal(second.length, SHARE / 2);
  for (const place of first) other.leave(place);
  t.equal(enterAll(one, '192.0.2.2').length, SHARE / 2, 'it has its whole part again');
  const many = Array.from({ length: 1000 }, (_, i) => one.enter(`198.51.${i >> 8}.${i & 255}`));
  t.ok(many.filter((place) => place === undefined).length < 200, 'whoever comes first gets a place');
});

type Way = 'batched' | 'portable' | 'alone';

/** A server that defers all, and what waits for its turn there. */
async function serve(t: Test, way: Way) {
  const waiting: { readonly client: string; readonly goOn: () => void }[] = [];
  const counters = createCounters(2);
  const options = {
    addresses: ['127.0.0.1'],
    port: 0,
    workers: 1,
    engine: {
      module: new URL('../stand-in-engine.js', import.meta.url),
      connect: () => ({ data: { words: new SharedArrayBuffer(8) }, port: new MessageChannel().port1 }),
    },
    counters,
    turns: {
      take: ({ client }: { readonly client: string }, _: number, goOn: () => void) =>
        void waiting.push({ client, goOn }),
    },
    firstThread: 1,
    log: silentLogger(),
    clock: new SystemClock(),
    answer: () => DEFERRED,
    answerDeferred: (request: Uint8Array) => request,
  };
  const server =
    way === 'batched'
      ? await startUdpBatched(await loadSyscalls(), options)
      : await (way === 'portable' ? startUdpPortable : startUdpAlone)(options);
  t.teardown(() => server.close());
  const open = async (from: string): Promise<UdpClient> => {
    const client = await UdpClient.open('127.0.0.1', server.port, from);
    t.teardown(() => client.close());
    return client;
  };
  const unanswered = (): number =>
    [0, 1].reduce((sum, thread) => sum + countBlock(counters.memory, thread)[Count.silent]!, 0);
  return { unanswered, waiting, flooding: await open('127.0.0.1'), other: await open('127.0.0.2') };
}

for (const way of ['batched', 'portable', 'alone'] as const) {
  const skip = way === 'batched' ? await whyNoSyscalls() : false;
  t.test(`a flood leaves places for others: ${way}`, { skip }, async (t) => {
    const { unanswered, waiting, flooding, other } = await serve(t, way);
    const query = (id: number): Buffer => makeQuery(id, 'odd', Odd.deferred);
    for (let sent = 0; sent < SHARE; ) {
      for (let i = 0; i < AT_ONCE; i++) flooding.send(query(sent++));
      await until(() => waiting.length === sent);
    }
    flooding.send(query(SHARE));
    other.send(query(SHARE + 1));
    await until(() => waiting.length > SHARE);
    t.equal(waiting[SHARE]!.client, '127.0.0.2', 'what was too much was dropped, and the other one waits for its turn');
    await until(() => unanswered() === 1, 'one was dropped, whichever came first');
    waiting[SHARE]!.goOn();
    t.equal((await other.receive())?.readUInt16BE(0), SHARE + 1, 'it is answered');
    waiting[0]!.goOn();
    flooding.send(query(SHARE + 2));
    await until(() => waiting.length === SHARE + 2);
    t.equal(waiting[SHARE + 1]!.client, '127.0.0.1', 'a place was free again');
  });
}

t.test('clients have their turns one after the other', async (t) => {
  const turns = new AnswerTurns();
  const order: string[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  for (let i = 0; i < 1000; i++) turns.take({ client: 'flood' }, 64, () => order.push('flood'));
  turns.take({ client: 'other' }, 64, () => {
    order.push('other');
    end();
  });
  await ended;
  t.ok(order.length <= 10, 'it waits for a turn of the flood, not for all of it');
});

t.test('those of a group have their turns together, and those who have gone have none', async (t) => {
  const turns = new AnswerTurns();
  const order: string[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const ask = (client: string, group: string, isGone = false): void =>
    turns.take(
      { client, group },
      64,
      () => order.push(group),
      () => isGone,
    );
  for (let i = 0; i < 1000; i++) ask(`198.51.100.${i}`, 'flood');
  for (let i = 0; i < 1000; i++) ask(`203.0.113.${i}`, `gone ${i}`, true);
  for (let i = 0; i < 3; i++) ask('192.0.2.1', 'other');
  turns.take({ client: '192.0.2.1', group: 'other' }, 64, end);
  await ended;
  t.equal(order.filter((group) => group === 'other').length, 3);
  t.ok(order.length <= 15, 'they wait for a turn of all the flood, not for each of its addresses');
  t.notOk(order.some((group) => group.startsWith('gone')));
});
