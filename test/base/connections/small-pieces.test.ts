/** Bodies in chunks of one octet: how they are passed on, and what is read meanwhile. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import t from 'tap';
import { until } from '../../support/until.js';
import { startInTurns } from './turns-server.js';

const HEAD = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n';

const chunksOf = (text: string): string => `${[...text].map((octet) => `1\r\n${octet}\r\n`).join('')}`;

const WORD = '0123456789';

t.test('chunks that came together are passed on together, in their order', async (t) => {
  const pieces: string[] = [];
  const { open } = await startInTurns(t, (request, response) => {
    request.on('data', (piece: Buffer) => pieces.push(piece.toString()));
    request.on('end', () => response.end(`${request.trailers['x-sum']} end`));
  });
  const { socket, text } = await open();
  const long = 'l'.repeat(2000);
  socket.write(`${HEAD}${chunksOf(WORD.repeat(100))}7d0\r\n${long}\r\n${chunksOf('last')}0\r\nX-Sum: 1\r\n\r\n`);
  await until(() => text().includes('1 end'));
  t.equal(pieces.join(''), `${WORD.repeat(100)}${long}last`);
  t.ok(pieces.length < 50, `${pieces.length} pieces`);
  socket.write(`${HEAD}${chunksOf('again')}0\r\n\r\n`);
  await until(() => text().split(' end').length === 3);
  t.ok(pieces.join('').endsWith('again'), 'the connection goes on');
});

t.test('a body that nobody reads is thrown away, with turns of others between', async (t) => {
  let peer: Socket | undefined;
  const { open } = await startInTurns(t, ({ socket }, response) => {
    peer = socket;
    response.end('early');
  });
  const { socket, text } = await open();
  socket.write(`${HEAD}${chunksOf(WORD.repeat(10_000))}0\r\n\r\n${HEAD}0\r\n\r\n`);
  let read = 0;
  let most = 0;
  while (text().split('early').length < 3) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = peer?.bytesRead ?? 0;
    if (read > 0) most = Math.max(most, now - read);
    read = now;
  }
  t.ok(most <= 65_536, `${most} octets in one turn`);
});

t.test('a reader that waits gets no more than it wants, and all of it later', async (t) => {
  let request: IncomingMessage | undefined;
  let octets = 0;
  const { open } = await startInTurns(t, (asked, response) => {
    request = asked;
    asked.on('end', () => response.end('end'));
  });
  const { socket, text } = await open();
  const count = 150_000;
  socket.write(`${HEAD}${chunksOf(WORD.repeat(count / 10))}0\r\n\r\n`);
  await until(() => request !== undefined && request.readableLength >= request.readableHighWaterMark);
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  const { readableLength, readableHighWaterMark } = request!;
  t.ok(readableLength < readableHighWaterMark + 2 * 65_536, `${readableLength} octets wait`);
  request!.on('data', (piece: Buffer) => (octets += piece.length));
  await until(() => text().endsWith('end'));
  t.equal(octets, count);
});
