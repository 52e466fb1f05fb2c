/**
 * The write-ahead log on a full disk. What was committed lies in it until a checkpoint copies it into the database; then the next write
 * begins the log anew, in room that it has already. But a checkpoint makes the file of the database longer where pages are new, and on a
 * full disk that takes the room that was kept for deletions: then there is none, until the disk has room for both.
 */
import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { diskSpaceOf } from './disk-room.js';
import type { WriteRoom } from './patience.js';

/** Pages of the log after which SQLite makes a checkpoint by itself: its default. */
const CHECKPOINT_PAGES = 1000;
/** The part of the free octets that a checkpoint may take. */
const MOST_PART = 0.5;

/**
 * Lets a database use its log again before a write is refused. `giveUp`: gives up what else was kept for deletions; false when there was
 * nothing.
 */
export const reuseLog =
  (giveUp: () => boolean) =>
  (database: Database.Database, path: string): WriteRoom => {
    let isKept = false;

    const keep = (kept: boolean): void => {
      if (kept === isKept) return;
      isKept = kept;
      database.pragma(`wal_autocheckpoint = ${kept ? 0 : CHECKPOINT_PAGES}`);
    };
    /** True: all was copied, and the next write begins the log anew. */
    const copy = (): boolean => {
      try {
        const pages = database.pragma('page_count', { simple: true }) as number;
        const growth = pages * (database.pragma('page_size', { simple: true }) as number) - statSync(path).size;
        const free = diskSpaceOf(path)?.free ?? 0;
        keep(growth > free * MOST_PART);
        if (isKept) return false;
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
        if (isKept) copy();
      },
    };
  };
