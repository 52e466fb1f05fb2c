/** Times as clients write them: RFC 3339, to the microsecond. */

const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/** Microseconds since 1970; undefined for a text that is not an RFC 3339 time. */
export function parseInstant(text: string): number | undefined {
  const [, date, time, fraction = '', offset] = INSTANT.exec(text) ?? [];
  const ms = Date.parse(`${date}T${time}${offset?.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** Prints a time to the second, for people. */
export function printInstant(us: number): string {
  return `${new Date(us / 1000).toISOString().slice(0, 19)}Z`;
}

const SECOND_US = 1_000_000;
/** So that no printed time needs a fifth digit of the year, and every one is a whole number without loss. */
const LATEST_US = Date.UTC(2200, 0, 1) * 1000;

/** The second at which something ends; undefined for what is not an RFC 3339 time, or too late for one here. */
export function parseEnd(text: string): number | undefined {
  const us = parseInstant(text);
  return us === undefined || us >= LATEST_US ? undefined : us - (us % SECOND_US);
}
