/** What a connection says first, before it is known who reads it. */
import type { Socket } from 'node:net';

/**
 * Passes all octets received so far to `take` whenever more arrive, until it has what it needs. Nothing of it remains with the connection,
 * which may be idle for long. One that ends before that is destroyed.
 */
export function readFirst(socket: Socket, take: (octets: Buffer) => boolean): void {
  let octets: Buffer | undefined;
  const end = (): void => void socket.destroy();
  const read = (): void => {
    for (let piece = socket.read() as Buffer | null; piece !== null; piece = socket.read() as Buffer | null) {
      octets = octets ? Buffer.concat([octets, piece]) : piece;
    }
    if (!octets || !take(octets)) return;
    octets = undefined;
    socket.off('readable', read);
    socket.off('end', end);
  };
  socket.on('readable', read);
  socket.once('end', end);
}
