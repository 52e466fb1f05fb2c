/**
 * Begins the requests of a connection in turns with those of others. Thousands may come in one piece, and Node’s server would begin
 * all of them at once. While requests of a connection wait, nothing more of it is read.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { gatherPieces, readOn, stopReading } from './small-pieces.js';

/** Requests of one connection that are begun before others have their turn. */
export const REQUESTS_A_TURN = 32;

/** Requests of all connections that may wait, because each takes memory. Beyond that, requests begin as they would without turns. */
const MOST_WAITING = 20_000;

let waitingInAll = 0;

/**
 * Requests that are begun in a turn of the event loop besides the first one of each connection. A turn takes one connection from a
 * listener, so that whoever connects would wait for all requests of all other connections.
 */
export class FurtherRequests {
  private left: number;

  constructor(private readonly most: number) {
    this.left = most;
  }

  /** Returns how many of so many may begin in this turn. */
  take(count: number): number {
    if (this.left === this.most) setImmediate(this.renew);
    const taken = Math.min(count, this.left);
    this.left -= taken;
    return taken;
  }

  private readonly renew = (): void => {
    this.left = this.most;
  };
}

/** Of all servers of this process that need some tenths of a millisecond for a request. */
export const FURTHER_REQUESTS = new FurtherRequests(REQUESTS_A_TURN);

interface Turn {
  begun: number;
  readonly waiting: (() => void)[];
}

/** Begins the requests of a connection in their order: at once, or in a later turn if the connection is still open then. */
export function takeTurns(): (socket: Socket, begin: () => void) => void {
  const turns = new WeakMap<Socket, Turn>();
  return (socket, begin) => {
    const turn = turns.get(socket) ?? { begun: 0, waiting: [] };
    turns.set(socket, turn);
    if (turn.waiting.length === 0 && mayBegin(turn.begun)) {
      if (turn.begun++ === 0) setImmediate(goOn, socket, turn);
      begin();
      return;
    }
    waitingInAll++;
    if (turn.waiting.push(begin) === 1) stopReading(socket, turn);
    if (waitingInAll > MOST_WAITING) for (const next of take(turn, Number.POSITIVE_INFINITY)) next();
  };
}

function mayBegin(begun: number): boolean {
  return begun === 0 || (begun < REQUESTS_A_TURN && FURTHER_REQUESTS.take(1) > 0);
}

function take({ waiting }: Turn, most: number): (() => void)[] {
  const taken = waiting.splice(0, most);
  waitingInAll -= taken.length;
  return taken;
}

function goOn(socket: Socket, turn: Turn): void {
  const further = Math.min(turn.waiting.length, REQUESTS_A_TURN) - 1;
  const next = take(
    turn,
    socket.destroyed ? Number.POSITIVE_INFINITY : 1 + FURTHER_REQUESTS.take(Math.max(0, further)),
  );
  turn.begun = next.length;
  if (socket.destroyed) return;
  if (next.length > 0) setImmediate(goOn, socket, turn);
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
