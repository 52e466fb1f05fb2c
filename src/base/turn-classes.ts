/** The classes in which turns are taken: what each holds, who waits in it, and which one is next. Used by turns.ts. */
import { type InRow, Row } from './lists/row.js';

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

/** Who holds a place and can do without it when others need it. */
export interface TurnHolder {
  /** Called once, if ever. The holder ends what it does and leaves. */
  giveBack(): void;
  /** Whether it only waits for its client: of one class, such holders come first. Without it, always. */
  isUnread?(): boolean;
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

/**
 * Whether there is room for one more of somebody who has `own` of `all`. Of `inAll`, one may have half of what the others leave, at most
 * `of`, so that something is left for whoever comes; the first of each goes beyond what all share, up to as many once more.
 */
export function hasShareFor(
  own: number,
  all: number,
  { of, inAll }: { readonly of: number; readonly inAll: number },
): boolean {
  const most = Math.min(of, (inAll - (all - own)) / 2);
  return (own === 0 || own < most) && hasRoomFor(own, all, { places: inAll, beyond: inAll });
}

/** What waits for a place, and may hold it then. */
export interface InClass<Item extends InClass<Item>> extends InRow<Item> {
  /** Undefined: it cannot do without its place. */
  readonly holder?: TurnHolder | undefined;
}

/** Of classes that have none. */
const NONE = {
  inside: new Map<string, unknown>(),
  wanting: new Set<unknown>(),
  items: new Row<never>(),
};

/** A class, or what all are in: whoever waits in it, or the classes into which it is divided. */
export class TurnClass<Item extends InClass<Item>> {
  held = 0;
  waiting = 0;
  /** When it had its last turn: greater is later. */
  turn = 0;
  readonly inside: Map<string, TurnClass<Item>>;
  /** Those inside in which somebody waits. */
  readonly wanting: Set<TurnClass<Item>>;
  /** In the order in which they came. Only classes of the last level have any. */
  readonly items: Row<Item>;
  /** Likewise: those that can do without their places. */
  readonly holders: Row<Item>;

  constructor(
    readonly name: string,
    readonly bounds: TurnBounds,
    readonly outer: TurnClass<Item> | undefined,
    isLast: boolean,
  ) {
    // What stays empty is not made: classes come and go with every request.
    this.inside = isLast ? (NONE.inside as Map<string, TurnClass<Item>>) : new Map();
    this.wanting = isLast ? (NONE.wanting as Set<TurnClass<Item>>) : new Set();
    this.items = isLast ? new Row() : (NONE.items as unknown as Row<Item>);
    this.holders = isLast ? new Row() : (NONE.items as unknown as Row<Item>);
  }

  /** All who wait. */
  *all(): Generator<Item> {
    yield* this.items;
    for (const one of this.wanting) yield* one.all();
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

  /** `levels`: on which level it is. */
  isNamed(names: readonly string[], levels: number): boolean {
    let one: TurnClass<Item> = this;
    for (let level = levels - 1; level >= 0; level--) {
      if (one.name !== (names[level] ?? '')) return false;
      one = one.outer!;
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

  /** Takes back the place that was given first, of the class that holds most: of those that wait for their clients, if any do. */
  takeBack(): void {
    const richest = this.richest();
    if (richest) {
      richest.takeBack();
      return;
    }
    let chosen: Item | undefined;
    for (const one of this.holders) {
      chosen ??= one;
      if (one.holder?.isUnread && !one.holder.isUnread()) continue;
      chosen = one;
      break;
    }
    if (!chosen) return;
    this.holders.delete(chosen);
    chosen.holder?.giveBack();
  }
}

/** Items that wait, in a queue for each class. */
export class ClassedQueue<Item extends InClass<Item>> {
  readonly root: TurnClass<Item>;
  private turn = 0;
  /** The class that was asked for last: requests in a row often have the same. */
  private last: TurnClass<Item> | undefined;

  constructor(
    all: TurnBounds,
    private readonly each: readonly TurnBounds[],
  ) {
    this.root = new TurnClass('', all, undefined, each.length === 0);
  }

  /** The class of the last level. It is forgotten by {@link forget} when nothing is in it. */
  classOf(names: readonly string[]): TurnClass<Item> {
    if (this.last?.isNamed(names, this.each.length)) return this.last;
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
    this.last = at;
    return at;
  }

  add(at: TurnClass<Item>, item: Item): void {
    at.items.add(item);
    for (let one: TurnClass<Item> | undefined = at; one; one = one.outer) {
      one.waiting++;
      if (one.waiting === 1) one.outer?.wanting.add(one);
    }
  }

  /** False: it waits no longer. */
  remove(at: TurnClass<Item>, item: Item): boolean {
    if (!at.items.delete(item)) return false;
    for (let one: TurnClass<Item> | undefined = at; one; one = one.outer) {
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
    let own = at;
    while (own.outer?.outer) own = own.outer;
    return root.fullest(own.waiting + 1)?.items.first;
  }

  forget(at: TurnClass<Item>): void {
    for (let one = at; one.outer && one.held + one.waiting === 0; one = one.outer) {
      one.outer.inside.delete(one.name);
      this.last = undefined;
    }
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
