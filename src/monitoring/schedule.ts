/**
 * When what is due next: a heap of times on a steady clock, and one timer. What is repeated is spread over its interval, each time a
 * little earlier or later, so that probes that once were together do not stay so.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Random } from '../base/random.js';

export interface Schedule<Item> {
  /** Adds an item, or moves it to another time. */
  set(item: Item, dueMs: number): void;
  remove(item: Item): void;
  readonly size: number;
  close(): void;
}

interface Entry<Item> {
  readonly item: Item;
  readonly dueMs: number;
}

/** Of what is due at one moment, so many run in one turn. */
const MOST_AT_ONCE = 64;

/** `run` is called once for each time that was set. */
export function createSchedule<Item>(clock: Clock, run: (item: Item) => void): Schedule<Item> {
  const heap: Entry<Item>[] = [];
  const current = new Map<Item, Entry<Item>>();
  let cancel = (): void => {};
  let timerMs = Number.POSITIVE_INFINITY;
  const arm = (): void => {
    const dueMs = heap[0]?.dueMs ?? Number.POSITIVE_INFINITY;
    if (dueMs === timerMs) return;
    cancel();
    timerMs = dueMs;
    cancel = dueMs === Number.POSITIVE_INFINITY ? () => {} : clock.after(Math.max(0, dueMs - steadyMs(clock)), look);
  };
  const look = (): void => {
    timerMs = Number.POSITIVE_INFINITY;
    const nowMs = steadyMs(clock);
    for (let count = 0; count < MOST_AT_ONCE && heap.length > 0 && heap[0]!.dueMs <= nowMs; ) {
      const entry = pop(heap);
      if (current.get(entry.item) !== entry) continue;
      current.delete(entry.item);
      count++;
      run(entry.item);
    }
    arm();
  };
  return {
    set(item, dueMs) {
      const entry = { item, dueMs };
      current.set(item, entry);
      push(heap, entry);
      if (heap.length > 2 * current.size + MOST_AT_ONCE) rebuild(heap, current.values());
      arm();
    },
    remove(item) {
      current.delete(item);
    },
    get size() {
      return current.size;
    },
    close: () => cancel(),
  };
}

function rebuild<Item>(heap: Entry<Item>[], entries: Iterable<Entry<Item>>): void {
  heap.length = 0;
  for (const entry of entries) push(heap, entry);
}

function push<Item>(heap: Entry<Item>[], entry: Entry<Item>): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]!.dueMs <= entry.dueMs) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = entry;
}

function pop<Item>(heap: Entry<Item>[]): Entry<Item> {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.dueMs < heap[child]!.dueMs) child++;
    if (heap[child]!.dueMs >= last.dueMs) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return first;
}

/** A number from 0 up to 1. */
export function fractionOf(random: Random): number {
  const [a, b, c, d] = random.bytes(4) as unknown as [number, number, number, number];
  return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) / 2 ** 32;
}

/** Earlier or later by so much of an interval. */
const JITTER = 0.1;

/** When what was due at `dueMs` is due again. What is late by more than an interval is not made up for. */
export function nextDue(dueMs: number, intervalMs: number, nowMs: number, random: Random): number {
  const nextMs = dueMs + intervalMs * (1 - JITTER + 2 * JITTER * fractionOf(random));
  return nextMs > nowMs ? nextMs : nowMs + intervalMs * fractionOf(random);
}
