/** Whether a handle copies what was committed from the log into the database by itself, at a commit of its own. */
import type Database from 'better-sqlite3';

/** Pages of the log after which SQLite makes a checkpoint by itself: its default, and as many as the file of the log keeps. */
const CHECKPOINT_PAGES = 1000;
const SELDOM_PAGES = 16_384;

/** `disk`: what the copy would take is kept for deletions. `thread`: a thread copies. */
type Pause = 'disk' | 'thread';

export class OwnCheckpoints {
  private readonly pauses = new Set<Pause>();
  private pages = CHECKPOINT_PAGES;

  constructor(private readonly database: Pick<Database.Database, 'pragma'>) {}

  isPaused(why: Pause): boolean {
    return this.pauses.has(why);
  }

  pause(why: Pause, isPaused: boolean): void {
    if (isPaused === this.pauses.has(why)) return;
    if (isPaused) this.pauses.add(why);
    else this.pauses.delete(why);
    this.apply();
  }

  /** See {@link Store.syncLater}. */
  async syncLater<T>(work: () => Promise<T>): Promise<T> {
    const synchronous = this.database.pragma('synchronous', { simple: true });
    this.database.pragma('synchronous = NORMAL');
    this.pages = SELDOM_PAGES;
    this.apply();
    try {
      return await work();
    } finally {
      this.database.pragma(`synchronous = ${synchronous}`);
      this.pages = CHECKPOINT_PAGES;
      this.apply();
    }
  }

  private apply(): void {
    this.database.pragma(`wal_autocheckpoint = ${this.pauses.size > 0 ? 0 : this.pages}`);
  }
}
