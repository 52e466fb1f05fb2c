/** Limits how many things go on, in all and for each peer. */
import type { Clock } from '../base/clock.js';

export interface TurnstileLimits {
  readonly inAll: number;
  readonly ofOne: number;
  /** How long to wait, in milliseconds. */
  readonly waitMs: number;
}

export interface Turnstile {
  /** Resolves to a function that frees the place; undefined when there was none in time. */
  enter(who: string): Promise<(() => void) | undefined>;
}

interface Waiting {
  readonly who: string;
  readonly admit: () => void;
}

export function createTurnstile({ inAll, ofOne, waitMs }: TurnstileLimits, clock: Clock): Turnstile {
  const inside = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let all = 0;

  const hasRoom = (who: string): boolean => all < inAll && (inside.get(who) ?? 0) < ofOne;

  const take = (who: string): (() => void) => {
    all++;
    inside.set(who, (inside.get(who) ?? 0) + 1);
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      all--;
      const left = inside.get(who)! - 1;
      if (left > 0) inside.set(who, left);
      else inside.delete(who);
      for (const entry of [...waiting]) if (hasRoom(entry.who)) entry.admit();
    };
  };

  return {
    enter(who) {
      if (hasRoom(who)) return Promise.resolve(take(who));
      return new Promise((resolve) => {
        const leave = (place: (() => void) | undefined): void => {
          waiting.delete(entry);
          cancel();
          resolve(place);
        };
        const entry: Waiting = { who, admit: () => leave(take(who)) };
        const cancel = clock.after(waitMs, () => leave(undefined));
        waiting.add(entry);
      });
    },
  };
}
