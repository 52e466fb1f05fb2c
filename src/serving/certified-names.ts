/** The names for which clients may be told to use HTTPS: those of the zone's certificates that are valid now. */
import { issuedFor } from '../store/certs/issued.js';
import { type RequestRow, zonesOwnRequests } from '../store/certs/requests.js';
import type { Store } from '../store/driver.js';

export interface CertifiedNames {
  /** Lower case, wildcards as `*.x`; each once, sorted. */
  readonly names: readonly string[];
  /** When a certificate begins or ends to be valid next, milliseconds since 1970; undefined: never. */
  readonly changesAtMs: number | undefined;
}

/** The requests whose certificates the edge serves for names of the zone: universal and ordered ones that are not dropped. */
export function lastingRequests(store: Store, zone: number): readonly RequestRow[] {
  return zonesOwnRequests(store, zone).filter(({ dropped_at }) => dropped_at === null);
}

/** Of the zone's universal certificate and those that were ordered for it. `zone`: store number. */
export function certifiedNames(store: Store, zone: number, nowMs: number): CertifiedNames {
  const names = new Set<string>();
  const times: number[] = [];
  for (const { seq } of lastingRequests(store, zone)) {
    for (const { names: text, not_before: from, not_after: until } of issuedFor(store, seq)) {
      times.push(from, until);
      if (from <= nowMs && nowMs < until) for (const name of JSON.parse(text) as string[]) names.add(name);
    }
  }
  const later = times.filter((ms) => ms > nowMs);
  return { names: [...names].sort(), changesAtMs: later.length === 0 ? undefined : Math.min(...later) };
}
