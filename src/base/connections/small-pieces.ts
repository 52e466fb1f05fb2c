/**
 * Bodies in chunks: Node’s server tells of each chunk by itself, and a client may send each octet as one. What came together is passed
 * on together, and after many small pieces the others have their turn.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Octets of a piece that waits for those that come with it. */
export const SMALL_PIECE = 1024;
/** Small pieces of one body in a turn, after which nothing more of its connection is read in that turn. */
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
    // What waits for its reader is enough.
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
  // Node would throw the rest of a body that nobody reads away by itself, chunk by chunk.
  response.once('prefinish', () => {
    if (request.readableFlowing === null) request.resume();
  });
}

/** For whose sake nothing is read. */
const stopped = new WeakMap<Socket, Set<object>>();

/** Whoever wants more of a body, or ends a request, would let Node read on. */
export function stopReading(socket: Socket, sake: object): void {
  const sakes = stopped.get(socket) ?? new Set();
  stopped.set(socket, sakes.add(sake));
  socket.pause();
  socket.resume = () => socket;
}

/** Nothing is read before all who have stopped it agree: the last one decides. */
export function readOn(socket: Socket, sake: object, isWanted: boolean): void {
  const sakes = stopped.get(socket);
  if (!sakes?.delete(sake) || sakes.size > 0) return;
  Reflect.deleteProperty(socket, 'resume');
  if (isWanted) socket.resume();
}
