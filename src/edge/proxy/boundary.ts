/**
 * The boundary around an exchange: what goes wrong inside, in calls that sockets and timers make, ends that exchange and not the
 * process. A fault is always logged with its stack, because it is a bug.
 */
import type { HeaderList, OriginEvents } from '../exchange/exchange.js';

/** The same events, with a boundary around each. */
export class BoundedEvents implements OriginEvents {
  constructor(
    private readonly events: OriginEvents,
    private readonly onFault: (error: unknown) => void,
  ) {}

  onInformation(status: number, headers: HeaderList): void {
    try {
      this.events.onInformation(status, headers);
    } catch (error) {
      this.onFault(error);
    }
  }

  onHead(status: number, headers: HeaderList, showsItsEnd: boolean): void {
    try {
      this.events.onHead(status, headers, showsItsEnd);
    } catch (error) {
      this.onFault(error);
    }
  }

  onData(chunk: Buffer): void {
    try {
      this.events.onData(chunk);
    } catch (error) {
      this.onFault(error);
    }
  }

  onEnd(trailers: HeaderList): void {
    try {
      this.events.onEnd(trailers);
    } catch (error) {
      this.onFault(error);
    }
  }

  onError(error: Error): void {
    try {
      this.events.onError(error);
    } catch (fault) {
      this.onFault(fault);
    }
  }
}
