/** Accepted sockets are read from one buffer, as far as they let others do that. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import t from 'tap';
import { kept, ReadMemory, shareReads } from '../../src/plain/shared-reads.js';

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

t.test('a head takes the place of the one that came before a body, as far as there is room', async (t) => {
  const memory = new ReadMemory(20);
  const came = memory.first(memory.octets.write('short|the body, more'));
  const put = (head: string) => memory.putBefore(came, 6, 14, Buffer.from(head))?.toString();
  t.equal(put('long|'), 'long|the body');
  const longer = `${'l'.repeat(1000)}|`;
  t.equal(put(longer), `${longer}the body`, 'in front of what is read, too');
  t.equal(put('l'.repeat(10_000)), undefined);
  t.equal(put(''), 'the body', 'which did not change');
  t.equal(memory.octets.toString('latin1', 14), ', more');
  const other = Buffer.from('xx|the body');
  t.equal(memory.putBefore(other, 3, 11, Buffer.from('y|')), undefined, 'other memory may hold what is not to be lost');
  t.equal(other.toString(), 'xx|the body');
});
