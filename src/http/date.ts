/** Dates of HTTP header fields (RFC 9110 §5.6.7). */

const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
const TIME = '\\d{2}:\\d{2}:\\d{2}';
const IMF_DATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d{2} (?:${MONTHS}) \\d{4} ${TIME} GMT$`);
const RFC_850_DATE = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-(?:${MONTHS})-\\d{2} ${TIME} GMT$`,
);
const ASCTIME_DATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:${MONTHS}) [ \\d]\\d ${TIME} \\d{4}$`);

/** Seconds since 1970; undefined for an invalid date, which recipients ignore. */
export function parseHttpDate(text: string): number | undefined {
  const readable = ASCTIME_DATE.test(text) ? `${text} GMT` : text;
  if (readable === text && !IMF_DATE.test(text) && !RFC_850_DATE.test(text)) return undefined;
  const ms = Date.parse(readable);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/**
 * A date as caches read it: case does not matter (RFC 9111 §4.2), and a year of two digits is the one within 50 years
 * of now (RFC 9110 §5.6.7). Seconds since 1970; undefined for what is not a date.
 */
export function parseCacheDate(text: string, nowMs: number): number | undefined {
  const readable = text.replace(/[a-z]+/gi, (word) =>
    word.toUpperCase() === 'GMT' ? 'GMT' : word[0]!.toUpperCase() + word.slice(1).toLowerCase(),
  );
  const date = parseHttpDate(readable);
  if (date === undefined || !RFC_850_DATE.test(readable)) return date;
  const shortYear = Number(/-(\d{2}) /.exec(readable)![1]);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const sameCentury = thisYear - (thisYear % 100) + shortYear;
  const year = sameCentury > thisYear + 50 ? sameCentury - 100 : sameCentury;
  return Date.parse(readable.replace(/^\w+, (\d{2})-(\w{3})-\d{2} /, `$1 $2 ${year} `)) / 1000;
}

/** Prints microseconds since 1970 as `Sun, 06 Nov 1994 08:49:37 GMT`. */
export function printHttpDate(us: number): string {
  return new Date(us / 1000).toUTCString();
}
