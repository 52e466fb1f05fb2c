/** TTLs as clients send them (v4: §5.3). Pure. */

/** What stands for "automatic" in the API. */
export const AUTOMATIC = 1;

export type TtlResult = { readonly ttl: number } | { readonly fault: 'badTtl' | 'ttlRange' };

/** Numbers, also as decimal text; absent, null and 0 are automatic. */
export function readTtl(input: unknown, minimum: number, maximum: number): TtlResult {
  if (input === undefined || input === null) return { ttl: AUTOMATIC };
  const ttl = typeof input === 'string' && /^\d{1,10}(?:\.0*)?$/.test(input) ? Number(input) : input;
  if (typeof ttl !== 'number' || !Number.isFinite(ttl)) return { fault: 'badTtl' };
  if (ttl === 0 || ttl === AUTOMATIC) return { ttl: AUTOMATIC };
  return Number.isInteger(ttl) && ttl >= minimum && ttl <= maximum ? { ttl } : { fault: 'ttlRange' };
}
