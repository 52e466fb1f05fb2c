/**
 * Places of clients that several edge processes give out together. A process that finds none looks again and again, because nobody tells
 * it when another one frees a place; and while another one waits, a process with more than its part leaves places that it frees.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { Leave, NoTurn, Place, PlaceTurns, TurnOptions, Turns } from '../../base/turns.js';
import type { SharedCounts } from './counts.js';

/** What is asked of turns. */
type Asked = Pick<Turns, 'enterNow' | 'ask' | 'samples'>;

/** Milliseconds between two looks while somebody waits. */
const LOOK_MS = 5;

interface Waiting {
  readonly untilMs: number;
  readonly done: (leave: Leave | 'late') => void;
}

export interface SharedPlacesOptions {
  /** Turns among those of this process, whose first class is the client. */
  readonly own: Turns;
  readonly held: SharedCounts;
  /** In which processes somebody waits. */
  readonly waiting: SharedCounts;
  /** The longest wait, milliseconds. */
  readonly waitMs: number;
  readonly processes: number;
  readonly clock: Clock;
}

/** Gives a place to whoever has its turn in this process, as soon as all processes together have one. */
export function createSharedPlaces(options: SharedPlacesOptions): Asked {
  const { own, clock, waitMs } = options;
  const clients = new Clients(options);
  return {
    enterNow(classes, holder) {
      const leaveOwn = own.enterNow(classes, holder);
      if (!leaveOwn) return undefined;
      const leaveShared = clients.enterNow(classes[0]!);
      if (!leaveShared) leaveOwn();
      return leaveShared && both(leaveShared, leaveOwn);
    },
    ask(classes: readonly string[], options: TurnOptions, done: (turn: Leave | NoTurn) => void) {
      const sinceMs = steadyMs(clock);
      let cancelShared = (): void => {};
      const cancelOwn = own.ask(classes, options, (turn) => {
        if (typeof turn !== 'function') {
          done(turn);
          return;
        }
        let isOver = false;
        const cancel = clients.ask(classes[0]!, sinceMs + Math.min(options.waitMs ?? waitMs, waitMs), (leave) => {
          isOver = true;
          if (leave === 'late') turn();
          done(leave === 'late' ? leave : both(leave, turn));
        });
        cancelShared = () => {
          if (isOver) return;
          cancel();
          turn();
        };
      });
      return () => {
        cancelOwn();
        cancelShared();
      };
    },
    samples: (kind) => own.samples(kind),
  };
}

/** The same for whoever takes one place after another. */
export function placeTurnsOf(asked: Asked, clock: Clock): PlaceTurns & Pick<Turns, 'samples'> {
  /** What ends each place, or its wait. */
  const ends = new Map<Place, () => void>();
  return {
    take(place, classes) {
      const leave = asked.enterNow(classes, place.holder);
      if (leave) ends.set(place, leave);
      return leave !== undefined;
    },
    wait(place, classes, _nowMs, waitMs) {
      let isTold = false;
      const { holder, events } = place;
      const end = asked.ask(classes, { holder, waitMs }, (turn) => {
        isTold = true;
        if (typeof turn === 'function') {
          ends.set(place, turn);
          events.onTurn(steadyMs(clock));
        } else {
          ends.delete(place);
          events.onNoTurn(turn);
        }
      });
      if (!isTold) ends.set(place, end);
    },
    leave(place) {
      const end = ends.get(place);
      ends.delete(place);
      end?.();
    },
    samples: (kind) => asked.samples(kind),
  };
}

function both(one: Leave, other: Leave): Leave {
  return () => {
    one();
    other();
  };
}

/** Who waits in this process, by client, in the order in which they came. */
class Clients {
  private readonly waiting = new Map<string, Set<Waiting>>();
  private cancel: (() => void) | undefined;

  constructor(private readonly options: SharedPlacesOptions) {}

  enterNow(client: string): Leave | undefined {
    if (this.waiting.has(client) || this.mustYield(client)) return undefined;
    return this.options.held.take(client) ? this.leaveOf(client) : undefined;
  }

  /** Returns what ends the wait; it does nothing after `done` was called. */
  ask(client: string, untilMs: number, done: Waiting['done']): () => void {
    const leave = this.enterNow(client);
    if (leave) {
      done(leave);
      return () => {};
    }
    let queue = this.waiting.get(client);
    if (!queue) {
      this.waiting.set(client, (queue = new Set()));
      this.options.waiting.add(client);
    }
    const one: Waiting = { untilMs, done };
    queue.add(one);
    this.cancel ??= this.options.clock.every(LOOK_MS, () => this.look());
    return () => this.remove(client, one);
  }

  private leaveOf(client: string): Leave {
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      this.options.held.give(client);
      if (this.waiting.has(client) && !this.mustYield(client)) this.admit(client);
    };
  }

  /** Whether another process waits that is to have the next place. */
  private mustYield(client: string): boolean {
    const { held, waiting, processes } = this.options;
    if (waiting.all(client) === waiting.own(client)) return false;
    return held.own(client) >= Math.floor(held.most / processes);
  }

  private admit(client: string): void {
    const queue = this.waiting.get(client);
    for (const one of queue ?? []) {
      if (!this.options.held.take(client)) return;
      this.remove(client, one);
      one.done(this.leaveOf(client));
    }
  }

  /** A place that is still free is for whoever finds it. */
  private look(): void {
    const nowMs = steadyMs(this.options.clock);
    for (const [client, queue] of [...this.waiting]) {
      this.admit(client);
      for (const one of [...queue]) {
        if (one.untilMs > nowMs || !queue.has(one)) continue;
        this.remove(client, one);
        one.done('late');
      }
    }
  }

  private remove(client: string, one: Waiting): void {
    const queue = this.waiting.get(client);
    if (!queue?.delete(one) || queue.size > 0) return;
    this.waiting.delete(client);
    this.options.waiting.give(client);
    if (this.waiting.size > 0) return;
    this.cancel?.();
    this.cancel = undefined;
  }
}
