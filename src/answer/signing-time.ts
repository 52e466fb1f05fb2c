/**
 * The time that may be spent on signatures while queries wait, in microseconds: a reserve that fills up slowly, in memory of
 * all threads. Those that answer datagrams only look at it; the thread that signs takes from it what it has used.
 */
// hot

const Word = { left: 0, truncated: 1 } as const;

/** Left for streams, whose clients have proved their addresses, when datagrams have used up the rest. */
const OF_STREAMS_US = 20_000;

/** `us`: what is there at first. */
export function createSigningTime(us: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(8);
  addSigningTime(signingTimeOf(memory), us, us);
  return memory;
}

export function signingTimeOf(memory: SharedArrayBuffer): Int32Array<SharedArrayBuffer> {
  return new Int32Array(memory);
}

/** Whether a datagram may wait for a signature. Those that may not are counted. */
export function mayDeferDatagram(time: Int32Array<SharedArrayBuffer>): boolean {
  if (Atomics.load(time, Word.left) > OF_STREAMS_US) return true;
  Atomics.add(time, Word.truncated, 1);
  return false;
}

/** Datagrams that did not wait; wraps at 2^32. */
export function countTruncated(time: Int32Array<SharedArrayBuffer>): number {
  return Atomics.load(time, Word.truncated) >>> 0;
}

/** Whether more time than this is left; a negative one is time of the future. */
export function maySign(time: Int32Array<SharedArrayBuffer>, aboveUs: number): boolean {
  return Atomics.load(time, Word.left) > aboveUs;
}

/** A negative number gives time back. */
export function takeSigningTime(time: Int32Array<SharedArrayBuffer>, us: number): void {
  Atomics.sub(time, Word.left, us);
}

/** Adds time, up to `most`; false when it is full. Only one thread may add. */
export function addSigningTime(time: Int32Array<SharedArrayBuffer>, us: number, most: number): boolean {
  const left = Atomics.load(time, Word.left);
  Atomics.add(time, Word.left, Math.max(0, Math.min(us, most - left)));
  return left + us < most;
}
