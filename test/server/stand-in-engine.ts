/** An engine for transport tests: it returns queries with QR set, and misbehaves for names that begin with `odd`. */
import { type MessagePort, receiveMessageOnPort, threadId } from 'node:worker_threads';
import { type Answer, DEFERRED } from '../../src/answer/transport.js';
import { questionType } from '../../src/server/counters.js';
import type { WorkerEngine } from '../../src/server/udp-protocol.js';

/** What the stand-in does, by QTYPE. */
export const Odd = {
  fault: 65280,
  exit: 65281,
  large: 65282,
  generation: 65283,
  silent: 65284,
  thread: 65285,
  deferred: 65286,
} as const;

/** Octets of an answer to {@link Odd.large} on streams. */
export const LARGE = 60_000;

/**
 * Shared with worker engines: word 0 is the generation; word 1 is 1 while engines shall die at start, word 2 (if there is one) while they
 * shall wait there.
 */
export interface StandInData {
  readonly words: SharedArrayBuffer;
}

let generation = 0;

/** The first label is `odd`, so that random packets do nothing odd. */
function isOdd(request: Uint8Array, start: number): boolean {
  return (
    request[start + 12] === 3 &&
    request[start + 13] === 111 &&
    request[start + 14] === 100 &&
    request[start + 15] === 100
  );
}

export const standInAnswer: Answer = (request, start, length, response, at, limit) => {
  if (length < 12 || (request[start + 2]! & 0x80) !== 0) return 0;
  const type = isOdd(request, start) ? questionType(request, start, length) : 0;
  if (type === Odd.silent) return 0;
  if (type === Odd.deferred) return DEFERRED;
  if (type === Odd.fault) throw new Error('stand-in fault');
  if (type === Odd.exit) process.exit(3);
  const echoed = Math.min(length, limit);
  for (let i = 0; i < echoed; i++) response[at + i] = request[start + i]!;
  response[at + 2]! |= 0x80;
  if (type === Odd.generation || type === Odd.thread) {
    response[at + echoed] = type === Odd.thread ? threadId : generation;
    return echoed + 1;
  }
  if (type === Odd.large && limit >= LARGE) {
    response.fill(response[at + 1]!, at + echoed, at + LARGE);
    return LARGE;
  }
  return echoed;
};

export function createWorkerEngine(data: unknown): WorkerEngine {
  const words = new Int32Array((data as StandInData).words);
  if (words[1] === 1) throw new Error('stand-in cannot start');
  if (words.length > 2) Atomics.wait(words, 2, 1);
  generation = Atomics.load(words, 0);
  return {
    answer: standInAnswer,
    isStale: () => Atomics.load(words, 0) !== generation,
    refresh: (port: MessagePort) => {
      // The message carries what the shared word announces; both must agree.
      for (let next = receive(port); next !== undefined; next = receive(port)) generation = next;
    },
  };
}

function receive(port: MessagePort): number | undefined {
  return (receiveMessageOnPort(port) as { message: number } | undefined)?.message;
}
