/**
 * Writes that are made one after another at the end of a turn of the loop, when it has read from all sockets: a write to another process
 * of this machine that sleeps wakes it up, which takes longer than everything else that the write does. Of many in a row, only the first
 * one finds it asleep.
 */

/** Something to be written. */
export interface LateWrite {
  /** Does nothing if that is not possible any more. */
  writeLate(): void;
  /** A bug ends what is written here, and nothing else. */
  onFault(error: unknown): void;
}

/** So many are written before the end of the turn: the first of them has waited long enough. */
export const MOST_LATE = 32;

class LateWrites {
  private pending: LateWrite[] = [];
  private isPlanned = false;
  private isWriting = false;

  add(write: LateWrite): void {
    this.pending.push(write);
    // What is written may lead to further writes, which wait for the next turn.
    if (this.pending.length >= MOST_LATE && !this.isWriting) this.writeAll();
    else if (!this.isPlanned) {
      this.isPlanned = true;
      setImmediate(this.endTurn);
    }
  }

  private readonly endTurn = (): void => {
    this.isPlanned = false;
    this.writeAll();
  };

  private writeAll(): void {
    const writes = this.pending;
    this.pending = [];
    this.isWriting = true;
    let begun = 0;
    try {
      while (begun < writes.length) writeOne(writes[begun++]!);
    } finally {
      this.isWriting = false;
      // A bug in what is told of a bug: the others are written all the same.
      if (begun < writes.length) for (const write of writes.slice(begun)) this.add(write);
    }
  }
}

function writeOne(write: LateWrite): void {
  try {
    write.writeLate();
  } catch (error) {
    write.onFault(error);
  }
}

const late = new LateWrites();

/** Must be called only once for each write. */
export function writeAtEndOfTurn(write: LateWrite): void {
  late.add(write);
}
