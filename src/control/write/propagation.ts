/** Which DNS processes there are, and up to which number of the change log each of them answers. */
import type { Clock } from '../../base/clock.js';

export interface DnsProcess {
  /** Of the process, as long as it lives. */
  readonly name: string;
  /** Number of the latest change that every query to it sees, but for the zones named. */
  readonly applied: number;
  readonly unpublished: readonly UnpublishedZone[];
}

/** A zone that a process loads, or could not publish. */
export interface UnpublishedZone {
  /** Store number. */
  readonly zone: number;
  /** Number of the first change that queries do not see. */
  readonly change: number;
  /** It could not be published; the process goes on trying. */
  readonly isHeld: boolean;
}

/** A change of a zone, by their numbers in the store. */
export interface ChangeOfZone {
  readonly change: number;
  readonly zone: number;
}

export interface Propagation {
  /** A process says up to where it has come. */
  report(process: DnsProcess): void;
  /** A process is gone; nobody waits for it any more. */
  forget(name: string): void;
  processes(): readonly DnsProcess[];
  /** Whether there is a DNS process, and all there are answer with the change. */
  isServed(change: ChangeOfZone): boolean;
  /** Waits for that, `limitMs` milliseconds at most; false when the time is over. */
  whenServed(change: ChangeOfZone, limitMs: number): Promise<boolean>;
}

/** Whether every query to this process sees the change. */
export function serves({ applied, unpublished }: DnsProcess, { change, zone }: ChangeOfZone): boolean {
  return applied >= change && !unpublished.some((entry) => entry.zone === zone && entry.change <= change);
}

/** Whether this process tried to publish the change, or one before it, and could not. */
export function isHeld({ unpublished }: DnsProcess, { change, zone }: ChangeOfZone): boolean {
  return unpublished.some((entry) => entry.isHeld && entry.zone === zone && entry.change <= change);
}

export function createPropagation(clock: Clock): Propagation {
  const processes = new Map<string, DnsProcess>();
  const waiting = new Set<() => void>();

  const isServed = (change: ChangeOfZone): boolean =>
    processes.size > 0 && [...processes.values()].every((process) => serves(process, change));

  const look = (): void => {
    for (const check of [...waiting]) check();
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
    isServed,
    whenServed(change, limitMs) {
      if (isServed(change)) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = (served: boolean): void => {
          waiting.delete(check);
          cancel();
          resolve(served);
        };
        const check = (): void => {
          if (isServed(change)) end(true);
        };
        const cancel = clock.after(limitMs, () => end(false));
        waiting.add(check);
      });
    },
  };
}
