/** A log of entries in memory. */
import type { EntryLog } from '../../src/store/log-writer.js';
import type { Entry } from '../../src/store/recording.js';

export class MemoryLog implements EntryLog {
  readonly entries: Entry[] = [];

  async append(entry: Entry): Promise<boolean> {
    // Others may come first, as they may with a server.
    await null;
    if (entry.number !== this.entries.length + 1 || entry.after !== (this.entries.at(-1)?.id ?? '')) return false;
    this.entries.push(entry);
    return true;
  }

  async read(behind: number, limit: number): Promise<readonly Entry[]> {
    await null;
    return this.entries.slice(behind, behind + limit);
  }
}
