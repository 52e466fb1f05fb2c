/** Names that a DNAME makes (RFC 6672). */
// hot
import type { Response } from './response.js';
import type { Search } from './search.js';

/**
 * Whether the name that a DNAME makes is in the zone. Its target is in the zone or above it; with one above it, the labels that are
 * kept have to end with those that the apex has more.
 */
export function leadsIntoZone(search: Search, kept: number, targetLength: number): boolean {
  const { name, labelAt, labels, apexLabels, nameLength } = search;
  const apexAt = labelAt[labels - apexLabels]!;
  const missing = nameLength - apexAt - targetLength;
  if (missing <= 0) return true;
  const from = labelAt[kept]! - missing;
  for (let i = 0; i < missing; i++) if (from < 0 || name[from + i] !== name[apexAt + i]) return false;
  let label = 0;
  while (labelAt[label]! < from) label++;
  return labelAt[label] === from;
}

/** Copies the labels left of the DNAME's owner, in the question's case when they come from the question. */
export function copyPrefix(search: Search, response: Response, to: number, length: number): void {
  const bytes = response.bytes;
  const from = search.at === 12 ? bytes : search.name;
  const start = search.at === 12 ? response.base + 12 : 0;
  for (let i = 0; i < length; i++) bytes[to + i] = from[start + i]!;
}
