/** Reports of a process to the supervisor: when something in them has changed, and at times to say that the process lives. */
import { type Clock, steadyMs } from '../../base/clock.js';
import { STATUS_HEARTBEAT_MS, STATUS_PERIOD_MS } from '../process/limits.js';

/**
 * Tells at once what `read` returns, and looks again periodically. The returned function ends that. `mark` changes with nearly
 * all that is read, and costs less: while it stays the same, what else has changed waits for the next heartbeat.
 */
export function startStatusReports<Status>(
  clock: Clock,
  read: () => Status,
  tell: (status: Status) => void,
  mark?: () => string,
): () => void {
  let known: string | undefined;
  let told = '';
  let toldMs = 0;
  const look = (): void => {
    const nowMs = steadyMs(clock);
    const isDue = nowMs - toldMs >= STATUS_HEARTBEAT_MS;
    const seen = mark?.();
    if (seen !== undefined && seen === known && !isDue) return;
    known = seen;
    const status = read();
    const text = JSON.stringify(status);
    if (text === told && !isDue) return;
    told = text;
    toldMs = nowMs;
    tell(status);
  };
  look();
  return clock.inStep(STATUS_PERIOD_MS, look);
}
