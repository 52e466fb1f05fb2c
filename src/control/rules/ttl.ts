/** TTLs from clients (v4: §5.3). Pure. */

import { ONE_SECOND } from '../../dns/ttl.js';

/** The value for "automatic" in the API. */
export const AUTOMATIC = 1;

/** A stored TTL as clients read it: one second and automatic look alike there. */
export function shownTtl(stored: number): number {
  return stored === ONE_SECOND ? 1 : stored;
}

/** A TTL that is sent as text. */
export const DECIMAL = /^\d{1,10}(?:\.0*)?$/;

export type TtlInput = number | string | null | undefined;

/** Numbers, also as {@link DECIMAL} text; absent, null and 0 are automatic. Undefined for one out of range. */
export function readTtl(input: TtlInput, minimum: number, maximum: number): number | undefined {
  const ttl = Number(input ?? AUTOMATIC);
  if (ttl === 0 || ttl === AUTOMATIC) return AUTOMATIC;
  return Number.isInteger(ttl) && ttl >= minimum && ttl <= maximum ? ttl : undefined;
}
