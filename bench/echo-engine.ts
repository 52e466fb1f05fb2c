/** The lower bound: returns the request with QR set, without a look-up. It costs only the transport and the kernel. */
import type { Answer } from '../src/answer/transport.js';

export const echo: Answer = (request, start, length, response, at) => {
  for (let i = 0; i < length; i++) response[at + i] = request[start + i]!;
  response[at + 2] = request[start + 2]! | 0x80;
  return length;
};

export function createWorkerEngine(): { answer: Answer; isStale: () => boolean; refresh: () => void } {
  return { answer: echo, isStale: () => false, refresh: () => {} };
}
