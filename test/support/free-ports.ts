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

/** A port of 127.0.0.1 nobody holds, over UDP or TCP; each call gives another, also in other processes. */
export async function freePort(): Promise<number> {
  for (;;) {
    next = next >= LAST ? FIRST : next + 1;
    // Other calls may go on while this one waits.
    const port = next;
    if ((await reserve(port)) && (await isFreeTcp(port)) && (await isFreeUdp(port))) return port;
  }
}

/** Keeps the port for this process until it ends; false when another has it. Only one socket can have an abstract name. */
async function reserve(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(`\0zoneplane-test-port-${port}`), 'listening');
  } catch {
    return false;
  }
  server.unref();
  return true;
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
