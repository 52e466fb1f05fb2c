/**
 * Counts turns of the event loop that keep all others waiting: those that take more than {@link LONG_TURN_MS} of processor time. A
 * turn lasts from one callback of the system, such as a timer or data that has arrived, to the next, with all promises that are settled
 * meanwhile. Time in which the machine does something else does not count.
 */
import { type AsyncHook, AsyncLocalStorage, createHook, type HookCallbacks } from 'node:async_hooks';
import { type Clock, threadProcessorUs } from './clock.js';
import type { MetricSample } from './metrics.js';

const LONG_TURN_MS = 20;
/** How exactly a turn is measured: processor time is read so often, because reading it costs as much as a short turn. */
const READ_EVERY_MS = 1;

const names = new AsyncLocalStorage<string>();
/** Of the turn that is under way. */
let current = '';

/** Gives a name to this turn and to those that follow from `run`: a route, or the kind of a job. There are few different ones. */
export function nameTurns<T>(name: string, run: () => T): T {
  current = name;
  return names.run(name, run);
}

/** The name of the turns from which this one follows. */
export function nameOfTurn(): string {
  return names.getStore() ?? '';
}

export interface LongTurns {
  samples(): MetricSample[];
  stop(): void;
}

/** Where it is watched in part only: so long, and from one beginning to the next. */
const WATCHED_MS = 1000;
const PERIOD_MS = 10_000;

/**
 * Watches the thread that calls it, from now on. `process`: its name, for the label. `inPart`: only in one second of ten by this
 * clock, because watching costs a thread with very many short turns some hundredths of its time.
 */
export function watchLongTurns(process: string, inPart?: Clock): LongTurns {
  const counts = new Map<string, { count: number; longestMs: number }>();
  let beganMs = performance.now();
  let readMs = beganMs;
  let processorUs = threadProcessorUs();

  const note = (usedMs: number): void => {
    const known = counts.get(current);
    if (known) {
      known.count++;
      known.longestMs = Math.max(known.longestMs, usedMs);
    } else counts.set(current, { count: 1, longestMs: usedMs });
  };
  const before = (): void => {
    const nowMs = performance.now();
    const isLong = nowMs - beganMs > LONG_TURN_MS;
    if (isLong || nowMs - readMs > READ_EVERY_MS) {
      const nowUs = threadProcessorUs();
      // What was used between the reading and the beginning of the turn was no more than the time that passed.
      const usedMs = (nowUs - processorUs) / 1000 - (beganMs - readMs);
      if (isLong && usedMs > LONG_TURN_MS) note(usedMs);
      processorUs = nowUs;
      readMs = nowMs;
    }
    beganMs = nowMs;
    current = names.getStore() ?? '';
  };
  const hook = hookCallbacks(before);
  const begin = (): void => {
    beganMs = performance.now();
    readMs = beganMs;
    processorUs = threadProcessorUs();
    hook?.enable();
  };
  begin();
  const cancel = inPart && hook && watchInPart(inPart, begin, () => hook.disable());
  const stop = (): void => {
    cancel?.();
    hook?.disable();
  };
  return { samples: () => samplesOf(process, counts), stop };
}

function watchInPart(clock: Clock, begin: () => void, end: () => void): () => void {
  let cancelEnd = clock.after(WATCHED_MS, end);
  const cancel = clock.every(PERIOD_MS, () => {
    begin();
    cancelEnd = clock.after(WATCHED_MS, end);
  });
  return () => {
    cancel();
    cancelEnd();
  };
}

/** Calls `before` at the beginning of each turn, where Node can tell them from settled promises; those would cost too much. */
function hookCallbacks(before: () => void): AsyncHook | undefined {
  let tracksPromises = false;
  const options = { trackPromises: false } as const;
  const probe = createHook({
    ...options,
    init: (_id, type) => {
      tracksPromises ||= type === 'PROMISE';
    },
  } as HookCallbacks).enable();
  void Promise.resolve().then(() => {});
  probe.disable();
  return tracksPromises ? undefined : createHook({ ...options, before } as HookCallbacks);
}

function samplesOf(
  process: string,
  counts: ReadonlyMap<string, { readonly count: number; readonly longestMs: number }>,
): MetricSample[] {
  return [...counts].flatMap(([name, { count, longestMs }]): MetricSample[] => {
    const labels = { process, route: name === '' ? 'other' : name };
    return [
      {
        name: 'long_turns_total',
        type: 'counter',
        help: `Turns of the event loop that took more than ${LONG_TURN_MS} ms of processor time, so that all others waited, by what was done`,
        labels,
        value: count,
      },
      {
        name: 'longest_turn_seconds',
        type: 'gauge',
        help: 'Processor time of the longest of them',
        labels,
        value: longestMs / 1000,
      },
    ];
  });
}
