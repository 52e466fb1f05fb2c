/**
 * Sums of files that have just been copied, taken by another thread while further ones are. Whoever needs a sum that was not begun there
 * takes it, so that both threads end together.
 */
import { Worker } from 'node:worker_threads';
import type { Algorithm, Digest } from './digest.js';

export interface DigestsAside {
  /** A file that does not change any more. */
  add(path: string): void;
  /** Undefined: the caller is to take it, because nobody has begun, or because it failed there. */
  digestOf(path: string): Promise<Digest | undefined>;
  end(): void;
}

export interface DigestData {
  readonly algorithms: readonly Algorithm[];
  /** One for each file: 1 when somebody has begun with it. */
  readonly begun: Int32Array;
}

export interface DigestOrder {
  /** Place of the first path among all. */
  readonly first: number;
  readonly paths: readonly string[];
}

/** In the order of the paths; undefined where it failed, or somebody else has begun with it. */
export interface DigestsTaken extends DigestOrder {
  readonly digests: readonly (Digest | undefined)[];
}

/** With fewer files, starting a thread takes longer than it saves. */
const LEAST_FILES = 256;
/** Paths of one message. */
const BATCH = 32;

/** `most`: there are no more files. Undefined for few of them. */
export function takeDigestsAside(most: number, algorithms: readonly Algorithm[]): DigestsAside | undefined {
  return most < LEAST_FILES ? undefined : new Aside(most, algorithms);
}

interface File {
  readonly index: number;
  /** Whoever asked takes it. */
  isOwn?: boolean;
  /** Undefined until the thread has said what came of it. */
  taken?: { readonly digest: Digest | undefined };
  tell?: (digest: Digest | undefined) => void;
}

class Aside implements DigestsAside {
  private readonly files = new Map<string, File>();
  private readonly begun: Int32Array;
  private worker: Worker | undefined;
  private waiting: string[] = [];
  private hasEnded = false;

  constructor(
    most: number,
    private readonly algorithms: readonly Algorithm[],
  ) {
    this.begun = new Int32Array(new SharedArrayBuffer(4 * most));
  }

  add(path: string): void {
    if (this.hasEnded || this.files.size >= this.begun.length || this.files.has(path)) return;
    this.files.set(path, { index: this.files.size });
    if (this.waiting.push(path) >= BATCH) this.send();
  }

  async digestOf(path: string): Promise<Digest | undefined> {
    const file = this.files.get(path);
    if (file?.taken) return file.taken.digest;
    if (!file || file.isOwn || this.hasEnded) return undefined;
    if (Atomics.exchange(this.begun, file.index, 1) === 0) {
      file.isOwn = true;
      return undefined;
    }
    return new Promise((resolve) => (file.tell = resolve));
  }

  end(): void {
    this.hasEnded = true;
    void this.worker?.terminate();
    for (const file of this.files.values()) if (!file.taken) this.settle(file, undefined);
  }

  private send(): void {
    const order: DigestOrder = { first: this.files.size - this.waiting.length, paths: this.waiting };
    this.worker ??= this.start();
    this.worker.postMessage(order);
    this.waiting = [];
  }

  private start(): Worker {
    const workerData: DigestData = { algorithms: this.algorithms, begun: this.begun };
    const worker = new Worker(new URL('./digest-thread.js', import.meta.url), { name: 'digests', workerData });
    worker.on('message', ({ paths, digests }: DigestsTaken) => {
      for (const [index, path] of paths.entries()) this.settle(this.files.get(path)!, digests[index]);
    });
    // What it has not taken is taken here.
    return worker.on('error', () => this.end()).on('exit', () => this.end());
  }

  private settle(file: File, digest: Digest | undefined): void {
    file.taken = { digest };
    file.tell?.(digest);
  }
}
