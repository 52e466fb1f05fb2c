/**
 * Starts TLS handshakes in turns by client. A first message costs its sender nothing, and the server a signature: of thousands that come at
 * once, Node's server would make all before anybody else has a turn.
 */
import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import type { Clock } from '../clock.js';
import { clientNetwork, plainAddress } from '../ip.js';
import { createTurnPace } from '../pace.js';
import { readClientHello } from './client-hello.js';
import { readFirst } from './first-octets.js';

/** Handshakes that start in a turn of the event loop. */
const STARTS_A_TURN = 2;
/** Time until the first message is there, milliseconds. */
const HELLO_MS = 10_000;

/** To be called before anybody else listens to the connections of the server. */
export function startHandshakesInTurns(server: Server, clock: Clock): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  const pace = createTurnPace(() => STARTS_A_TURN);
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const cancel = clock.after(HELLO_MS, () => socket.destroy());
    // Nobody else hears of it yet.
    socket.on('error', ignore).once('close', cancel);
    readFirst(socket, (octets) => {
      // What is not TLS fails in the handshake.
      if (readClientHello(octets).kind === 'more') return false;
      pace.wait('', clientNetwork(plainAddress(socket.remoteAddress)), () => {
        cancel();
        if (socket.destroyed) return;
        socket.off('close', cancel);
        socket.unshift(octets);
        for (const listener of listeners) listener.call(server, socket);
      });
      return true;
    });
  });
}

function ignore(): void {}
