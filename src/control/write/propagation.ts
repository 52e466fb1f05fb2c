/** Which DNS processes there are, and up to which number of the change log each of them answers. */
import type { Clock } from '../../base/clock.js';

export interface DnsProcess {
  /** Of the process, as long as it lives. */
  readonly name: string;
  /** Number of the latest change that every query to it sees. */
  readonly applied: number;
}

export interface Propagation {
  /** A process says up to where it has come. */
  report(process: DnsProcess): void;
  /** A process is gone; nobody waits for it any more. */
  forget(name: string): void;
  processes(): readonly DnsProcess[];
  /** Whether there is a DNS process, and all there are answer with the change. */
  isServed(change: number): boolean;
  /** Waits for that, `limitMs` milliseconds at most; false when the time is over. */
  whenServed(change: number, limitMs: number): Promise<boolean>;
}

export function createPropagation(clock: Clock): Propagation {
  const processes = new Map<string, number>();
  const waiting = new Set<() => void>();

  const isServed = (change: number): boolean =>
    processes.size > 0 && [...processes.values()].every((applied) => applied >= change);

  const look = (): void => {
    for (const check of [...waiting]) check();
  };

  return {
    report({ name, applied }) {
      processes.set(name, applied);
      look();
    },
    forget(name) {
      processes.delete(name);
      look();
    },
    processes: () => [...processes].map(([name, applied]) => ({ name, applied })),
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
