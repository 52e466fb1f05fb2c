/** Clients that go on sending a body after they have their answer. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import t from 'tap';
import { beginInTurns } from '../../../src/base/connections/in-turns.js';
import { endUnreadBodies } from '../../../src/base/connections/unread-bodies.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';

const CHUNKED = 'Transfer-Encoding: chunked';

for (const [field, begin, rest] of [
  ['Content-Length: 4', 'a', 'bcd'],
  [CHUNKED, '1\r\na\r\n', '0\r\n\r\n'],
] as const) {
  t.test(`a body with ${field}`, async (t) => {
    const clock = new TestClock();
    const server = createServer((_request, response) => response.end('early'));
    beginInTurns(server);
    endUnreadBodies(server, clock);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const [whole, endless] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    const texts = ['', ''];
    for (const [i, socket] of [whole, endless].entries()) {
      t.teardown(() => socket.destroy());
      socket.on('data', (piece) => (texts[i] = `${texts[i]}${piece}`));
      socket.on('error', () => {});
      socket.write(`POST / HTTP/1.1\r\nHost: a.test\r\n${field}\r\n\r\n${begin}`);
    }
    await until(() => texts.every((text) => text.endsWith('early')));
    whole.write(`${rest}GET / HTTP/1.1\r\nHost: a.test\r\n\r\n`);
    await until(() => texts[0]!.split('early').length === 3);
    t.notOk(endless.closed, 'it may send a little longer');
    await until(() => {
      clock.advance(2_000);
      return endless.closed;
    });
    whole.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await until(() => texts[0]!.split('early').length === 4);
    t.notOk(whole.closed, 'a whole request keeps its connection');
  });
}
