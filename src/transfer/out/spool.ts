/**
 * One version of a zone, or of a difference, as frames that are ready to be sent. All transfers of it share one; each
 * reads at the speed of its client.
 */
import { closeSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { endOfFrames } from '../../dns/frames.js';
import type { SpoolMessage } from './spool-order.js';

const readFile = promisify(read);
/** Octets that are read at once; a frame is shorter. */
const BLOCK = 256 * 1024;

/** The zone could not be read. */
class SpoolFailed extends Error {}

export class Spool {
  private memory: Uint8Array | undefined;
  private fd = -1;
  private written = 0;
  private done = false;
  private gone = false;
  private isWhole = false;
  private failure: string | undefined;
  private readers = 0;
  private closing = false;
  private readonly waiting = new Set<() => void>();

  /** `whole`: the spool of the whole zone, for when that is sent instead of differences. */
  constructor(private readonly whole?: () => Spool) {}

  /** Takes what the reading thread tells. */
  hear(message: SpoolMessage): void {
    switch (message.kind) {
      case 'memory':
        this.memory = message.octets;
        this.done = true;
        break;
      case 'file':
        this.fd = message.fd;
        this.written = message.written;
        this.done = message.done;
        break;
      case 'whole':
        this.isWhole = true;
        this.done = true;
        break;
      case 'gone':
        this.gone = true;
        this.done = true;
        break;
      case 'failure':
        this.failure = message.text;
        this.done = true;
    }
    for (const wake of [...this.waiting]) wake();
    if (this.closing) this.close();
  }

  get isDone(): boolean {
    return this.done;
  }

  /** Whether no transfer reads it. */
  get isIdle(): boolean {
    return this.readers === 0;
  }

  /** Whether it has nothing of its own. */
  get isEmpty(): boolean {
    return this.isWhole || this.gone || this.failure !== undefined;
  }

  /** Whether a new transfer may use it. */
  get isUsable(): boolean {
    return !this.gone && this.failure === undefined && !this.closing;
  }

  /** Frees it when the last transfer has ended. */
  close(): void {
    this.closing = true;
    if (!this.done || this.readers > 0) return;
    this.memory = undefined;
    if (this.fd >= 0) closeSync(this.fd);
    this.fd = -1;
  }

  /**
   * The frames, some at a time and always whole. They are the caller's to change, and valid until it asks for the next ones.
   * None when the zone is not served any more.
   */
  async *blocks(): AsyncGenerator<Uint8Array> {
    this.readers++;
    try {
      while (this.memory === undefined && this.fd < 0 && !this.done) await this.wait();
      if (this.isWhole) yield* this.whole!().blocks();
      else if (this.memory) yield* memoryBlocks(this.memory);
      else yield* this.fileBlocks();
      if (this.failure !== undefined) throw new SpoolFailed(this.failure);
    } finally {
      this.readers--;
      if (this.closing) this.close();
    }
  }

  private async *fileBlocks(): AsyncGenerator<Uint8Array> {
    const block = Buffer.allocUnsafeSlow(BLOCK);
    let kept = 0;
    for (let position = 0; ; ) {
      if (position === this.written) {
        if (this.done) return;
        await this.wait();
        continue;
      }
      const length = Math.min(BLOCK - kept, this.written - position);
      const { bytesRead } = await readFile(this.fd, block, kept, length, position);
      if (bytesRead === 0) throw new SpoolFailed('the file of a transfer is shorter than it was');
      position += bytesRead;
      const end = kept + bytesRead;
      const used = endOfFrames(block, 0, end);
      const rest = block.subarray(used, end);
      // The caller may change the frames, but not what is behind them.
      yield block.subarray(0, used);
      block.set(rest);
      kept = rest.length;
    }
  }

  private wait(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.waiting.delete(wake);
        resolve();
      };
      this.waiting.add(wake);
    });
  }
}

function* memoryBlocks(memory: Uint8Array): Generator<Uint8Array> {
  const block = Buffer.allocUnsafeSlow(Math.min(BLOCK, memory.length));
  for (let at = 0; at < memory.length; ) {
    const end = endOfFrames(memory, at, Math.min(at + BLOCK, memory.length));
    block.set(memory.subarray(at, end));
    yield block.subarray(0, end - at);
    at = end;
  }
}
