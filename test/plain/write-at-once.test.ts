/** What is written past the streams of Node: the same octets in the same order, whoever reads slowly or goes. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { isQueued, writeAtOnce, writeBorrowed } from '../../src/plain/write-at-once.js';
import { hasTaken, writeJoined } from '../../src/plain/write-joined.js';

interface Pair {
  readonly client: Socket;
  readonly socket: Socket;
}

async function pair(t: Test): Promise<Pair> {
  const server = createServer({ pauseOnConnect: false });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  client.pause();
  const [socket] = await accepted;
  for (const one of [client, socket]) one.on('error', () => {});
  t.teardown(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { client, socket };
}

const PIECE = 16_384;

/** Fills the connection, each piece with another octet, until the system takes no more at once. Returns how many it wrote. */
function fill(socket: Socket): number {
  for (let i = 0; i < 10_000; i++) if (!writeAtOnce(socket, Buffer.alloc(PIECE, i % 251))) return i + 1;
  throw new Error('it takes everything');
}

async function readAll(client: Socket, octets: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let left = octets;
  client.on('data', (piece: Buffer) => {
    pieces.push(piece);
    left -= piece.length;
    if (left <= 0) client.emit('all');
  });
  client.resume();
  if (left > 0) await once(client, 'all');
  return Buffer.concat(pieces);
}

t.test('a slow reader gets everything in order, and is waited for', async (t) => {
  const { client, socket } = await pair(t);
  // The first write shows how Node does it.
  writeAtOnce(socket, Buffer.alloc(PIECE, 0));
  const pieces = fill(socket) + 1;
  t.ok(isQueued(socket));
  t.notOk(hasTaken(socket), 'no more is to be sent until it was taken');
  t.equal(socket.writableLength, 0, 'the stream knows nothing of it');
  t.notOk(writeAtOnce(socket, Buffer.from('second')), 'what comes behind it');
  writeJoined(socket, ['th', 'ir', 'd'], undefined);
  const drained = once(socket, 'drain');
  const all = await readAll(client, pieces * PIECE + 'secondthird'.length);
  await drained;
  t.notOk(isQueued(socket));
  t.ok(hasTaken(socket));
  const expected = [Buffer.alloc(PIECE, 0)];
  for (let i = 0; i < pieces - 1; i++) expected.push(Buffer.alloc(PIECE, i % 251));
  t.ok(all.equals(Buffer.concat([...expected, Buffer.from('secondthird')])));
  t.ok(writeAtOnce(socket, Buffer.from('again')), 'and then at once');
});

t.test('the end comes behind what is queued', async (t) => {
  const { client, socket } = await pair(t);
  const pieces = fill(socket);
  socket.destroySoon();
  const ended = once(client, 'end');
  const all = await readAll(client, pieces * PIECE);
  await ended;
  t.equal(all.length, pieces * PIECE);
});

t.test('who goes ends the socket', async (t) => {
  const { client, socket } = await pair(t);
  fill(socket);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  client.resetAndDestroy();
  await closed;
  t.notOk(isQueued(socket), 'nothing waits for it');
  t.ok(writeAtOnce(socket, Buffer.from('late')), 'nothing keeps the octets');
});

t.test('what cannot be written ends the socket', async (t) => {
  const { socket } = await pair(t);
  const failed = once(socket, 'error') as Promise<[NodeJS.ErrnoException]>;
  (socket as unknown as { _handle: { writeBuffer: () => number } })._handle.writeBuffer = () => -32;
  t.notOk(writeAtOnce(socket, Buffer.from('x')));
  const [error] = await failed;
  t.match(error, { code: 'EPIPE', syscall: 'write' });
  t.ok(socket.destroyed);
});

t.test('what is not connected, and what waits already, goes the usual way', async (t) => {
  const server = createServer((socket) => socket.pipe(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  t.teardown(() => {
    socket.destroy();
    server.close();
  });
  t.notOk(writeAtOnce(socket, Buffer.from('one ')));
  t.notOk(isQueued(socket));
  t.ok(socket.writableLength > 0);
  t.notOk(writeAtOnce(socket, Buffer.from('two')));
  t.equal((await readAll(socket, 7)).toString(), 'one two');
});

t.test('what others write to afterwards is sent as it was, however slowly it is read', async (t) => {
  const { client, socket } = await pair(t);
  writeAtOnce(socket, Buffer.from('first'));
  const borrowed = Buffer.alloc(150_000);
  const expected = [Buffer.from('first')];
  // Until the system takes a part of one, and then some.
  for (let i = 0, left = 3; left > 0 && i < 10_000; i++) {
    const octets = borrowed.subarray(0, 140_000 + i).fill(`${i} `);
    expected.push(Buffer.from(octets));
    if (!writeBorrowed(socket, octets)) left--;
    borrowed.fill('x');
  }
  t.notOk(hasTaken(socket));
  const all = Buffer.concat(expected);
  const drained = once(socket, 'drain');
  t.ok((await readAll(client, all.length)).equals(all));
  await drained;
  t.ok(hasTaken(socket));
  t.ok(writeBorrowed(socket, Buffer.from('again')));
});

t.test('it ends with whoever goes, and is counted for a client that has ended its side', async (t) => {
  const { client, socket } = await pair(t);
  const octets = Buffer.alloc(20_000, 'o');
  writeAtOnce(socket, octets);
  socket.allowHalfOpen = true;
  writeBorrowed(socket, octets);
  t.equal(socket.bytesWritten, 40_000);
  socket.allowHalfOpen = false;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  client.resetAndDestroy();
  // Whether this is noticed by a write or by a read.
  while (!socket.destroyed) {
    writeBorrowed(socket, octets);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  t.notOk(isQueued(socket));
  writeBorrowed(socket, octets);
});
