/**
 * The one budget of long work: it runs in slices, between which everybody else gets a turn, whether it reads on the event loop or
 * writes. However many run in slices, one slice runs in a turn of the event loop, and what has arrived meanwhile comes before the
 * next one.
 */
import { type Clock, sleep, steadyMs, threadProcessorUs } from './clock.js';

/** Milliseconds of a slice, and the steps between two looks at the clock, which costs as much as a short step. */
const SLICE_MS = 5;
const STEPS_PER_LOOK = 8;
/**
 * Milliseconds of processor time of a write in which several changes share the costs of a commit, and its longest time: where the
 * processor does something else meanwhile, ever fewer changes would share them.
 */
const COMMIT_MS = 12;
const LONGEST_COMMIT_MS = 30;
/** Milliseconds between two writes, so that other writers get the lock. */
const PAUSE_MS = 4;
/** Milliseconds of a write while no server is running: more rows share its cost and the pause after it. */
const ALONE_MS = 100;

/** The turn in which slices have begun, by their clock; undefined when none has begun in this one. */
let turn: { readonly clock: Clock; readonly endMs: number } | undefined;

/** Until when slices run in this turn, however many follow one another. Callbacks of the same round of the event loop share it. */
function endOfSlices(clock: Clock): number {
  if (turn?.clock === clock) return turn.endMs;
  const begun = { clock, endMs: steadyMs(clock) + SLICE_MS };
  turn = begun;
  setImmediate(() => {
    if (turn === begun) turn = undefined;
  });
  return begun.endMs;
}

/** Of all that wait for the returned function, so many go on in each later turn of the event loop. */
function fewInATurn(most: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const runNext = (): void => {
    turn = undefined;
    for (const resolve of waiting.splice(0, most)) resolve();
    if (waiting.length > 0) setImmediate(runNext);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(runNext);
    });
}

/** Resolves in a later turn of the event loop, in which no other slice runs. */
export const nextSlice = fewInATurn(1);

/** Whether a time is used up. */
export type IsOver = () => boolean;

/** Call it after each step. It looks at the clock once in so many steps. */
export function beginSlice(clock: Clock, stepsPerLook: number = STEPS_PER_LOOK, sliceMs: number = SLICE_MS): IsOver {
  return isAfter(clock, steadyMs(clock) + sliceMs, stepsPerLook);
}

function isAfter(clock: Clock, endMs: number, stepsPerLook: number): IsOver {
  let count = 0;
  return () => ++count % stepsPerLook === 0 && steadyMs(clock) >= endMs;
}

/**
 * The time of a write in which several changes share the costs of a commit; call it after each. It is over before a change that takes as
 * long as the longest so far would exceed it. `processorUs`: processor time of this thread.
 */
export function beginShared(clock: Clock, processorUs: () => number = threadProcessorUs): IsOver {
  const beganMs = steadyMs(clock);
  const beganUs = processorUs();
  let lastMs = beganMs;
  let longestMs = 0;
  return () => {
    const nowMs = steadyMs(clock);
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    const passedMs = nowMs - beganMs;
    if (passedMs + longestMs <= COMMIT_MS) return false;
    const usedMs = (processorUs() - beganUs) / 1000;
    return passedMs > LONGEST_COMMIT_MS || usedMs + Math.min(longestMs, usedMs) > COMMIT_MS;
  };
}

/**
 * Runs a generator in slices. All that follow one another in a turn have one budget. A step takes less than a millisecond, or it is one
 * of few in which the clock is looked at.
 */
export async function inSlices<Value>(
  clock: Clock,
  work: Generator<unknown, Value>,
  stepsPerLook: number = STEPS_PER_LOOK,
): Promise<Value> {
  if (steadyMs(clock) >= endOfSlices(clock)) await nextSlice();
  for (let isOver = isAfter(clock, endOfSlices(clock), stepsPerLook); ; ) {
    const step = work.next();
    if (step.done) return step.value;
    if (!isOver()) continue;
    await nextSlice();
    isOver = isAfter(clock, endOfSlices(clock), stepsPerLook);
  }
}

/** What a generator yields. */
export function* collect<Item>(items: Iterable<Item>): Generator<undefined, Item[]> {
  const all: Item[] = [];
  for (const item of items) {
    all.push(item);
    yield;
  }
  return all;
}

/** Items between two steps; sorting so many takes some tenths of a millisecond. */
const SORTED_AT_ONCE = 500;

/** The items in order, step by step; those that are equal stay as they stand. The given ones are left alone. */
export function* sortInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Generator<undefined, Item[]> {
  let runs: Item[][] = [];
  for (let at = 0; at < items.length; at += SORTED_AT_ONCE) {
    runs.push(items.slice(at, at + SORTED_AT_ONCE).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const longer: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at]!, runs[at + 1] ?? [], compare));
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged<Item>(a: Item[], b: Item[], compare: (a: Item, b: Item) => number): Generator<undefined, Item[]> {
  if (b.length === 0) return a;
  const all: Item[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const isFirst = j === b.length || (i < a.length && compare(a[i]!, b[j]!) <= 0);
    all.push(isFirst ? a[i++]! : b[j++]!);
    if (all.length % SORTED_AT_ONCE === 0) yield;
  }
  return all;
}

/** Runs a generator at once. */
export function finished<Value>(work: Generator<unknown, Value>): Value {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Resolves when others have had time to write. */
export function betweenWrites(): Promise<void> {
  return sleep(PAUSE_MS);
}

/** Where writes go, and the clock that ends them. */
interface Written {
  readonly clock: Clock;
  /** Whether no server is running now; absent: one may be. */
  readonly isAlone?: () => boolean;
  readonly store: { write<Value>(work: () => Value): Promise<Value> };
}

/**
 * Writes in slices, with pauses, as long as a place has more to write. `step` writes a little from a place on, and returns where the
 * next step begins; it may be undone and run again. Resolves to the last place.
 */
export async function inWrites<Place>(
  { clock, store, isAlone }: Written,
  from: Place,
  hasMore: (place: Place) => boolean,
  step: (place: Place) => Place,
): Promise<Place> {
  const writeSlice = (begin: Place): Place => {
    const isOver = beginSlice(clock, 1, isAlone?.() ? ALONE_MS : SLICE_MS);
    let place = step(begin);
    while (hasMore(place) && !isOver()) place = step(place);
    return place;
  };
  let place = from;
  while (hasMore(place)) {
    const begin = place;
    place = await store.write(() => writeSlice(begin));
    await betweenWrites();
  }
  return place;
}
