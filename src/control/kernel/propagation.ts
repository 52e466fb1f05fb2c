/** The DNS processes, and the number of the change that each of them serves. */
import type { Clock } from '../../base/clock.js';

export interface DnsProcess {
  /** Name of the process while it lives. */
  readonly name: string;
  /** Number of the last change that every answer includes; the named zones may lag behind. */
  readonly applied: number;
  readonly unpublished: readonly UnpublishedZone[];
}

/** A zone that a process is loading or could not publish. */
export interface UnpublishedZone {
  /** Store number. */
  readonly zone: number;
  /** Number of the first change that is not published. */
  readonly change: number;
  /** Whether publishing failed; the process keeps trying. */
  readonly isHeld: boolean;
}

/** A change of a zone, by their numbers in the store. */
export interface ChangeOfZone {
  readonly change: number;
  readonly zone: number;
}

/** The copy of the database on another node of a cluster. */
export interface CopyOfNode {
  readonly node: string;
  /** The last entry of the log that it has. */
  readonly entry: number;
}

export interface Propagation {
  /** Records a process's report. */
  report(process: DnsProcess): void;
  /** Removes a process that has ended, so that no one waits for it. */
  forget(name: string): void;
  processes(): readonly DnsProcess[];
  /** The copies of all other nodes that live. */
  reportCopies(copies: readonly CopyOfNode[]): void;
  /** Waits until all DNS processes serve the changes, and the copies of all nodes have the entry. False after `limitMs`. */
  whenEverywhere(changes: readonly ChangeOfZone[], entry: number, limitMs: number): Promise<boolean>;
  /** Whether there is a DNS process and all of them serve the change. */
  isServed(change: ChangeOfZone): boolean;
  /** Waits for that for up to `limitMs` milliseconds; false after that time. */
  whenServed(change: ChangeOfZone, limitMs: number): Promise<boolean>;
  /** The state of a peer of a zone was stored. */
  noteSecondary(): void;
  /** The same for a condition, which is asked again after each report and each news of a peer. */
  whenHolds(holds: () => boolean, limitMs: number): Promise<boolean>;
}

/** Whether every answer of this process includes the change. */
export function serves({ applied, unpublished }: DnsProcess, { change, zone }: ChangeOfZone): boolean {
  return applied >= change && !unpublished.some((entry) => entry.zone === zone && entry.change <= change);
}

/** Whether this process failed to publish the change or an earlier one. */
export function isHeld({ unpublished }: DnsProcess, { change, zone }: ChangeOfZone): boolean {
  return unpublished.some((entry) => entry.isHeld && entry.zone === zone && entry.change <= change);
}

export function createPropagation(clock: Clock): Propagation {
  const processes = new Map<string, DnsProcess>();
  const waiting = new Set<() => void>();
  let copies: readonly CopyOfNode[] = [];

  const isServed = (change: ChangeOfZone): boolean =>
    processes.size > 0 && [...processes.values()].every((process) => serves(process, change));

  const look = (): void => {
    for (const check of [...waiting]) check();
  };

  const whenHolds = (holds: () => boolean, limitMs: number): Promise<boolean> => {
    if (holds()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (held: boolean): void => {
        waiting.delete(check);
        cancel();
        resolve(held);
      };
      const check = (): void => {
        if (holds()) end(true);
      };
      const cancel = clock.after(limitMs, () => end(false));
      waiting.add(check);
    });
  };

  return {
    report(process) {
      processes.set(process.name, process);
      look();
    },
    forget(name) {
      processes.delete(name);
      look();
    },
    processes: () => [...processes.values()],
    reportCopies(next) {
      copies = next;
      look();
    },
    whenEverywhere: (changes, entry, limitMs) =>
      whenHolds(() => changes.every(isServed) && copies.every((copy) => copy.entry >= entry), limitMs),
    isServed,
    whenServed: (change, limitMs) => whenHolds(() => isServed(change), limitMs),
    noteSecondary: look,
    whenHolds,
  };
}
