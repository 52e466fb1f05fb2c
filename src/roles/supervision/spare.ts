/**
 * A process that is kept beside the running one and takes its place when that crashes: starting one anew takes about a second,
 * most of it for loading code.
 */
import type { ChildProcess } from 'node:child_process';
import type { Clock } from '../../base/clock.js';
import { memoryLimit } from '../../base/process/resident-memory.js';
import { type Order, sendOrder } from '../process/ipc.js';

/** How far it gets in advance: the code is loaded, or all is done but listening. */
export type SpareKind = 'loaded' | 'standby';

export interface SpareOptions {
  readonly kind: SpareKind;
  readonly clock: Clock;
  /** With an option for Node. */
  readonly fork: (option: string) => ChildProcess;
  /** Sends the start order. */
  readonly order: (child: ChildProcess) => void;
}

/** Its name in lists of processes. */
export const SPARE_TITLE = 'zoneplane (spare process)';

/** After the start, in which every process, and whoever asks first, needs the processors. Milliseconds. */
const FIRST_MS = 10_000;
/** After a spare process that could not be made. */
const AGAIN_MS = 60_000;

/** A machine with this many octets of memory can spare about 300 MB for three processes. */
const ROOMY = 2 * 1024 ** 3;

/** Whether this machine, or what this program may use of it, has room for spare processes. */
export function hasRoomForSpares(): boolean {
  return memoryLimit() >= ROOMY;
}

export class Spare {
  private child: ChildProcess | undefined;
  private cancel: (() => void) | undefined;
  private delayMs = FIRST_MS;

  constructor(private readonly options: SpareOptions) {}

  /** Unless there is one. */
  makeSoon(): void {
    if (this.child) return;
    this.cancel?.();
    this.cancel = this.options.clock.after(this.delayMs, () => {
      const { kind, fork, order } = this.options;
      this.child = fork(`--title=${SPARE_TITLE}`);
      if (kind === 'standby') order(this.child);
    });
    this.delayMs = 0;
  }

  /** Gives the process away, with its order. */
  take(): ChildProcess | undefined {
    const { child } = this;
    this.child = undefined;
    this.cancel?.();
    if (!child) return undefined;
    if (this.options.kind === 'standby') sendOrder(child, { kind: 'take-place' });
    else this.options.order(child);
    return child;
  }

  send(order: Order): void {
    if (this.child) sendOrder(this.child, order);
  }

  /** True if it was this one; another is made later. */
  noteEnd(child: ChildProcess): boolean {
    if (child !== this.child) return false;
    this.child = undefined;
    this.delayMs = AGAIN_MS;
    this.makeSoon();
    return true;
  }

  end(): void {
    this.cancel?.();
    const { child } = this;
    this.child = undefined;
    child?.kill('SIGKILL');
  }
}
