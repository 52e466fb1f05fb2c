/**
 * Ports for programs that need a fixed port. They are below the range that the system assigns (32768 and up on Linux),
 * so that no other socket takes one before the program binds it.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 10_240;
const LAST = 32_767;
/** Started at another place in every process: test files run at the same time. */
let next = FIRST + ((process.pid * 7919) % (LAST - FIRST));

/** A port of 127.0.0.1 nobody holds, over UDP or TCP; each call gives another. */
export async function freePort(): Promise<number> {
  for (;;) {
    next = next >= LAST ? FIRST : next + 1;
    if ((await isFreeTcp(next)) && (await isFreeUdp(next))) return next;
  }
}

async function isFreeTcp(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

async function isFreeUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    await once(socket.bind(port, '127.0.0.1'), 'listening');
  } catch {
    socket.close();
    return false;
  }
  socket.close();
  await once(socket, 'close');
  return true;
}
