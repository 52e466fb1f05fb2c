/**
 * Room on the file system of the data. A part of it is a reserve for small edits and deletions: what grows must leave it alone, so
 * that nobody who fills the disk keeps others from editing what they have, or from making room.
 */
import { statfsSync } from 'node:fs';
import { type Clock, steadyMs } from '../base/clock.js';
import type { MetricSample } from '../base/metrics.js';

/** The reserve: this part of the file system, but at least so many octets, and no more than a quarter of a small one. */
const RESERVED_PART = 0.05;
const LEAST_RESERVED = 256 << 20;
const MOST_RESERVED_PART = 0.25;
const MOST_SPARE = 16 << 20;
const MOST_SPARE_PART = 1 / 32;
/** How long what was read is used, milliseconds. */
const KNOWN_MS = 1000;

export interface DiskSpace {
  readonly octets: number;
  /** What this user may still use. */
  readonly free: number;
}

export interface DiskRoom {
  /** Whether so many more octets leave the reserve alone. They count as used until the file system is looked at again. */
  take(octets: number): boolean;
  /** Whether nothing is left but what was kept for deletions. */
  isUsedUp(): boolean;
  samples(): MetricSample[];
}

/** For data that is not on a disk. */
export const ENDLESS_ROOM: DiskRoom = { take: () => true, isUsedUp: () => false, samples: () => [] };

/** `read`: looks at the file system; undefined when it cannot be asked. */
export function createDiskRoom(clock: Clock, read: () => DiskSpace | undefined): DiskRoom {
  let known: { readonly space: DiskSpace; readonly atMs: number } | undefined;
  let taken = 0;
  let refused = 0;

  /** Octets beside the reserve; undefined when nothing is known. */
  const look = (): number | undefined => {
    const nowMs = steadyMs(clock);
    if (!known || nowMs - known.atMs >= KNOWN_MS) {
      const space = read();
      known = space && { space, atMs: nowMs };
      taken = 0;
    }
    return known && known.space.free - reserveOf(known.space.octets) - taken;
  };

  return {
    take(octets) {
      const left = look();
      if (left === undefined || octets <= left) {
        taken += octets;
        return true;
      }
      refused++;
      return false;
    },
    isUsedUp() {
      look();
      return known !== undefined && known.space.free < usedUpBelow(known.space.octets);
    },
    samples() {
      look();
      const gauge = (name: string, help: string, value: number): MetricSample => {
        return { name, type: 'gauge', help, labels: {}, value };
      };
      const help = 'What was refused because only the reserve of the disk is left';
      return [
        ...(known ? [gauge('disk_free_bytes', 'Free octets on the file system of the data', known.space.free)] : []),
        ...(known ? [gauge('disk_reserve_bytes', 'Octets kept for edits', reserveOf(known.space.octets))] : []),
        { name: 'disk_reserve_refusals_total', type: 'counter', help, labels: {}, value: refused },
      ];
    },
  };
}

function reserveOf(octets: number): number {
  return Math.min(Math.max(octets * RESERVED_PART, LEAST_RESERVED), octets * MOST_RESERVED_PART);
}

/** Free octets below which nothing is left for edits: twice as many as are kept for deletions. */
function usedUpBelow(octets: number): number {
  return 2 * spareOctets(octets);
}

/** Octets kept for deletions alone. SQLite needs some hundred for each row that it deletes. */
export function spareOctets(octets: number): number {
  return Math.min(MOST_SPARE, Math.floor(octets * MOST_SPARE_PART));
}

/** The file system of a path. */
export function diskSpaceOf(path: string): DiskSpace | undefined {
  try {
    const { blocks, bavail, bsize } = statfsSync(path);
    return blocks === 0 ? undefined : { octets: blocks * bsize, free: bavail * bsize };
  } catch {
    return undefined;
  }
}
