/**
 * Clients that say at once that they send nothing more (a FIN after the request), and still wait for their answers. RFC 9112 §9.6 lets a
 * server close then, but a script that sends a request and ends its side expects its answer, whether that is stored or not. Nobody tells
 * such a client from one that has gone, so it is waited for only as long as it gets something now and then.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import { isQueued } from './write-at-once.js';

/** How long nothing may be sent to it, milliseconds: what is sent to one that has gone ends the connection. */
const QUIET_MS = 5000;

/** Keeps this side open, to be called while `end` of the socket is told, before Node ends it. */
export function keepOpen(socket: Socket, clock: Clock): void {
  socket.allowHalfOpen = true;
  let before = socket.bytesWritten;
  const cancel = clock.every(QUIET_MS, () => {
    const { bytesWritten, writableLength } = socket;
    // What it does not read is another matter.
    if (bytesWritten === before && writableLength === 0 && !isQueued(socket)) socket.destroy();
    before = bytesWritten;
  });
  socket.once('close', cancel);
}
