/**
 * A TCP proxy that can cut connections after it has forwarded a request, or keep the answer back, so that only the answer is
 * lost.
 */
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { freePort } from './free-ports.js';

export interface CuttingProxy {
  readonly port: number;
  /** Forwards the next request that contains this text, and cuts its connection before the answer. */
  cutAfter(text: string): void;
  /** How many were cut. */
  cuts(): number;
  /** Forwards the next request that contains this text, and keeps back whatever comes on its connection from then on. */
  holdAfter(text: string): void;
  /** On how many connections an answer was kept back. */
  held(): number;
}

export async function startCuttingProxy(t: Test, target: number): Promise<CuttingProxy> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let wanted: { readonly text: string; readonly holds: boolean } | undefined;
  let cuts = 0;
  let held = 0;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let isCut = false;
    let isHeld = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        if (socket === client && !isCut) upstream.destroy();
        else client.destroy();
      });
    }
    client.on('data', (octets) => {
      upstream.write(octets);
      if (wanted === undefined || !octets.includes(wanted.text)) return;
      isCut = !wanted.holds;
      isHeld = wanted.holds;
      wanted = undefined;
      if (isCut) cuts++;
    });
    // The answer is there, so the server has done it.
    upstream.on('data', (octets) => {
      if (isCut) {
        client.destroy();
        upstream.destroy();
      } else if (isHeld) held++;
      else client.write(octets);
    });
  });
  server.listen(port, '127.0.0.1');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port,
    cutAfter(text) {
      wanted = { text, holds: false };
    },
    holdAfter(text) {
      wanted = { text, holds: true };
    },
    cuts: () => cuts,
    held: () => held,
  };
}
