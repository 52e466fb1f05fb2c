/** What a transport and the engine agree on: bytes in, bytes out. */

/** Transports as numbers; the engine's limits depend on it. */
export const Transport = { udp: 0, tcp: 1, tls: 2, https: 3 } as const;
export type TransportCode = (typeof Transport)[keyof typeof Transport];

/**
 * Answers one query, synchronously and without allocation.
 *
 * Reads `length` octets of `request` from `start`; writes the answer to `response` from `at`, never past `at + limit`
 * (give 65535 on stream transports; on UDP the room there is, the engine applies the client's EDNS size itself).
 * Returns the octets written, 0 meaning: stay silent. Never throws for any input. `request` and `response` may be views
 * of one buffer but must not overlap.
 */
export type Answer = (
  request: Uint8Array,
  start: number,
  length: number,
  response: Uint8Array,
  at: number,
  limit: number,
  transport: TransportCode,
) => number;
