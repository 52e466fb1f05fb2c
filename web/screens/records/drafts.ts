/**
 * What was typed into the forms of a zone's records, and neither kept nor cancelled. It stays while the page is open, whichever
 * row or screen is opened meanwhile.
 */
import type { FormValues } from './form-values.js';

/** By the key of the form. */
export type Drafts = Map<string, FormValues>;

const zones = new Map<string, Drafts>();

export function draftsOf(zoneId: string): Drafts {
  const known = zones.get(zoneId);
  if (known) return known;
  const made: Drafts = new Map();
  zones.set(zoneId, made);
  return made;
}

addEventListener('beforeunload', (event) => {
  if ([...zones.values()].some(({ size }) => size > 0)) event.preventDefault();
});
