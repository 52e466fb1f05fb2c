/** Reports of a process to the supervisor: when something in them has changed, and at times to say that the process lives. */
import { type Clock, steadyMs } from '../../base/clock.js';
import { STATUS_HEARTBEAT_MS, STATUS_PERIOD_MS } from '../limits.js';

/** Tells at once what `read` returns, and looks again periodically. The returned function ends that. */
export function startStatusReports<Status>(
  clock: Clock,
  read: () => Status,
  tell: (status: Status) => void,
): () => void {
  let told = '';
  let toldMs = 0;
  const look = (): void => {
    const status = read();
    const text = JSON.stringify(status);
    if (text === told && steadyMs(clock) - toldMs < STATUS_HEARTBEAT_MS) return;
    told = text;
    toldMs = steadyMs(clock);
    tell(status);
  };
  look();
  return clock.every(STATUS_PERIOD_MS, look);
}
