/** TLS handshakes of a server start in turns, so that whoever sends thousands of first messages leaves turns to others. */
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Server } from 'node:tls';
import t, { type Test } from 'tap';
import { startHandshakesInTurns } from '../../../src/base/connections/handshake-turns.js';
import { TestClock } from '../../support/test-clock.js';

/** A first message (RFC 8446 §4.1.2) that names no host. */
const BODY = Buffer.concat([Buffer.of(3, 3), Buffer.alloc(32), Buffer.of(0, 0, 2, 0x13, 1, 1, 0)]);
const HELLO = Buffer.concat([Buffer.of(22, 3, 1, 0, BODY.length + 4, 1, 0, 0, BODY.length), BODY]);

function setUp(t: Test) {
  const clock = new TestClock(0);
  const server = new Server();
  const started: Socket[] = [];
  server.removeAllListeners('connection').on('connection', (socket: Socket) => void started.push(socket));
  startHandshakesInTurns(server, clock);
  const connect = (address: string, first?: Buffer): Socket => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: address });
    socket._read = () => {};
    t.teardown(() => socket.destroy());
    server.emit('connection', socket);
    if (first) socket.push(first);
    return socket;
  };
  return { clock, started, connect };
}

t.test('two in a turn, by client', async (t) => {
  const { started, connect } = setUp(t);
  const sockets = Array.from({ length: 60 }, () => connect('192.0.2.1', HELLO));
  const other = connect('198.51.100.1', HELLO);
  sockets[1]!.destroy();
  let most = 0;
  for (let turns = 0; turns < 200 && started.length < 60; turns++) {
    const before = started.length;
    await nextTurn();
    most = Math.max(most, started.length - before);
  }
  t.equal(most, 2);
  t.equal(started.length, 60, 'whoever has gone has none');
  t.ok(started.indexOf(other) < 4, 'another client waits for one of the flood');
  t.strictSame(started[0]!.read(), HELLO, 'the handshake has all octets');
});

t.test('a message in parts, one that does not come, and one that is none', async (t) => {
  const { clock, started, connect } = setUp(t);
  const slow = connect('192.0.2.1', HELLO.subarray(0, 20));
  const silent = connect('192.0.2.2');
  const alien = connect('192.0.2.3', Buffer.from('GET / HTTP/1.1'));
  const wait = async () => {
    for (let turns = 0; turns < 10; turns++) await nextTurn();
  };
  await wait();
  t.ok(started.length === 1 && started[0] === alien, 'Node refuses it');
  slow.push(HELLO.subarray(20));
  await wait();
  t.ok(started.length === 2 && started[1] === slow);
  t.strictSame(slow.read(), HELLO);
  clock.advance(10_000);
  t.ok(silent.destroyed);
  t.notOk(slow.destroyed);
  silent.emit('error', new Error('connection reset'));
});
