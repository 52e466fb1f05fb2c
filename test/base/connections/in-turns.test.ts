/** Requests that come in one piece: when they begin, in which order, and what is read meanwhile. */
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { REQUESTS_A_TURN } from '../../../src/base/connections/in-turns.js';
import { until } from '../../support/until.js';
import { startInTurns } from './turns-server.js';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`;

function start(t: Test, onRequest: (url: string) => void) {
  return startInTurns(t, ({ url = '' }, response) => {
    onRequest(url);
    response.end(url);
  });
}

t.test('a client with many requests lets others have their turn', async (t) => {
  const heard: string[] = [];
  const { open } = await start(t, (url) => {
    // It is there before the first connection has its next turn.
    if (heard.length === 0) other.socket.write(get('/other'));
    if (heard.at(-1) !== url) heard.push(url);
  });
  const [first, other] = [await open(), await open()];
  first.socket.write(get('/first').repeat(500) + get('/last'));
  await until(() => first.text().split('HTTP/1.1 200').length === 502);
  t.ok(first.text().endsWith('/last'), 'in their order');
  t.strictSame(heard, ['/first', '/other', '/first', '/last']);
  first.socket.write(get('/again'));
  await until(() => first.text().endsWith('/again'));
});

t.test('the further requests of all connections share a turn', async (t) => {
  let begun = 0;
  const { open } = await start(t, () => begun++);
  const clients = await Promise.all(Array.from({ length: 16 }, open));
  for (const { socket } of clients) socket.write(get('/').repeat(100));
  let [most, before] = [0, 0];
  while (begun < clients.length * 100) {
    await turn();
    most = Math.max(most, begun - before);
    before = begun;
  }
  // What one turn leaves may be begun in the next one, before it is counted.
  t.ok(most <= 2 * (clients.length + REQUESTS_A_TURN), `${most} requests in a turn`);
});

t.test('while requests wait, nothing more is read', async (t) => {
  let begun = 0;
  let read = 0;
  const { server, open } = await start(t, () => begun++);
  const { socket, text } = await open();
  let most = 0;
  server.prependListener('request', () => (most = Math.max(most, ++read - begun)));
  const count = 8000;
  socket.write(get('/').repeat(count));
  await until(() => begun === count);
  // No more than what one piece of 64 KiB holds.
  t.ok(most <= 65_536 / get('/').length + 1, `${most} requests waited`);
  await until(() => text().split('HTTP/1.1 200').length === count + 1);
});

t.test('a body of small chunks before them does not let more be read', async (t) => {
  let begun = 0;
  let read = 0;
  let most = 0;
  const { server, open } = await start(t, () => begun++);
  const { socket, text } = await open();
  server.prependListener('request', () => (most = Math.max(most, ++read - begun)));
  const count = 8000;
  const head = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n';
  socket.write(`${head}${'1\r\na\r\n'.repeat(300)}0\r\n\r\n${get('/').repeat(count)}`);
  await until(() => begun === count + 1);
  t.ok(most <= 65_536 / get('/').length + 1, `${most} requests waited`);
  await until(() => text().split('HTTP/1.1 200').length === count + 2);
  socket.write(get('/again'));
  await until(() => text().endsWith('/again'));
});

t.test('the requests of all connections that wait are bounded', async (t) => {
  let begun = 0;
  let read = 0;
  let most = 0;
  const { server, open } = await start(t, () => begun++);
  server.prependListener('request', () => (most = Math.max(most, ++read - begun)));
  const count = 2000;
  const clients = await Promise.all(Array.from({ length: 16 }, open));
  for (const { socket } of clients) socket.write(get('/').repeat(count) + get('/last'));
  await until(() => clients.every(({ text }) => text().endsWith('/last')));
  t.equal(begun, clients.length * (count + 1));
  t.ok(most <= 20_001, `${most} requests waited`);
  clients[0]!.socket.write(get('/again'));
  await until(() => clients[0]!.text().endsWith('/again'));
});

t.test('what waits when its connection ends is left out', async (t) => {
  let begun = 0;
  const { open } = await start(t, () => {
    if (++begun === 1) first.socket.resetAndDestroy();
  });
  const [first, other] = [await open(), await open()];
  first.socket.write(get('/first').repeat(1000));
  await until(() => begun > 0);
  other.socket.write(get('/other'));
  await until(() => other.text().endsWith('/other'));
  t.ok(begun < 1000, `${begun} requests begun`);
});
