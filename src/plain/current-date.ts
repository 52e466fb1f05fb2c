/** The `Date` of responses (RFC 9110 §6.6.1). */
import { printHttpDate } from '../http/date.js';

let today = { second: 0, text: '' };

/** The same text for all responses of one second. `nowMs`: milliseconds since 1970. */
export function currentDate(nowMs: number): string {
  const second = Math.floor(nowMs / 1000);
  if (second !== today.second) today = { second, text: printHttpDate(second * 1_000_000) };
  return today.text;
}
