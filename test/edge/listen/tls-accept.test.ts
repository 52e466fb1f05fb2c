/** Handshakes that start in turns: whoever sends thousands of first messages leaves turns to others. */
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { createTlsAcceptor } from '../../../src/edge/listen/tls-accept.js';
import type { HostTls } from '../../../src/edge/tls/contexts.js';

function sized(octets: Buffer, width: number): Buffer {
  const head = Buffer.alloc(width);
  head.writeUIntBE(octets.length, 0, width);
  return Buffer.concat([head, octets]);
}

/** A first message (RFC 8446 §4.1.2) that names the host. */
function helloTo(host: string): Buffer {
  const names = sized(Buffer.concat([Buffer.of(0), sized(Buffer.from(host), 2)]), 2);
  const extensions = sized(Buffer.concat([Buffer.of(0, 0), sized(names, 2)]), 2);
  const fixed = Buffer.concat([Buffer.of(3, 3), Buffer.alloc(32), Buffer.of(0, 0, 2, 0x13, 1, 1, 0)]);
  const message = Buffer.concat([Buffer.of(1), sized(Buffer.concat([fixed, extensions]), 3)]);
  return Buffer.concat([Buffer.of(22, 3, 1), sized(message, 2)]);
}

const UNUSED = { certificate: {} as HostTls['certificate'], settings: '' };
const ACCOUNTS: Readonly<Record<string, number>> = { 'flood.test': 1, 'other.test': 2 };

t.test('accounts take turns, and clients of an account', async (t) => {
  const [looked, started]: string[][] = [[], []];
  const refused: string[] = [];
  const accept = createTlsAcceptor({
    findTls: (host) => {
      looked!.push(host);
      return { ...UNUSED, accept: (socket) => void started!.push(`${host} ${socket.remoteAddress}`) };
    },
    accountOf: (host) => ACCOUNTS[host] ?? 0,
    onRefused: (why) => refused.push(why),
    clock: new SystemClock(),
  });
  const connect = (host: string, address: string): Socket => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: address });
    socket._read = () => {};
    accept(socket);
    socket.push(helloTo(host));
    return socket;
  };
  const sockets = Array.from({ length: 100 }, () => connect('flood.test', '192.0.2.1'));
  sockets.push(connect('flood.test', '192.0.2.2'), connect('other.test', '192.0.2.3'));
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()));
  sockets[1]!.destroy();
  let most = 0;
  for (let turns = 0; turns < 100 && looked!.length < 101; turns++) {
    const before = looked!.length;
    await nextTurn();
    most = Math.max(most, looked!.length - before);
  }
  t.equal(most, 2, 'no context is looked up in a turn beyond those');
  t.equal(started!.length, 101, 'whoever has gone has none');
  t.ok(started!.indexOf('other.test 192.0.2.3') < 4, 'another account waits for one of the flood');
  t.ok(started!.indexOf('flood.test 192.0.2.2') < 6, 'another client waits for one of the flood');
  t.strictSame(refused, []);
});
