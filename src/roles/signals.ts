/** The signals that ask a process to stop: the first to finish, the second to give up. */
import { type Clock, sleep } from '../base/clock.js';

export interface Signals {
  readonly first: Promise<'signal'>;
  readonly second: Promise<'signal'>;
  stop(): void;
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** One wish often arrives twice: from the terminal to the whole group, and again from npm or timeout(1). */
const SAME_WISH_MS = 1000;

/** Watches for the signals; keeps the process alive until it is stopped. */
export function watchSignals(clock: Clock): Signals {
  const waiting: (() => void)[] = [];
  const next = (): Promise<'signal'> => new Promise((resolve) => waiting.push(() => resolve('signal')));
  const [first, second] = [next(), next()];
  let lastMs = Number.NEGATIVE_INFINITY;
  const onSignal = (): void => {
    if (clock.nowMs() - lastMs < SAME_WISH_MS) return;
    lastMs = clock.nowMs();
    waiting.shift()?.();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  let stopped = false;
  void (async () => {
    while (!stopped) await sleep(60_000);
  })();
  return {
    first,
    second,
    stop() {
      stopped = true;
      for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    },
  };
}
