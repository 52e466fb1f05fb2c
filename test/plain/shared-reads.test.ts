/** Accepted sockets are read from one buffer, as far as they let others do that. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import t from 'tap';
import { kept, shareReads } from '../../src/plain/shared-reads.js';

t.test('what arrives is in memory that is used again, unless it is kept', async (t) => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const heard: Buffer[] = [];
  let next = Promise.withResolvers<Buffer>();
  socket.on('data', (piece) => heard.push(piece));
  const take = (octets: Buffer): boolean => {
    next.resolve(octets);
    return true;
  };
  t.ok(shareReads(socket, take), 'this version of Node has the parts');
  client.write('first');
  const first = await next.promise;
  const copy = kept(first);
  t.equal(first.toString(), 'first');
  next = Promise.withResolvers();
  client.write('other');
  t.equal((await next.promise).toString(), 'other');
  t.equal(first.toString(), 'other', 'it was used again');
  t.equal(copy.toString(), 'first');
  t.equal(kept(copy), copy);
  client.end();
  await once(socket, 'end');
  t.strictSame(heard, []);
  server.close();
});

t.test('a stream that is no socket of the system stays as it is', async (t) => {
  const stream = new Duplex({ read() {}, write: (_piece, _encoding, done) => done() });
  t.notOk(shareReads(stream as Socket, () => true));
});
