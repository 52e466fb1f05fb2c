/** Reads the counters of answering threads: sums for the whole process and what each zone gained. */
import { INDEX_SHIFT, IndexWord, type ObservationBlock, ROW, ROWS, Row } from '../answer/observation.js';

/** One number for each counter, in the order of COUNT_NAMES. */
export type Counts = number[];

/** Counters that threads keep, in the order of their places, then those that follow from them. */
export const COUNT_NAMES = [
  'queries',
  'octets',
  'nxdomain',
  'servfail',
  'refused',
  'other',
  'unanswered',
  'truncated',
  'flattened',
  'proxied',
  'https',
  'signed',
  'foreign',
  'balanced',
  'fallback',
  'unbalanced',
  'noerror',
  'plain',
] as const;

export const COUNTS = COUNT_NAMES.length;
const KEPT = COUNTS - 2;

/** Adds NOERROR and plain answers: what is left of all. */
function withRest(kept: readonly number[]): Counts {
  const [queries, , nxdomain, servfail, refused, other, unanswered] = kept as Counts;
  const [flattened, proxied, https, , foreign] = kept.slice(8) as Counts;
  const answers = queries! - unanswered!;
  const noerror = answers - nxdomain! - servfail! - refused! - other!;
  const plain = answers - foreign! - flattened! - proxied! - https!;
  return [...kept, Math.max(0, noerror), Math.max(0, plain)];
}

export interface ZoneCounts {
  /** The apex as latin1 text of its wire form. */
  readonly apex: string;
  readonly counts: Counts;
}

export interface CountsReader {
  /** What was counted since the last call: in all, and for each zone with a row of its own. */
  gain(): { readonly total: Counts; readonly zones: ZoneCounts[] };
}

interface Seen {
  readonly zone: number;
  readonly counts: Counts;
}

export function createCountsReader(blocks: readonly ObservationBlock[]): CountsReader {
  const seen = blocks.map(() => new Array<Seen | undefined>(ROWS + 1));
  let lastTotal = noCounts();
  return {
    gain() {
      const total = noCounts();
      const zones = new Map<string, Counts>();
      for (const [index, block] of blocks.entries()) {
        for (let line = 0; line <= ROWS; line++) {
          const now = readRow(block, line);
          if (!now) continue;
          addCounts(total, now.counts);
          const before = seen[index]![line];
          seen[index]![line] = now;
          if (line > 0) addGain(zones, block, line, now, before?.zone === now.zone ? before.counts : undefined);
        }
      }
      const gained = total.map((count, place) => Math.max(0, count - lastTotal[place]!));
      lastTotal = total;
      return { total: gained, zones: [...zones].map(([apex, counts]) => ({ apex, counts })) };
    },
  };
}

function addGain(
  zones: Map<string, Counts>,
  block: ObservationBlock,
  line: number,
  { counts }: Seen,
  before: Counts | undefined,
): void {
  if (before && before[0] === counts[0]) return;
  const apex = apexOf(block, line);
  const gained = counts.map((count, place) => Math.max(0, count - (before?.[place] ?? 0)));
  const known = zones.get(apex);
  if (known) addCounts(known, gained);
  else zones.set(apex, gained);
}

/** A row as it stands; undefined while it is free, or passes from one zone to another. */
function readRow({ index, rows }: ObservationBlock, line: number): Seen | undefined {
  const at = (line << INDEX_SHIFT) + IndexWord.zone;
  const zone = index[at]!;
  if (line > 0 && zone === 0) return undefined;
  const row = line * ROW + Row.queries;
  const kept = Array.from(rows.subarray(row, row + KEPT));
  return index[at] === zone ? { zone, counts: withRest(kept) } : undefined;
}

/** The apex of a row, as latin1 text of its wire form. */
export function apexOf({ rowOctets }: ObservationBlock, line: number): string {
  const at = (line * ROW + Row.apex) * 8;
  return Buffer.from(rowOctets.subarray(at + 1, at + 1 + rowOctets[at]!)).toString('latin1');
}

export function noCounts(): Counts {
  return new Array<number>(COUNTS).fill(0);
}

export function addCounts(to: Counts, more: readonly number[]): void {
  for (let place = 0; place < COUNTS; place++) to[place]! += more[place] ?? 0;
}
