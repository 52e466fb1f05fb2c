/** A server that begins requests in turns, and connections to it that collect what they get. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Test } from 'tap';
import { beginInTurns } from '../../../src/base/connections/in-turns.js';

export async function startInTurns(t: Test, serve: RequestListener) {
  const server = createServer(serve);
  beginInTurns(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const open = async (): Promise<{ socket: Socket; text: () => string }> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.on('data', (piece) => (text += piece.toString('latin1')));
    socket.on('error', () => {});
    await once(socket, 'connect');
    t.teardown(() => socket.destroy());
    return { socket, text: () => text };
  };
  return { server, open };
}
