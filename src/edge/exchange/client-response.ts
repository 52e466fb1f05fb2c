/** The client's end of one exchange: what sends a response over HTTP/1.1 or HTTP/2, as `reply.ts` uses it. */
import type { HeaderList } from './exchange.js';
import type { Taker } from './stalls.js';

export interface ClientEvents {
  /** The client can take more. */
  drained(): void;
  /** The exchange is over; the last call. `isSent`: the whole response was passed to the connection. */
  closed(isSent: boolean): void;
}

export interface ClientResponse {
  /** Whether a body with a length ends with its last octet, so that no trailers follow (RFC 9112 §7.1.2). */
  readonly endsAtLength: boolean;
  /** Whether the client has disconnected before the end. */
  readonly isGone: boolean;
  /** What takes it. */
  readonly taker: Taker;
  /** Call once, before anything is sent. */
  watch(events: ClientEvents): void;
  /** Responses of the 1xx class. */
  inform(status: number, headers: HeaderList): void;
  /** `more`: further fields. */
  head(status: number, headers: HeaderList, more: HeaderList): void;
  /** False if the client should get no more until it is `drained`. */
  write(chunk: Buffer): boolean;
  end(chunk: Buffer | undefined, trailers: HeaderList): void;
  /** A complete response that the edge itself made. After a bad request it is the last one of the connection. */
  whole(status: number, headers: HeaderList, body: Buffer): void;
  /** Ends a response that cannot be completed, so that the client notices. */
  cut(): void;
}

/** Where an ambiguous request ends is uncertain (RFC 9112 §6.3). */
export function endsConnection(status: number): boolean {
  return status === 400;
}
