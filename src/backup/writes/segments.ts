/** The files of writes in a directory of backups: those of one history have its name, and the number of their first write. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Segment {
  readonly series: string;
  /** Its first write has this number, or it has none yet. */
  readonly first: number;
  readonly path: string;
}

const NAME = /^zoneplane-writes-([0-9a-f]{8})-(\d{12})$/;

export function segmentPath(directory: string, series: string, first: number): string {
  return join(directory, `zoneplane-writes-${series}-${String(first).padStart(12, '0')}`);
}

/** Those of one history, in order. Throws errors of the system. */
export function segmentsOf(directory: string, series: string): readonly Segment[] {
  return allSegments(directory).filter((segment) => segment.series === series);
}

export function allSegments(directory: string): readonly Segment[] {
  return readdirSync(directory)
    .flatMap((name): Segment[] => {
      const [, series, first] = NAME.exec(name) ?? [];
      return series === undefined ? [] : [{ series, first: Number(first), path: join(directory, name) }];
    })
    .toSorted((a, b) => a.first - b.first);
}
