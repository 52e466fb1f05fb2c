/** Messages on a stream: frames, each a message after its length in two octets (RFC 1035 §4.2.2). */

/** A message as a frame. */
export function frameOf(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(2 + message.length);
  writeLength(frame, 0, message.length);
  frame.set(message, 2);
  return frame;
}

/** Octets of the message in the frame at `at`. */
export function lengthAt(octets: Uint8Array, at: number): number {
  return (octets[at]! << 8) | octets[at + 1]!;
}

export function writeLength(octets: Uint8Array, at: number, length: number): void {
  octets[at] = length >>> 8;
  octets[at + 1] = length;
}

/** Where the last whole frame of `octets[start..end)` ends; a frame begins at `start`. */
export function endOfFrames(octets: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at + 2 <= end && at + 2 + lengthAt(octets, at) <= end) at += 2 + lengthAt(octets, at);
  return at;
}
