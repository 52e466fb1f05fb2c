/** Who sends nothing more is waited for while it gets something. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { keepOpen } from '../../src/plain/half-closed.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

t.test('one that gets nothing for five seconds ends, unless something waits for it', async (t) => {
  const clock = new TestClock();
  const listener = createServer();
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const open = async (): Promise<{ readonly socket: Socket; readonly client: Socket }> => {
    const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => {});
    t.teardown(() => client.destroy());
    const [socket] = (await once(listener, 'connection')) as [Socket];
    socket.prependListener('end', () => keepOpen(socket, clock));
    socket.resume();
    client.end();
    await once(socket, 'end');
    return { socket, client };
  };
  const [quiet, slow] = [await open(), await open()];
  slow.client.pause();
  slow.socket.write(Buffer.alloc(1 << 25));
  for (let i = 0; i < 3; i++) {
    clock.advance(4999);
    quiet.socket.write('a little');
    clock.advance(1);
  }
  t.strictSame([quiet.socket.destroyed, slow.socket.destroyed], [false, false]);
  clock.advance(5000);
  t.strictSame([quiet.socket.destroyed, slow.socket.destroyed], [true, false]);
  slow.client.resume();
  await until(() => slow.socket.writableLength === 0);
  clock.advance(10_000);
  t.ok(slow.socket.destroyed);
  listener.close();
});
