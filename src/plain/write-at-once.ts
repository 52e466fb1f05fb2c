/**
 * Gives octets to the system past the streams of Node, which make an object for each write, lead it through three layers, and look after it
 * in a tick of the process: that takes as long as everything else that is done for a small write but the write itself. What the system
 * does not take at once is queued behind the socket as always. The parts that this needs have no public name; without them, and where
 * anything waits already, octets go the usual way.
 */
import { writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';

/** What the system tells about a write that was not complete at once. */
interface WriteRequest {
  oncomplete?: (status: number) => void;
  /** Must stay as they are until then. */
  octets?: Uint8Array;
}

interface Handle {
  /** Returns 0, or the negative number of an error. The request is used only for what the system did not take. */
  writeBuffer(request: WriteRequest, octets: Uint8Array): number;
  /** Octets that the system did not take yet. */
  readonly writeQueueSize: number;
  /** Negative when it is closed, or if the system has none. */
  readonly fd: number;
}

interface Connected {
  readonly _handle?: Partial<Handle> | null;
}

/** Made by Node for the first write of this program. */
let Request: (new () => WriteRequest) | undefined;
/** One that was not needed can be used again. */
let spare: WriteRequest | undefined;

/** Sockets with octets that the system did not take at once. `drain` tells when it has. */
const queued = new WeakSet<Socket>();
/** How many there are: nearly always none. */
let waiting = 0;

/** Whether the system has not taken what was written here. */
export function isQueued(socket: Socket): boolean {
  return waiting > 0 && queued.has(socket);
}

/** Must be called only for sockets without TLS. Returns whether the system has all octets, so that their memory can be used again. */
export function writeAtOnce(socket: Socket, octets: Buffer): boolean {
  const { _handle: handle } = socket as Connected;
  // Behind what waits, everything goes the usual way.
  if (!canWrite(handle) || socket.connecting || socket.writableLength > 0 || isQueued(socket)) {
    return writeAsAlways(socket, octets);
  }
  if (!Request) {
    learnRequest(handle);
    return writeAsAlways(socket, octets);
  }
  const request = (spare ??= new Request());
  const status = handle.writeBuffer(request, octets);
  if (status === 0 && handle.writeQueueSize === 0) return true;
  spare = undefined;
  if (status === 0) awaitTaken(socket, request, octets);
  else fail(socket, status);
  return false;
}

/**
 * The same for many octets that others write to afterwards, such as those that were read: what the system does not take at once is
 * copied. Returns whether it has all of them.
 */
export function writeBorrowed(socket: Socket, octets: Buffer): boolean {
  const taken = takenNow(socket, octets);
  return taken === octets.length || writeAtOnce(socket, Buffer.from(octets.subarray(taken)));
}

/** How many octets the system takes at once. */
function takenNow(socket: Socket, octets: Buffer): number {
  const { fd = -1 } = (socket as Connected)._handle ?? {};
  // Of a client that has ended its side, the socket is to count what it is sent (half-closed.ts).
  if (fd < 0 || socket.connecting || socket.writableLength > 0 || isQueued(socket) || socket.allowHalfOpen) return 0;
  try {
    return writeSync(fd, octets);
  } catch {
    // Nothing can be taken, or the next write tells why it cannot.
    return 0;
  }
}

function canWrite(handle: Partial<Handle> | null | undefined): handle is Handle {
  // To read the size is a call of its own, each time.
  return handle?.writeBuffer !== undefined && 'writeQueueSize' in handle;
}

function writeAsAlways(socket: Socket, octets: Buffer): boolean {
  socket.write(octets);
  return socket.writableLength === 0;
}

/** The class of requests is seen when Node itself writes. */
function learnRequest(handle: Handle): void {
  const own: { writeBuffer?: Handle['writeBuffer'] } = handle;
  own.writeBuffer = (request, octets) => {
    delete own.writeBuffer;
    Request ??= request.constructor as new () => WriteRequest;
    return handle.writeBuffer(request, octets);
  };
}

function awaitTaken(socket: Socket, request: WriteRequest, octets: Uint8Array): void {
  queued.add(socket);
  waiting++;
  request.octets = octets;
  request.oncomplete = (status) => {
    queued.delete(socket);
    waiting--;
    if (status < 0) fail(socket, status);
    // Otherwise the stream tells it, too.
    else if (!socket.destroyed && !socket.writableNeedDrain) socket.emit('drain');
  };
}

/** Does nothing to a socket that was destroyed before. */
function fail(socket: Socket, status: number): void {
  const code = getSystemErrorName(status);
  socket.destroy(Object.assign(new Error(`write ${code}`), { code, errno: status, syscall: 'write' }));
}
