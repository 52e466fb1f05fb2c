/**
 * Long work in slices, between which everybody else gets a turn. However many run in slices, one slice runs in a turn of the event
 * loop, and what has arrived meanwhile comes before the next one.
 */
import { type Clock, steadyMs } from './clock.js';

/** Milliseconds of a slice, and the steps between two looks at the clock, which costs as much as a short step. */
const SLICE_MS = 5;
const STEPS_PER_LOOK = 8;

const waiting: (() => void)[] = [];

function runNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(runNext);
}

/** Resolves in a later turn of the event loop, in which no other slice runs. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(runNext);
  });
}

/** Runs a generator in slices. A step of it takes less than a millisecond. */
export async function inSlices<Value>(clock: Clock, work: Generator<undefined, Value>): Promise<Value> {
  let endMs = steadyMs(clock) + SLICE_MS;
  for (let count = 1; ; count++) {
    const step = work.next();
    if (step.done) return step.value;
    if (count % STEPS_PER_LOOK !== 0 || steadyMs(clock) < endMs) continue;
    await nextSlice();
    endMs = steadyMs(clock) + SLICE_MS;
  }
}

/** Runs a generator at once. */
export function finished<Value>(work: Generator<undefined, Value>): Value {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
