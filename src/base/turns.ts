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
  readonly holder?: TurnHolder | undefined;
  /** A shorter wait than the longest. */
  readonly waitMs?: number | undefined;
}

export interface Turns {
  /** `classes`: one name for each level. `signal` ends the wait. Never rejects. */
  enter(
    classes: readonly string[],
    wish?: TurnWish & { readonly signal?: AbortSignal | undefined },
  ): Promise<Leave | NoTurn>;
  /**
   * The same, but calls `done` once, perhaps at once. Returns what ends the wait, of which `done` hears nothing. It costs less than a
   * promise.
   */
  ask(classes: readonly string[], wish: TurnWish, done: (turn: Leave | NoTurn) => void): () => void;
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

/** Of classes that have none. */
const NONE = {
  inside: new Map<string, unknown>(),
  wanting: new Set<unknown>(),
  items: new Set<unknown>(),
  holders: new Set<TurnHolder>(),
};

/** A class, or what all are in: whoever waits in it, or the classes into which it is divided. */
class TurnClass<Item> {
  held = 0;
  waiting = 0;
  /** When it had its last turn: greater is later. */
  turn = 0;
  readonly inside: Map<string, TurnClass<Item>>;
  /** Those inside in which somebody waits. */
  readonly wanting: Set<TurnClass<Item>>;
  /** In the order in which they came. Only classes of the last level have any. */
  readonly items: Set<Item>;
  /** Likewise. */
  readonly holders: Set<TurnHolder>;

  constructor(
    readonly name: string,
    readonly bounds: TurnBounds,
    readonly outer: TurnClass<Item> | undefined,
    isLast: boolean,
  ) {
    // What stays empty is not made: classes come and go with every request.
    this.inside = isLast ? (NONE.inside as Map<string, TurnClass<Item>>) : new Map();
    this.wanting = isLast ? (NONE.wanting as Set<TurnClass<Item>>) : new Set();
    this.items = isLast ? new Set() : (NONE.items as Set<Item>);
    this.holders = isLast ? new Set() : NONE.holders;
  }

  /** This class and those around it. */
  *path(): Generator<TurnClass<Item>> {
    for (let at: TurnClass<Item> | undefined = this; at; at = at.outer) yield at;
  }

  /** Whether the class may have one more place. */
  hasPlace(): boolean {
    let own = 1;
    for (let one: TurnClass<Item> | undefined = this; one; one = one.outer) {
      if (!hasRoomFor(own, one.held, one.bounds)) return false;
      own = one.held;
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
    this.root = new TurnClass('', all, undefined, each.length === 0);
  }

  /** The class of the last level. It is forgotten by {@link forget} when nothing is in it. */
  classOf(names: readonly string[]): TurnClass<Item> {
    let at = this.root;
    for (let level = 0; level < this.each.length; level++) {
      const name = names[level] ?? '';
      let inner = at.inside.get(name);
      if (!inner) {
        inner = new TurnClass(name, this.each[level]!, at, level === this.each.length - 1);
        at.inside.set(name, inner);
      }
      at = inner;
    }
    return at;
  }

  add(at: TurnClass<Item>, item: Item): void {
    at.items.add(item);
    for (const one of at.path()) {
      one.waiting++;
      one.outer?.wanting.add(one);
    }
  }

  /** False: it waits no longer. */
  remove(at: TurnClass<Item>, item: Item): boolean {
    if (!at.items.delete(item)) return false;
    for (const one of at.path()) {
      one.waiting--;
      if (one.waiting === 0) one.outer?.wanting.delete(one);
    }
    return true;
  }

  hold(at: TurnClass<Item>): void {
    this.turn++;
    for (let one: TurnClass<Item> | undefined = at; one; one = one.outer) {
      one.held++;
      one.turn = this.turn;
    }
  }

  release(at: TurnClass<Item>): void {
    for (let one: TurnClass<Item> | undefined = at; one; one = one.outer) one.held--;
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
    for (let one = at; one.outer && one.held + one.waiting === 0; one = one.outer) one.outer.inside.delete(one.name);
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

export function createTurns(limits: TurnLimits, clock: Clock): Turns {
  return new FairTurns(limits, clock);
}

/** What the rest of the class needs of whoever waits. */
interface WaitOptions {
  readonly at: TurnClass<Waiting>;
  readonly holder: TurnHolder | undefined;
  readonly done: (turn: Leave | NoTurn) => void;
  readonly waitMs: number;
}

class Waiting {
  readonly sinceMs: number;
  private cancel: () => void;

  constructor(
    private readonly turns: FairTurns,
    readonly options: WaitOptions,
    { patienceMs = Number.POSITIVE_INFINITY }: TurnLimits,
    clock: Clock,
  ) {
    const { at, waitMs } = options;
    this.sinceMs = steadyMs(clock);
    const giveUp = (): void => this.leave('late');
    // One timer at a time, because most waits are short.
    if (patienceMs >= waitMs) this.cancel = clock.after(waitMs, giveUp);
    else {
      this.cancel = clock.after(patienceMs, () => {
        this.cancel = clock.after(waitMs - patienceMs, giveUp);
        turns.takeBackFor(at);
      });
    }
  }

  /** Takes it out of the queue. */
  leave(why: NoTurn): void {
    this.turns.remove(this, why);
    this.options.done(why);
  }

  stopTimer(): void {
    this.cancel();
  }
}

class FairTurns implements Turns {
  private readonly queue: ClassedQueue<Waiting>;
  private readonly refused: Record<NoTurn, number> = { full: 0, late: 0, gone: 0 };
  private waitedMs = 0;
  private readonly admit = (): void => this.admitNext();

  constructor(
    private readonly limits: TurnLimits,
    private readonly clock: Clock,
  ) {
    this.queue = new ClassedQueue(limits.all, limits.each);
  }

  get held(): number {
    return this.queue.root.held;
  }

  get waiting(): number {
    return this.queue.root.waiting;
  }

  enterNow(classes: readonly string[], holder?: TurnHolder): Leave | undefined {
    const at = this.queue.classOf(classes);
    if (at.hasPlace()) return this.take(at, holder);
    this.queue.forget(at);
    return undefined;
  }

  ask(classes: readonly string[], { holder, waitMs }: TurnWish, done: (turn: Leave | NoTurn) => void): () => void {
    const { queue, limits } = this;
    const at = queue.classOf(classes);
    if (at.hasPlace()) {
      done(this.take(at, holder));
      return () => {};
    }
    queue.inTheWay(at)?.leave('full');
    if (!at.hasWaitingRoom()) {
      queue.forget(at);
      this.refused.full++;
      done('full');
      return () => {};
    }
    const options = { at, holder, done, waitMs: Math.min(waitMs ?? limits.waitMs, limits.waitMs) };
    const waiting = new Waiting(this, options, limits, this.clock);
    queue.add(at, waiting);
    return () => this.remove(waiting, 'gone');
  }

  enter(
    classes: readonly string[],
    { signal, ...wish }: TurnWish & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Leave | NoTurn> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        this.refused.gone++;
        resolve('gone');
        return;
      }
      const leaveQueue = (): void => {
        end();
        resolve('gone');
      };
      const end = this.ask(classes, wish, (turn) => {
        signal?.removeEventListener('abort', leaveQueue);
        resolve(turn);
      });
      signal?.addEventListener('abort', leaveQueue, { once: true });
    });
  }

  samples(kind: string): MetricSample[] {
    const { held, waiting, waitedMs, refused } = this;
    return samplesOf(kind, { held, waiting, waitedMs, refused });
  }

  takeBackFor(at: TurnClass<Waiting>): void {
    this.queue.takeBackFor(at);
  }

  /** Does nothing for what waits no longer. */
  remove(waiting: Waiting, why: NoTurn): void {
    if (!this.dequeue(waiting)) return;
    this.queue.forget(waiting.options.at);
    this.refused[why]++;
  }

  private take(at: TurnClass<Waiting>, holder: TurnHolder | undefined): Leave {
    return hold(this.queue, at, holder, this.admit);
  }

  private admitNext(): void {
    const { queue } = this;
    for (let at = queue.root.next(); at; at = queue.root.next()) {
      const [first] = at.items;
      this.dequeue(first!);
      first!.options.done(this.take(at, first!.options.holder));
    }
  }

  private dequeue(waiting: Waiting): boolean {
    if (!this.queue.remove(waiting.options.at, waiting)) return false;
    waiting.stopTimer();
    this.waitedMs += steadyMs(this.clock) - waiting.sinceMs;
    return true;
  }
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
