/**
 * Bodies in chunks: Node’s server reports each chunk separately, and a client may send each octet as a chunk. Chunks that came together
 * are passed on together, and after many small ones the other connections have their turn.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A piece with fewer octets waits for those that come with it. */
export const SMALL_PIECE = 1024;
/** After more small pieces of one body than this, nothing more of its connection is read in the same turn. */
const PIECES_A_TURN = 256;

/** To be called before anybody reads the body. */
export function gatherPieces(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['transfer-encoding'] === undefined || Object.hasOwn(request, 'push')) return;
  const pushOn = request.push.bind(request);
  let gathered: Buffer[] = [];
  let isStopped = false;
  const pass = (): boolean => {
    const pieces = gathered;
    gathered = [];
    return pieces.length === 0 || request.destroyed || pushOn(Buffer.concat(pieces));
  };
  const endTurn = (): void => {
    const { socket } = request;
    if (!pass()) socket.pause();
    if (!isStopped) return;
    isStopped = false;
    // Reading goes on only if the reader of the body does not have enough.
    readOn(socket, request, request.complete || request.readableLength < request.readableHighWaterMark);
  };
  request.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (piece === null || piece.length >= SMALL_PIECE) {
      const mayTake = pass();
      return pushOn(piece, encoding) && mayTake;
    }
    const count = gathered.push(piece);
    if (count === 1) setImmediate(endTurn);
    if (count > PIECES_A_TURN && !isStopped) {
      isStopped = true;
      stopReading(request.socket, request);
    }
    return true;
  };
  // Otherwise Node itself throws away the rest of a body that nobody reads, chunk by chunk.
  response.once('prefinish', () => {
    if (request.readableFlowing === null) request.resume();
  });
}

/** For each connection, those that have stopped reading from it. */
const stopped = new WeakMap<Socket, Set<object>>();

/** Replaces `resume`, because Node calls it when somebody wants more of a body, or when a request ends. */
export function stopReading(socket: Socket, sake: object): void {
  const sakes = stopped.get(socket) ?? new Set();
  stopped.set(socket, sakes.add(sake));
  socket.pause();
  socket.resume = () => socket;
}

/** Reading goes on only when all who have stopped it have called this; the `isWanted` of the last one decides. */
export function readOn(socket: Socket, sake: object, isWanted: boolean): void {
  const sakes = stopped.get(socket);
  if (!sakes?.delete(sake) || sakes.size > 0) return;
  Reflect.deleteProperty(socket, 'resume');
  if (isWanted) socket.resume();
}
