/** What is written at once stays what it was, however slowly it is taken. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { Composed, writeJoined } from '../../src/plain/write-joined.js';
import { openTlsPairs } from './tls-pairs.js';

const composed = new Composed(128 * 1024);

/** Puts octets together, and leaves room in front. */
function compose(socket: Socket, octets: Buffer): boolean {
  const from = 100;
  composed.begin(from + octets.length);
  octets.copy(composed.octets, from);
  return composed.writeTo(socket, from, from + octets.length);
}

/** The same, but something else is put together before it is written. */
function composeLate(socket: Socket, octets: Buffer): void {
  composed.begin(octets.length);
  octets.copy(composed.octets);
  const taken = composed.take()!;
  composed.begin(octets.length);
  composed.octets.fill('x');
  composed.writeTaken(socket, taken, 0, octets.length);
}

/** Connections are read into it. */
const read = Buffer.allocUnsafeSlow(200_000);

/** Writes what was read, before something else is. */
function passOn(socket: Socket, octets: Buffer): void {
  octets.copy(read);
  composed.writeCopy(socket, read.subarray(0, octets.length));
  read.fill('x', 0, octets.length);
}

const composeText = (socket: Socket, text: string) => compose(socket, Buffer.from(text));
const composeLateText = (socket: Socket, text: string) => composeLate(socket, Buffer.from(text));
const passTextOn = (socket: Socket, text: string) => passOn(socket, Buffer.from(text));

t.test('a reader that takes nothing gets the same octets as one that takes everything', async (t) => {
  const server = createServer();
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const open = async () => {
    const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(far, 'connect');
    while (accepted.length === 0) await once(server, 'connection');
    const got: Buffer[] = [];
    return { far, near: accepted.shift()!, got, sent: [] as Buffer[] };
  };
  type End = Awaited<ReturnType<typeof open>>;
  const send = ({ near, sent }: End, mark: string, length: number): boolean => {
    const body = Buffer.alloc(length, mark);
    sent.push(Buffer.from(`start ${mark}\xe9`, 'latin1'), body);
    return writeJoined(near, ['start ', mark, '\xe9'], body);
  };
  const [slow, quick, short, long] = [await open(), await open(), await open(), await open()];
  const [late, passed] = [await open(), await open()];
  for (const { far } of [slow, short, long, late, passed]) far.pause();
  quick.far.on('data', (piece: Buffer) => quick.got.push(piece));
  let writes = 0;
  // Until the system takes no more, and then some.
  for (let left = 3; left > 0 && writes < 20_000; writes++) {
    if (slow.near.writableLength > 0) left--;
    send(slow, String(writes % 10), 8000 + (writes % 7));
    send(quick, 'q', 8000);
  }
  t.ok(slow.near.writableLength > 0, `it takes nothing after ${writes} writes`);
  const composing: readonly [End, number, (socket: Socket, octets: Buffer) => void][] = [
    [short, 8000, compose],
    [long, 20_000, compose],
    [late, 8000, composeLate],
    [passed, 20_000, passOn],
  ];
  for (const [{ near, sent }, length, write] of composing) {
    for (let left = 3, i = 0; left > 0 && i < 20_000; i++) {
      if (near.writableLength > 0) left--;
      const octets = Buffer.alloc(length, `${i} `);
      sent.push(octets);
      write(near, octets);
    }
  }
  t.ok(writeJoined(quick.near, ['a', '', ''], undefined));
  quick.sent.push(Buffer.from('a'));
  send(quick, 'l', 100_000);
  for (const { far, got } of [slow, short, long, late, passed]) {
    far.on('data', (piece: Buffer) => got.push(piece));
    far.resume();
  }
  for (const end of [slow, quick, short, long, late, passed]) {
    end.near.end();
    await once(end.far, 'end');
    t.ok(Buffer.concat(end.got).equals(Buffer.concat(end.sent)));
  }
  server.close();
});

t.test('the same with TLS, from memory that is used again at once', async (t) => {
  const openPair = await openTlsPairs(t);
  const open = async () => ({ ...(await openPair()), got: [] as Buffer[], sent: [] as Buffer[] });
  const [slow, quick] = [await open(), await open()];
  slow.far.pause();
  quick.far.on('data', (piece: Buffer) => quick.got.push(piece));
  const writes = [
    (socket: Socket, octets: Buffer) => writeJoined(socket, [octets.subarray(0, 10)], octets.subarray(10)),
    compose,
    composeLate,
    passOn,
  ];
  const lengths = [8000, 20_000, 8000, 100_000];
  let isHeld = false;
  // Until the other side takes no more, and then some: twice in a turn, so that the second finds the first one under way.
  for (let left = 5, i = 0; left > 0 && i < 20_000; i++) {
    for (const { near, sent } of [slow, quick, slow, quick]) {
      const octets = Buffer.alloc(lengths[i % 4]! + (i % 7), `${i} `);
      sent.push(octets);
      writes[i % 4]!(near, octets);
    }
    await turn();
    await turn();
    isHeld = slow.near.writableNeedDrain;
    if (isHeld) left--;
  }
  t.ok(isHeld, 'it takes nothing');
  slow.far.on('data', (piece: Buffer) => slow.got.push(piece));
  slow.far.resume();
  for (const { far, near, got, sent } of [slow, quick]) {
    near.end();
    await once(far, 'end');
    t.ok(Buffer.concat(got).equals(Buffer.concat(sent)));
  }
});

t.test('what waits behind an empty write of TLS is not overwritten by what others get', async (t) => {
  const openPair = await openTlsPairs(t);
  const [one, other] = [await openPair(), await openPair()];
  const read = ({ far }: typeof one) => far.setEncoding('latin1').toArray() as Promise<string[]>;
  const got = [read(one), read(other)];
  const writes = [
    (socket: Socket, text: string) => writeJoined(socket, [text], undefined),
    composeText,
    composeLateText,
    passTextOn,
  ];
  for (const write of writes) {
    one.near.write('');
    write(one.near, 'for one ');
    write(other.near, 'for another ');
    await turn();
  }
  one.near.end();
  other.near.end();
  t.same(
    (await Promise.all(got)).map((pieces) => pieces.join('')),
    ['for one '.repeat(4), 'for another '.repeat(4)],
  );
});
