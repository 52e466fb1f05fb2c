/** When a whole response is written, and what is told of it. */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { WholeResponse } from '../../src/plain/whole-response.js';

function begin(hasMore = false) {
  const socket = {
    written: '',
    destroyed: false,
    writableLength: 0,
    writableNeedDrain: false,
    write(octets: Buffer) {
      if (octets.includes('fault')) throw new Error('a bug');
      this.written += octets.toString('latin1');
      return true;
    },
    destroy() {
      this.destroyed = true;
    },
  };
  const told: unknown[] = [];
  const channel = {
    socket: socket as unknown as Socket,
    ...{ keepAlive: 'timeout=5', nowMs: () => 1000, hasMore },
    onWritten: (isLast: boolean) => void told.push(isLast ? 'last' : 'next'),
  };
  const response = new WholeResponse(channel, 'GET', false, (error) => void told.push((error as Error).message));
  response.whenOver((isSent) => void told.push(isSent));
  return { socket, told, response };
}

t.test('at the end of the turn', async (t) => {
  const { socket, told, response } = begin();
  response.send(200, 'content-length: 4\r\n', Buffer.from('body'));
  t.equal(response.isBegun, true);
  response.drained();
  t.strictSame([socket.written, told], ['', []], 'what was written before has left only now');
  await turn();
  t.match(socket.written, /^HTTP\/1\.1 200 OK\r\ncontent-length: 4\r\nDate: Thu, 01 Jan 1970.*\r\n\r\nbody$/s);
  t.strictSame(told, [true, 'next']);
});

t.test('at once, when something follows', async (t) => {
  const { socket, told, response } = begin(true);
  response.send(204, '', undefined);
  t.match(socket.written, /^HTTP\/1\.1 204 No Content/);
  t.strictSame(told, [true, 'next']);
});

t.test('a connection that ends before', async (t) => {
  const { socket, told, response } = begin();
  response.send(200, '', undefined);
  socket.destroy();
  response.closed();
  await turn();
  t.strictSame([socket.written, told], ['', [false]], 'nothing is written, and that is told once');
});

t.test('a bug while it is written', async (t) => {
  const [faulty, other] = [begin(), begin()];
  faulty.response.send(200, 'x-fault: fault\r\n', undefined);
  other.response.send(200, '', undefined);
  await turn();
  t.equal(faulty.socket.destroyed, true);
  t.strictSame(faulty.told, ['a bug']);
  t.strictSame(other.told, [true, 'next'], 'others are written all the same');
});
