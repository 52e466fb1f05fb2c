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
  /**
   * Forwards the next request that contains this text; from then on, it is as a network that swallows packets: connections are
   * accepted, and nothing goes through on any.
   */
  swallowAfter(text: string): void;
  /** Ends the connections through which nothing went; later ones work. */
  goOn(): void;
  /** Changes one bit of what this side sends next with this text in it: of the octet so far behind the begin of the text. */
  flip(side: 'client' | 'server', text: string, offset: number): void;
  /** How many bits were changed. */
  flips(): number;
}

export async function startCuttingProxy(t: Test, target: number): Promise<CuttingProxy> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let wanted: { readonly text: string; readonly action: 'cut' | 'hold' | 'swallow' } | undefined;
  let cuts = 0;
  let held = 0;
  let swallows = false;
  let flips = 0;
  let toFlip: { readonly side: string; readonly text: string; readonly offset: number } | undefined;
  const flipIn = (side: string, octets: Buffer): Buffer => {
    const at = toFlip?.side === side ? octets.indexOf(toFlip.text) : -1;
    if (at === -1) return octets;
    octets[at + toFlip!.offset]! ^= 1;
    toFlip = undefined;
    flips++;
    return octets;
  };
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
      if (swallows) return;
      upstream.write(flipIn('client', octets));
      if (wanted === undefined || !octets.includes(wanted.text)) return;
      isCut = wanted.action === 'cut';
      isHeld = wanted.action === 'hold';
      swallows = wanted.action === 'swallow';
      wanted = undefined;
      if (isCut) cuts++;
    });
    // The answer is there, so the server has done it.
    upstream.on('data', (octets) => {
      if (isCut) {
        client.destroy();
        upstream.destroy();
      } else if (isHeld) held++;
      else if (!swallows) client.write(flipIn('server', octets));
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
      wanted = { text, action: 'cut' };
    },
    holdAfter(text) {
      wanted = { text, action: 'hold' };
    },
    cuts: () => cuts,
    held: () => held,
    swallowAfter(text) {
      wanted = { text, action: 'swallow' };
    },
    goOn() {
      swallows = false;
      for (const socket of sockets) socket.destroy();
    },
    flip(side, text, offset) {
      toFlip = { side, text, offset };
    },
    flips: () => flips,
  };
}
