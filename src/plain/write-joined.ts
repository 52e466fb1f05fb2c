/** Writes what belongs together at once, so that it takes one call of the system and, where it can, no memory of its own. */
import type { Socket } from 'node:net';

/** What is longer takes memory of its own. Whatever a slow reader leaves keeps as much until it is taken. */
const MOST_OCTETS = 16_384;

/** What was put together last, which the system has taken. */
let scratch = Buffer.allocUnsafeSlow(MOST_OCTETS);

/** Of a head, whose parts may be there already: one character for each octet. */
export type Texts = readonly [start: string, lines: string, rest: string];

/** Writes texts, and then octets, which are copied. Returns what `write` of the socket does: whether it takes more. */
export function writeJoined(socket: Socket, [start, lines, rest]: Texts, octets: Uint8Array | undefined): boolean {
  const length = start.length + lines.length + rest.length + (octets?.length ?? 0);
  // TLS takes less time for a buffer of the right size, and what waits in a queue is not taken at once.
  const isOwn = length > MOST_OCTETS || socket.writableLength > 0 || 'encrypted' in socket;
  const joined = isOwn ? Buffer.allocUnsafe(length) : scratch;
  let at = joined.write(start, 'latin1');
  if (lines !== '') at += joined.write(lines, at, 'latin1');
  if (rest !== '') at += joined.write(rest, at, 'latin1');
  if (octets) joined.set(octets, at);
  const takesMore = socket.write(isOwn ? joined : joined.subarray(0, length));
  // The system has not taken all of it yet.
  if (!isOwn && socket.writableLength > 0) scratch = Buffer.allocUnsafeSlow(MOST_OCTETS);
  return takesMore;
}
