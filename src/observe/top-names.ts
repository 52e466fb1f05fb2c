/**
 * The names asked for most, and those whose answers take longest, over the last ten to twenty minutes. Two windows of
 * bounded size; a full one forgets the names asked for least, so that floods of invented names do not displace others.
 */
import type { OwnedQuery } from './report.js';

export interface TopName {
  /** Store number of the zone. */
  readonly owner: number;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  /** Estimated from samples. */
  readonly queries: number;
  /** Answers with NXDOMAIN among them. */
  readonly missing: number;
  readonly averageMicros: number;
  readonly maxMicros: number;
}

const WINDOW_MS = 600_000;
const MOST_NAMES = 2000;
const LONGEST_NAME = 255 * 4;

interface Entry {
  readonly owner: number;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  queries: number;
  missing: number;
  samples: number;
  micros: number;
  maxMicros: number;
}

export interface TopNames {
  add(query: OwnedQuery): void;
  /** The names of the zones (store numbers) that `isShown`, with their sums. */
  names(isShown: (owner: number) => boolean): TopName[];
}

export function createTopNames(): TopNames {
  let current = new Map<string, Entry>();
  let previous = new Map<string, Entry>();
  let beganMs = 0;
  return {
    add(query) {
      if (query.name.length > LONGEST_NAME) return;
      if (query.atMs - beganMs > WINDOW_MS) {
        previous = query.atMs - beganMs > 2 * WINDOW_MS ? new Map() : current;
        current = new Map();
        beganMs = query.atMs;
      }
      const key = `${query.owner} ${query.name} ${query.type}`;
      const known = current.get(key);
      if (!known && current.size >= MOST_NAMES) forgetRarest(current);
      addQuery(known ?? newEntry(current, key, query), query);
    },
    names: (isShown) => merged([previous, current], isShown),
  };
}

function newEntry(entries: Map<string, Entry>, key: string, { owner, zone, name, type }: OwnedQuery): Entry {
  const entry = { owner, zone, name, type, queries: 0, missing: 0, samples: 0, micros: 0, maxMicros: 0 };
  entries.set(key, entry);
  return entry;
}

function addQuery(entry: Entry, { weight, rcode, tookUs }: OwnedQuery): void {
  entry.queries += weight;
  if (rcode === 'NXDOMAIN') entry.missing += weight;
  entry.samples += 1;
  entry.micros += tookUs;
  entry.maxMicros = Math.max(entry.maxMicros, tookUs);
}

function forgetRarest(entries: Map<string, Entry>): void {
  const order = [...entries].sort(([, a], [, b]) => a.queries - b.queries);
  for (const [key] of order.slice(0, MOST_NAMES / 4)) entries.delete(key);
}

function merged(windows: readonly ReadonlyMap<string, Entry>[], isShown: (owner: number) => boolean): TopName[] {
  const sums = new Map<string, Entry>();
  for (const [key, entry] of windows.flatMap((window) => [...window])) {
    if (!isShown(entry.owner)) continue;
    const sum = sums.get(key);
    if (!sum) {
      sums.set(key, { ...entry });
      continue;
    }
    sum.queries += entry.queries;
    sum.missing += entry.missing;
    sum.samples += entry.samples;
    sum.micros += entry.micros;
    sum.maxMicros = Math.max(sum.maxMicros, entry.maxMicros);
  }
  return [...sums.values()].map(({ samples, micros, ...entry }) => {
    return { ...entry, averageMicros: Math.round(micros / samples) };
  });
}
