/**
 * The write-ahead log on a full disk. What was committed lies in it until a checkpoint copies it into the database; then the next write
 * begins the log anew, in room that it has already. But a checkpoint makes the file of the database longer where pages are new, and on a
 * full disk that takes the room that was kept for deletions: then there is none, until the disk has room for both.
 */
import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { OwnCheckpoints } from './checkpoint/own-checkpoints.js';
import { diskSpaceOf } from './disk-room.js';
import type { WriteRoom } from './patience.js';

/** The part of the free octets that a checkpoint may take. */
const MOST_PART = 0.5;

/**
 * Lets a database use its log again before a write is refused. `giveUp`: gives up what else was kept for deletions; false when there was
 * nothing.
 */
export const reuseLog =
  (giveUp: () => boolean) =>
  (database: Database.Database, path: string, own: OwnCheckpoints): WriteRoom => {
    /** True: all was copied, and the next write begins the log anew. */
    const copy = (): boolean => {
      try {
        const pages = database.pragma('page_count', { simple: true }) as number;
        const growth = pages * (database.pragma('page_size', { simple: true }) as number) - statSync(path).size;
        const free = diskSpaceOf(path)?.free ?? 0;
        own.pause('disk', growth > free * MOST_PART);
        if (own.isPaused('disk')) return false;
        // Waits for no reader.
        const [state] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[];
        return state !== undefined && state.log > 0 && state.log === state.checkpointed;
      } catch {
        // Perhaps others have taken the room meanwhile. What was committed stays in the log, as when a checkpoint of SQLite's own fails.
        return false;
      }
    };

    return {
      make: () => {
        const hasRoom = giveUp();
        return copy() || hasRoom;
      },
      committed: () => {
        if (own.isPaused('disk')) copy();
      },
    };
  };
