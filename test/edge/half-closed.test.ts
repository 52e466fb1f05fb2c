/** Clients of HTTP/1 that end their side: whole requests are answered, and no other reaches an origin as a whole one. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import t from 'tap';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { exchange, startEdgeWorld } from './fixture.js';

const HOST = 'www.example.org';
/** More than a connection begins in one turn. */
const MANY = 40;

t.test('a request whose body ends too early reaches no origin as a whole one', async (t) => {
  const whole: string[] = [];
  const origin = createServer((request, response) => {
    request.on('end', () => {
      whole.push(request.url!);
      response.end('ok');
    });
    request.on('error', () => {});
    request.resume();
  });
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => origin.close());
  const world = await startEdgeWorld(t);
  const zone = await world.zone('example.org', (origin.address() as AddressInfo).port);
  await editZoneSetting(world.ctx, zone, 'ssl', 'flexible');
  await world.heard();
  const begin = (path: string, field: string): string => `POST ${path} HTTP/1.1\r\nHost: ${HOST}\r\n${field}\r\n\r\n`;
  const paths = Array.from({ length: MANY }, (_, i) => `/${i}`);
  const asked = {
    '/length': `${begin('/length', 'Content-Length: 9')}half`,
    '/chunked': `${begin('/chunked', 'Transfer-Encoding: chunked')}4\r\nhalf\r\n`,
    '/many': paths.map((path) => `${begin(path, 'Content-Length: 1')}x`).join(''),
  };
  for (const open of [() => connect(world.httpPort, '127.0.0.1'), () => world.tls(HOST)]) {
    const answers: string[] = [];
    for (const text of Object.values(asked)) {
      const socket = await open();
      const heard = exchange(socket, text);
      socket.end();
      answers.push(await heard);
    }
    t.strictSame(
      answers.map((answer) => answer.match(/HTTP\/1.1 \d+/g)),
      [['HTTP/1.1 400'], ['HTTP/1.1 400'], paths.map(() => 'HTTP/1.1 200')],
    );
    // They are asked for side by side.
    t.strictSame(new Set(whole.splice(0)), new Set(paths));
  }
});
