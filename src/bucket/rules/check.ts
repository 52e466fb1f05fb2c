/** What the rules of all kinds have in common. */
import { bucketFailure } from '../errors.js';
import { LONGEST_KEY } from '../object-store.js';

const LONGEST_ID = 255;
/** Seconds: a hundred years. */
const LONGEST_AGE = 3_155_760_000;

export function badRule(reason: string): Error {
  return bucketFailure('badRule', { reason });
}

/** How a rule is called in a refusal. */
export function ruleName(id: string | undefined, index: number): string {
  return id === undefined || id === '' ? `rule ${index + 1}` : `rule ${JSON.stringify(id.slice(0, 64))}`;
}

export function requireCount(rules: readonly unknown[], most: number): void {
  if (rules.length > most) throw badRule(`there are more than ${most}`);
}

export function requireUniqueIds(rules: readonly { readonly id?: string | undefined }[]): void {
  const seen = new Set<string>();
  for (const { id } of rules) {
    if (id === undefined) continue;
    if (id.length > LONGEST_ID) throw badRule(`an ID is longer than ${LONGEST_ID} characters`);
    if (seen.has(id)) throw badRule(`the ID ${JSON.stringify(id.slice(0, 64))} occurs twice`);
    seen.add(id);
  }
}

export function requirePrefix(prefix: string, of: string): void {
  if (Buffer.byteLength(prefix) > LONGEST_KEY)
    throw badRule(`the prefix of ${of} is longer than ${LONGEST_KEY} octets`);
}

export function requireAge(seconds: number, of: string): void {
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_AGE) {
    throw badRule(`the age of ${of} must be a whole number of seconds from 1 to ${LONGEST_AGE}`);
  }
}

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/;

/** Microseconds since 1970 of a date, or of a time as RFC 3339 has it. */
export function timeOf(date: string): number {
  // Without an offset it would be local time.
  const hasOffset = !date.includes('T') || /(?:Z|[+-]\d\d:\d\d)$/.test(date);
  return Date.parse(hasOffset ? date : `${date}Z`) * 1000;
}

export function requireDate(date: string, of: string): void {
  if (!TIME.test(date) || Number.isNaN(timeOf(date))) {
    throw badRule(`the date of ${of} must be a time such as 2030-01-01T00:00:00Z`);
  }
}
