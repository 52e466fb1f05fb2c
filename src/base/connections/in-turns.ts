/**
 * Begins the requests of a connection in turns with those of others. Thousands may come in one piece, and Node’s server would begin
 * all of them at once. While some wait, nothing more is read.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { gatherPieces, readOn, stopReading } from './small-pieces.js';

/** Requests of one connection that are begun before others have their turn. */
const REQUESTS_A_TURN = 32;

interface Turn {
  begun: number;
  readonly waiting: (() => void)[];
}

/** Runs what a connection asks for in its order: at once, or in a later turn if the connection is still open then. */
export function takeTurns(): (socket: Socket, begin: () => void) => void {
  const turns = new WeakMap<Socket, Turn>();
  return (socket, begin) => {
    const turn = turns.get(socket) ?? { begun: 0, waiting: [] };
    turns.set(socket, turn);
    if (turn.waiting.length === 0 && turn.begun < REQUESTS_A_TURN) {
      if (turn.begun++ === 0) setImmediate(goOn, socket, turn);
      begin();
    } else if (turn.waiting.push(begin) === 1) stopReading(socket, turn);
  };
}

function goOn(socket: Socket, turn: Turn): void {
  const next = socket.destroyed ? turn.waiting.splice(0) : turn.waiting.splice(0, REQUESTS_A_TURN);
  turn.begun = next.length;
  if (socket.destroyed || next.length === 0) return;
  setImmediate(goOn, socket, turn);
  for (const begin of next) begin();
  if (turn.waiting.length === 0) readOn(socket, turn, true);
}

/** To be called before anybody else listens to the requests of the server. */
export function beginInTurns(server: Server | SecureServer): void {
  const listeners = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  const inTurns = takeTurns();
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    gatherPieces(request, response);
    inTurns(request.socket, () => {
      for (const listener of listeners) listener.call(server, request, response);
    });
  });
}
