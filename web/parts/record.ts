/** What several screens say about a record. */
import type { DnsRecord } from '../types.js';

/** Where the API says which types of records there are. */
export const RECORD_TYPES = '/record_types';

/** The value of a record as one text: with the priority, which v4 keeps apart. */
export function contentText({ content, priority }: Pick<DnsRecord, 'content' | 'priority'>): string {
  return priority === undefined ? content : `${priority} ${content}`;
}

/** The usual times to live, in seconds and in words. One second stands for the time that the server chooses. */
export const TTLS: readonly (readonly [number, string])[] = [
  [1, 'Automatic'],
  [60, '1 minute'],
  [300, '5 minutes'],
  [900, '15 minutes'],
  [3600, '1 hour'],
  [14_400, '4 hours'],
  [86_400, '1 day'],
];

/** A time to live in words. */
export function printTtl(seconds: number): string {
  return TTLS.find(([value]) => value === seconds)?.[1] ?? `${seconds} s`;
}
