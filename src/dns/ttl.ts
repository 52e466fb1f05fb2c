/** Times to live: bounds (RFC 2181 §8) and the unit notation of master files (`1h30m`). */

export const MAX_TTL = 0x7fffffff;

/** The TTL in answers for "automatic" (v4 `ttl: 1`), in seconds. */
export const AUTOMATIC_TTL = 300;

/** How the store keeps a TTL of one second, since 1 stands for "automatic" there as in the API. */
export const ONE_SECOND = -1;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** The TTL that a stored one is answered with, in seconds. */
export function servedTtl(stored: number): number {
  if (stored === 1) return AUTOMATIC_TTL;
  return stored === ONE_SECOND ? 1 : stored;
}

/** Whether the text is a TTL of 32 bits that is too large to be used: it counts as 0 (RFC 2181 §8). */
export function isExcessiveTtl(text: string): boolean {
  return parseTtl(text) === undefined && parseTtl(text, 0xffffffff) !== undefined;
}

/**
 * Seconds of `3600` or `1w2d3h4m5s` (any case, any subset); undefined for other text and for values above `max`. The
 * default is the limit of RFC 2181 §8, 2^31-1; SOA timers are unsigned 32 bits.
 */
export function parseTtl(text: string, max: number = MAX_TTL): number | undefined {
  let total = 0;
  let number = -1;
  let sawUnit = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 48 && c <= 57) {
      number = (number < 0 ? 0 : number * 10) + c - 48;
      if (number > 0xffffffff) return undefined;
      continue;
    }
    const unit = UNITS[text[i]!.toLowerCase()];
    if (unit === undefined || number < 0) return undefined;
    total += number * unit;
    number = -1;
    sawUnit = true;
  }
  if (number >= 0) {
    if (sawUnit) return undefined;
    total += number;
  } else if (!sawUnit) {
    return undefined;
  }
  return total > max ? undefined : total;
}
