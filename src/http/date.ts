/** Dates of HTTP header fields (RFC 9110 §5.6.7). */

const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
const TIME = '\\d{2}:\\d{2}:\\d{2}';
const IMF_DATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d{2} (?:${MONTHS}) \\d{4} ${TIME} GMT$`);
const RFC_850_DATE = new RegExp(
  `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-(?:${MONTHS})-\\d{2} ${TIME} GMT$`,
);
const ASCTIME_DATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:${MONTHS}) [ \\d]\\d ${TIME} \\d{4}$`);

/** Seconds since 1970; undefined for what is no date, which recipients ignore. */
export function parseHttpDate(text: string): number | undefined {
  const readable = ASCTIME_DATE.test(text) ? `${text} GMT` : text;
  if (readable === text && !IMF_DATE.test(text) && !RFC_850_DATE.test(text)) return undefined;
  const ms = Date.parse(readable);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** `Sun, 06 Nov 1994 08:49:37 GMT` of microseconds since 1970. */
export function printHttpDate(us: number): string {
  return new Date(us / 1000).toUTCString();
}
