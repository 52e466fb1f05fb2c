/**
 * Turns at what all share. Whoever asks names classes, the widest first (account, then zone or key). A place that becomes free
 * goes to the class that holds fewest, and among those to the one that has waited longest since its last turn; so it is at every
 * level. No class holds more places, and no more of it wait, than its level allows; nobody waits longer than a limit. Where too many
 * wait in all, the class of which most wait loses one for each that comes of another. No place stays empty while somebody waits who
 * may have it. Whoever can do without its place may be asked to give it back when others hold fewer.
 */
import { type Clock, steadyMs } from './clock.js';
import type { MetricSample } from './metrics.js';

export interface TurnBounds {
  /** Places that may be held at once. */
  readonly places: number;
  /** How many may wait. */
  readonly waiting: number;
  /**
   * Further places, one for each class directly inside that holds none: who comes need not wait until others end what they began.
   * Where many come at once, these places are taken, too, and they wait for their turns.
   */
  readonly beyond?: number;
}

export interface TurnLimits {
  readonly all: TurnBounds;
  /** Of one class, at each level. */
  readonly each: readonly TurnBounds[];
  /** The longest wait, in milliseconds. */
  readonly waitMs: number;
  /**
   * After so long, whoever waits takes a place from the class that holds most, where its own would still hold fewer; milliseconds.
   * Undefined: it waits until somebody leaves.
   */
  readonly patienceMs?: number;
}

/** Why there is no place: too many wait, none became free in time, or whoever asked has gone. */
export type NoTurn = 'full' | 'late' | 'gone';

/** Frees the place. Further calls do nothing. */
export type Leave = () => void;

/** Who holds a place and can do without it when others need it. */
export interface TurnHolder {
  /** Called once, if ever. The holder ends what it does and leaves. */
  giveBack(): void;
}

export interface TurnWish {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly holder?: TurnHolder | undefined;
  /** A shorter wait than the longest. */
  readonly waitMs?: number | undefined;
}

export interface Turns {
  /** `classes`: one name for each level. Never rejects. */
  enter(classes: readonly string[], wish?: TurnWish): Promise<Leave | NoTurn>;
  /** The same for a place that is there at once; undefined if there is none. */
  enterNow(classes: readonly string[], holder?: TurnHolder): Leave | undefined;
  /** Places that are held, and how many wait. */
  readonly held: number;
  readonly waiting: number;
  /** `kind`: what the places are, for the label. */
  samples(kind: string): MetricSample[];
}

/** What decides whose turn it is: how many places one holds, and when it had its last turn (greater is later). */
export interface TurnState {
  readonly held: number;
  readonly turn: number;
}

/** Who holds fewest comes first, and of those the one that has waited longest since its last turn. */
export function byTurn(a: TurnState, b: TurnState): number {
  return a.held - b.held || a.turn - b.turn;
}

/** Whether one more place may be given to a class that holds `own`, when all together hold `held`. */
export function hasRoomFor(own: number, held: number, { places, beyond = 0 }: Omit<TurnBounds, 'waiting'>): boolean {
  return held < places + (own === 0 ? beyond : 0);
}

/** A class, or what all are in: whoever waits in it, or the classes into which it is divided. */
class TurnClass<Item> {
  held = 0;
  waiting = 0;
  /** When it had its last turn: greater is later. */
  turn = 0;
  readonly inside = new Map<string, TurnClass<Item>>();
  /** Those inside in which somebody waits. */
  readonly wanting = new Set<TurnClass<Item>>();
  /** In the order in which they came. Only classes of the last level have any. */
  readonly items = new Set<Item>();
  /** Likewise. */
  readonly holders = new Set<TurnHolder>();

  constructor(
    readonly name: string,
    readonly bounds: TurnBounds,
    readonly outer: TurnClass<Item> | undefined,
  ) {}

  /** This class and those around it. */
  *path(): Generator<TurnClass<Item>> {
    for (let at: TurnClass<Item> | undefined = this; at; at = at.outer) yield at;
  }

  /** Whether the class may have one more place. */
  hasPlace(): boolean {
    let own = 1;
    for (const { held, bounds } of this.path()) {
      if (!hasRoomFor(own, held, bounds)) return false;
      own = held;
    }
    return true;
  }

  hasWaitingRoom(): boolean {
    return this.waiting < this.bounds.waiting && (this.outer?.hasWaitingRoom() ?? true);
  }

  /** The class of the last level whose turn it is; undefined when nobody waits who may have a place. */
  next(): TurnClass<Item> | undefined {
    if (this.waiting === 0) return undefined;
    if (this.items.size > 0) return this.held < this.bounds.places ? this : undefined;
    // Many classes may wait: they are sorted only when the first one can take no place.
    let first: TurnClass<Item> | undefined;
    for (const one of this.wanting) if (this.mayCall(one) && (!first || byTurn(one, first) < 0)) first = one;
    const found = first?.next();
    if (found || !first) return found;
    const able = [...this.wanting].filter((one) => one !== first && this.mayCall(one));
    for (const one of able.sort(byTurn)) {
      const other = one.next();
      if (other) return other;
    }
    return undefined;
  }

  private mayCall({ held }: TurnClass<Item>): boolean {
    return hasRoomFor(held, this.held, this.bounds);
  }

  /** The class of the last level in which most wait, as far as these are more than `than`. */
  fullest(than: number): TurnClass<Item> | undefined {
    if (this.items.size > 0) return this;
    let most: TurnClass<Item> | undefined;
    for (const one of this.wanting) if (one.waiting > (most?.waiting ?? than)) most = one;
    return most?.fullest(0);
  }

  /** The class directly inside that holds most. */
  richest(): TurnClass<Item> | undefined {
    let richest: TurnClass<Item> | undefined;
    for (const one of this.inside.values()) if (one.held > (richest?.held ?? 0)) richest = one;
    return richest;
  }

  /** Takes back the place that was given first, of the class that holds most. */
  takeBack(): void {
    const richest = this.richest();
    if (richest) {
      richest.takeBack();
      return;
    }
    const [first] = this.holders;
    if (!first) return;
    this.holders.delete(first);
    first.giveBack();
  }
}

/** Items that wait, in a queue for each class. */
class ClassedQueue<Item> {
  readonly root: TurnClass<Item>;
  private turn = 0;

  constructor(
    all: TurnBounds,
    private readonly each: readonly TurnBounds[],
  ) {
    this.root = new TurnClass('', all, undefined);
  }

  /** The class of the last level. It is forgotten by {@link forget} when nothing is in it. */
  classOf(names: readonly string[]): TurnClass<Item> {
    return this.each.reduce((outer, bounds, level) => {
      const name = names[level] ?? '';
      let inner = outer.inside.get(name);
      if (!inner) {
        inner = new TurnClass(name, bounds, outer);
        outer.inside.set(name, inner);
      }
      return inner;
    }, this.root);
  }

  add(at: TurnClass<Item>, item: Item): void {
    at.items.add(item);
    for (const one of at.path()) {
      one.waiting++;
      one.outer?.wanting.add(one);
    }
  }

  remove(at: TurnClass<Item>, item: Item): void {
    if (!at.items.delete(item)) return;
    for (const one of at.path()) {
      one.waiting--;
      if (one.waiting === 0) one.outer?.wanting.delete(one);
    }
  }

  hold(at: TurnClass<Item>): void {
    this.turn++;
    for (const one of at.path()) {
      one.held++;
      one.turn = this.turn;
    }
  }

  release(at: TurnClass<Item>): void {
    for (const one of at.path()) one.held--;
  }

  /** When too many wait in all: the first of the class of which most wait, if fewer of the other do. */
  inTheWay(at: TurnClass<Item>): Item | undefined {
    const { root } = this;
    if (root.waiting < root.bounds.waiting) return undefined;
    const own = [...at.path()].at(-2)!;
    const [first] = root.fullest(own.waiting + 1)?.items ?? [];
    return first;
  }

  forget(at: TurnClass<Item>): void {
    for (const one of at.path()) if (one.held + one.waiting === 0) one.outer?.inside.delete(one.name);
  }

  /** Where places are missing for this class, has those give some back that hold more than one more than it. */
  takeBackFor(at: TurnClass<Item>): void {
    let inner = at;
    for (let full = at.outer; full && inner.held < inner.bounds.places; inner = full, full = full.outer) {
      const richest = full.held < full.bounds.places ? undefined : full.richest();
      if (richest && richest.held > inner.held + 1) richest.takeBack();
    }
  }
}

interface Waiting {
  readonly sinceMs: number;
  readonly holder: TurnHolder | undefined;
  /** Takes it out of the queue. */
  readonly leave: (why: NoTurn) => void;
  readonly end: (turn: Leave | NoTurn) => void;
}

export function createTurns({ all, each, waitMs: longestMs, patienceMs }: TurnLimits, clock: Clock): Turns {
  const queue = new ClassedQueue<Waiting>(all, each);
  const { root } = queue;
  const refused: Record<NoTurn, number> = { full: 0, late: 0, gone: 0 };
  let waitedMs = 0;

  const take = (at: TurnClass<Waiting>, holder: TurnHolder | undefined): Leave => hold(queue, at, holder, admit);

  const admit = (): void => {
    for (let at = root.next(); at; at = root.next()) {
      const [first] = at.items;
      queue.remove(at, first!);
      first!.end(take(at, first!.holder));
    }
  };

  const refuse = (why: NoTurn): NoTurn => {
    refused[why]++;
    return why;
  };

  const wait = (at: TurnClass<Waiting>, { signal, holder, waitMs }: TurnWish): Promise<Leave | NoTurn> =>
    new Promise((resolve) => {
      const giveUp = (why: NoTurn): void => {
        queue.remove(at, waiting);
        queue.forget(at);
        waiting.end(refuse(why));
      };
      const leaveQueue = (): void => giveUp('gone');
      const cancel = clock.after(Math.min(waitMs ?? longestMs, longestMs), () => giveUp('late'));
      const stayPatient = patienceMs === undefined ? () => {} : clock.after(patienceMs, () => queue.takeBackFor(at));
      const waiting: Waiting = {
        sinceMs: steadyMs(clock),
        holder,
        leave: giveUp,
        end(turn) {
          cancel();
          stayPatient();
          signal?.removeEventListener('abort', leaveQueue);
          waitedMs += steadyMs(clock) - waiting.sinceMs;
          resolve(turn);
        },
      };
      signal?.addEventListener('abort', leaveQueue, { once: true });
      queue.add(at, waiting);
    });

  return {
    async enter(classes, wish = {}) {
      if (wish.signal?.aborted) return refuse('gone');
      const at = queue.classOf(classes);
      if (at.hasPlace()) return take(at, wish.holder);
      queue.inTheWay(at)?.leave('full');
      if (at.hasWaitingRoom()) return wait(at, wish);
      queue.forget(at);
      return refuse('full');
    },
    enterNow(classes, holder) {
      const at = queue.classOf(classes);
      if (at.hasPlace()) return take(at, holder);
      queue.forget(at);
      return undefined;
    },
    get held() {
      return root.held;
    },
    get waiting() {
      return root.waiting;
    },
    samples: (kind) => samplesOf(kind, { held: root.held, waiting: root.waiting, waitedMs, refused }),
  };
}

/** Takes a place of a class. `onFree` is called when it is free again. */
function hold(
  queue: ClassedQueue<Waiting>,
  at: TurnClass<Waiting>,
  holder: TurnHolder | undefined,
  onFree: () => void,
): Leave {
  queue.hold(at);
  if (holder) at.holders.add(holder);
  let isFree = false;
  return () => {
    if (isFree) return;
    isFree = true;
    if (holder) at.holders.delete(holder);
    queue.release(at);
    queue.forget(at);
    onFree();
  };
}

interface Counts {
  readonly held: number;
  readonly waiting: number;
  readonly waitedMs: number;
  readonly refused: Readonly<Record<NoTurn, number>>;
}

function samplesOf(kind: string, { held, waiting, waitedMs, refused }: Counts): MetricSample[] {
  const labels = { kind };
  return [
    { name: 'turns_held', type: 'gauge', help: 'Places held of those that accounts share', labels, value: held },
    { name: 'turns_waiting', type: 'gauge', help: 'How many wait for such a place', labels, value: waiting },
    {
      name: 'turns_waited_seconds_total',
      type: 'counter',
      help: 'Time that was waited for such places',
      labels,
      value: waitedMs / 1000,
    },
    ...Object.entries(refused).map(
      ([reason, value]): MetricSample => ({
        name: 'turns_refused_total',
        type: 'counter',
        help: 'Who got no such place: too many waited, none was free in time, or the client had gone',
        labels: { kind, reason },
        value,
      }),
    ),
  ];
}
