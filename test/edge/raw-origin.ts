/** An origin that speaks octets, for what no HTTP server does. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

/** Calls `serve` for each request that arrives, with the octets that came with it. Returns the port. */
export async function listenTo(t: Test, serve: (socket: Socket, head: string) => void): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      const text = piece.toString('latin1');
      // A body that follows its head is not a request.
      if (/^[A-Z]+ \S+ HTTP/.test(text)) serve(socket, text.toLowerCase());
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
