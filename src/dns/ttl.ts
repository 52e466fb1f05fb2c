/** Times to live: bounds (RFC 2181 §8) and the unit notation of master files (`1h30m`). */

const MAX_TTL = 0x7fffffff;

/** The TTL answered for "automatic" (v4 `ttl: 1`), in seconds. */
export const AUTOMATIC_TTL = 300;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/**
 * Seconds of `3600` or `1w2d3h4m5s` (any case, any subset), or undefined when it is not a TTL or above `max`.
 * RFC 2181 §8 ends at 2^31-1; SOA timers are unsigned 32 bits.
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
