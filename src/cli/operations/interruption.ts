/** Ctrl-C while a command works: it gives up what it has begun, and says what is done and what is not. */
import { UserError } from '../../base/errors.js';
import type { Terminal } from '../terminal.js';

/** As a shell reports a process that SIGINT ended. */
const EXIT_CODE = 130;

export interface Interruption {
  /** Aborted by the first Ctrl-C; the second one ends the process at once. */
  readonly signal: AbortSignal;
  /** Stops watching. */
  stop(): void;
}

export function watchInterruption(terminal: Terminal): Interruption {
  const controller = new AbortController();
  const onSignal = (): void => {
    terminal.exitCode = EXIT_CODE;
    controller.abort(new UserError('interrupted, nothing has changed', undefined, EXIT_CODE));
  };
  process.once('SIGINT', onSignal);
  return { signal: controller.signal, stop: () => void process.off('SIGINT', onSignal) };
}
