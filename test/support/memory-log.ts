/** A log of entries in memory. */
import type { EntryLog, Stretch } from '../../src/store/log-writer.js';
import type { Entry } from '../../src/store/recording.js';
import type { Position } from '../../src/store/replay.js';

/** A body without statements. */
export const NOTHING_WRITTEN = Uint8Array.of(1);

export class MemoryLog implements EntryLog {
  readonly entries: Entry[] = [];

  async append(entry: Entry): Promise<boolean> {
    // Others may come first, as they may with a server.
    await null;
    if (entry.number !== this.entries.length + 1 || entry.after !== (this.entries.at(-1)?.id ?? '')) return false;
    this.entries.push(entry);
    return true;
  }

  async read({ number: behind }: Position, limit: number): Promise<Stretch> {
    await null;
    return { entries: this.entries.slice(behind, behind + limit), isEnd: behind + limit >= this.entries.length };
  }
}
