/** The interface between transports and the engine: octets in, octets out. */

/** Transports as numbers; the engine's limits depend on them. */
export const Transport = { udp: 0, tcp: 1, tls: 2, https: 3 } as const;
export type TransportCode = (typeof Transport)[keyof typeof Transport];

/**
 * The client and the time. Each transport has one object and refills it for each query; the referenced octets are not
 * copied.
 */
export interface Client {
  /** The address: 4 or 16 octets of `source` from `at`; none when `length` is 0. */
  source: Uint8Array;
  at: number;
  length: number;
  port: number;
  /** The address that the query was sent to: octets of `own` from `ownAt`; none when `ownLength` is 0. */
  own: Uint8Array;
  ownAt: number;
  ownLength: number;
  /** Seconds since 1970. */
  seconds: number;
}

export function createClient(): Client {
  return { source: NO_OCTETS, at: 0, length: 0, port: 0, own: NO_OCTETS, ownAt: 0, ownLength: 0, seconds: 0 };
}

const NO_OCTETS = new Uint8Array(16);

/**
 * Reads what the answers to `count` messages will need, one every `stride` octets from `first` on, each with room for a name. It changes
 * nothing.
 */
export type LookAhead = (messages: DataView, first: number, stride: number, count: number) => void;

/** A client of whom nothing is known. */
export const NO_CLIENT: Client = createClient();

/** Refills `client`; `own`: the address that the query was sent to. Undefined addresses are unknown. */
export function setAddresses(
  client: Client,
  source: Uint8Array | undefined,
  port: number,
  own: Uint8Array | undefined,
): void {
  client.source = source ?? NO_OCTETS;
  client.at = 0;
  client.length = source?.length ?? 0;
  client.port = port;
  client.own = own ?? NO_OCTETS;
  client.ownAt = 0;
  client.ownLength = own?.length ?? 0;
}

/**
 * Instead of a length: the message is signed with a key that somebody here has, and the caller must hand it to the part
 * that checks signatures (never over HTTPS), or a signature has to be made for the answer.
 */
export const DEFERRED = -1;

/**
 * Answers a message for which {@link Answer} returned {@link DEFERRED}, from this address and port; undefined: no answer. An
 * answer that another process must give, or that waits for a signature, comes later. It may allocate, and it never throws or
 * rejects.
 */
export type AnswerDeferred = (
  request: Uint8Array,
  transport: TransportCode,
  address: string,
  port: number,
) => DeferredResult | Promise<DeferredResult>;

export type DeferredResult = Uint8Array | undefined;

/** With whom the sender of such a datagram takes turns at the part that answers it; undefined: with nobody. It never throws. */
export type GroupOfDeferred = (request: Uint8Array) => string | undefined;

/**
 * Answers one query, synchronously and without allocation.
 *
 * Reads `length` octets of `request` from `start`; writes the answer to `response` from `at`, never past `at + limit`
 * (65535 on stream transports; on UDP the available room, because the engine applies the client's EDNS size itself).
 * Returns the number of octets written; 0 means that no answer must be sent, {@link DEFERRED}
 * that another part answers. Never throws for any input. `request` and
 * `response` may be views of one buffer but must not overlap. Without a client there are no cookies.
 */
export type Answer = (
  request: Uint8Array,
  start: number,
  length: number,
  response: Uint8Array,
  at: number,
  limit: number,
  transport: TransportCode,
  client?: Client,
) => number;
