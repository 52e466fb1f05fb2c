/**
 * The boundary around an exchange: what goes wrong inside, in calls that sockets and timers make, ends that exchange and not the
 * process. A fault is always logged with its stack, because it is a bug.
 */
import type { OriginEvents } from '../exchange/exchange.js';

/** Runs `work`; what it throws goes to `onFault`. */
export function bounded(onFault: (error: unknown) => void, work: () => void): void {
  try {
    work();
  } catch (error) {
    onFault(error);
  }
}

/** The same events, with a boundary around each. */
export function boundedEvents(events: OriginEvents, onFault: (error: unknown) => void): OriginEvents {
  return {
    onInformation: (status, headers) => bounded(onFault, () => events.onInformation(status, headers)),
    onHead: (status, headers, showsItsEnd) => bounded(onFault, () => events.onHead(status, headers, showsItsEnd)),
    onData: (chunk) => bounded(onFault, () => events.onData(chunk)),
    onEnd: (trailers) => bounded(onFault, () => events.onEnd(trailers)),
    onError: (error) => bounded(onFault, () => events.onError(error)),
  };
}
