/** The signals that stop a process: the first one to finish, the second one to give up; and those for what it is to do. */
import { isatty } from 'node:tty';
import { type Clock, sleep, steadyMs } from '../base/clock.js';

export interface Signals {
  readonly first: Promise<'signal'>;
  readonly second: Promise<'signal'>;
  stop(): void;
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** One request often arrives twice: from the terminal to the whole group, and again from npm or timeout(1). */
const SAME_SIGNAL_MS = 1000;

/** Standard input, output and errors: those that are a terminal. nohup(1) leaves none. */
const terminals = (): number[] => [0, 1, 2].filter((descriptor) => isatty(descriptor));

export interface SignalHandlers {
  readonly onReload: () => void;
  /** SIGUSR2; only of the whole server. */
  readonly onSucceed?: () => void;
}

/**
 * Watches for the signals. SIGHUP calls `onReload`, unless it says that the terminal in which the process was started has closed:
 * then it stops it. The watch keeps the process alive until the watch stops.
 */
export function watchSignals(clock: Clock, { onReload, onSucceed }: SignalHandlers): Signals {
  const waiting: (() => void)[] = [];
  const next = (): Promise<'signal'> => new Promise((resolve) => waiting.push(() => resolve('signal')));
  const [first, second] = [next(), next()];
  let lastMs = Number.NEGATIVE_INFINITY;
  const onSignal = (): void => {
    if (steadyMs(clock) - lastMs < SAME_SIGNAL_MS) return;
    lastMs = steadyMs(clock);
    waiting.shift()?.();
  };
  const ownTerminals = terminals();
  const onHangUp = (): void => {
    if (terminals().length < ownTerminals.length) onSignal();
    else onReload();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  process.on('SIGHUP', onHangUp);
  if (onSucceed) process.on('SIGUSR2', onSucceed);
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
      process.off('SIGHUP', onHangUp);
      if (onSucceed) process.off('SIGUSR2', onSucceed);
    },
  };
}
