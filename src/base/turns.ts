/**
 * Turns at what all share. Whoever asks names classes, the widest first (account, then zone or key). A place that becomes free
 * goes to the class that holds fewest, and among those to the one that has waited longest since its last turn; so it is at every
 * level. No class holds more places, and no more of it wait, than its level allows; nobody waits longer than a limit. Where too many
 * wait in all, the class of which most wait loses one for each that comes of another. No place stays empty while somebody waits who
 * may have it. Whoever can do without its place may be asked to give it back when others hold fewer.
 */
import { type Clock, steadyMs } from './clock.js';
import type { Row } from './lists/row.js';
import type { MetricSample } from './metrics.js';
import { ClassedQueue, type InClass, type TurnBounds, type TurnClass, type TurnHolder } from './turn-classes.js';

export type { TurnBounds, TurnHolder } from './turn-classes.js';

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

export interface TurnOptions {
  readonly holder?: TurnHolder | undefined;
  /** A shorter wait than the longest. */
  readonly waitMs?: number | undefined;
}

/** Is told what became of the wait for a place. */
export interface PlaceEvents {
  /** The place is held. */
  onTurn(nowMs: number): void;
  /** It is waited for no longer. */
  onNoTurn(why: NoTurn): void;
}

/** What waits for a place and holds it then. After it was left it may be taken again, so that nothing is made for each turn. */
export class Place implements InClass<Place> {
  row: Row<Place> | undefined;
  before: Place | undefined;
  after: Place | undefined;
  /** In which it is held or waited for; undefined: it is neither. */
  at: TurnClass<Place> | undefined;
  isHeld = false;
  sinceMs = 0;
  /** When it takes a place from others, or gives up. Steady milliseconds. */
  nextMs = 0;
  private lateMs = 0;

  constructor(
    readonly holder: TurnHolder | undefined,
    readonly events: PlaceEvents,
  ) {}

  beginWait(at: TurnClass<Place>, sinceMs: number, waitMs: number, patienceMs: number): void {
    this.at = at;
    this.sinceMs = sinceMs;
    this.lateMs = sinceMs + waitMs;
    this.nextMs = Math.min(sinceMs + patienceMs, this.lateMs);
  }

  /** Must be called when that time has come. Returns whether it continues to wait. */
  isPatient(): boolean {
    const goesOn = this.nextMs < this.lateMs;
    this.nextMs = this.lateMs;
    return goesOn;
  }
}

/** For whoever takes one place after another. `classes`: one name for each level. `nowMs`: steady milliseconds. */
export interface PlaceTurns {
  /** Takes a place that is there at once. It must be neither held nor waited for. */
  take(place: Place, classes: readonly string[]): boolean;
  /** The same, but waits for it, at most `waitMs` milliseconds if that is less than the longest wait. It is told once, perhaps at once. */
  wait(place: Place, classes: readonly string[], nowMs: number, waitMs?: number): void;
  /** Frees the place, or ends the wait, of which nothing is told. */
  leave(place: Place, nowMs: number): void;
}

export interface Turns extends PlaceTurns {
  /** `classes`: one name for each level. `signal` ends the wait. Never rejects. */
  enter(
    classes: readonly string[],
    options?: TurnOptions & { readonly signal?: AbortSignal | undefined },
  ): Promise<Leave | NoTurn>;
  /**
   * The same, but calls `done` once, perhaps at once. Returns what ends the wait, of which `done` hears nothing. It costs less than a
   * promise.
   */
  ask(classes: readonly string[], options: TurnOptions, done: (turn: Leave | NoTurn) => void): () => void;
  /** The same for a place that is there at once; undefined if there is none. */
  enterNow(classes: readonly string[], holder?: TurnHolder): Leave | undefined;
  /** Places that are held, and how many wait. */
  readonly held: number;
  readonly waiting: number;
  /** `kind`: what the places are, for the label. */
  samples(kind: string): MetricSample[];
}

export function createTurns(limits: TurnLimits, clock: Clock): Turns {
  return new FairTurns(limits, clock);
}

/** Between two passes over all who wait, who may be many: at least this many milliseconds, and one more for each group of this size. */
const [LEAST_LOOK_MS, WAITING_A_MS] = [10, 100];

/** Is told nothing, because a place was there at once. */
const NOBODY: PlaceEvents = { onTurn() {}, onNoTurn() {} };

class FairTurns implements Turns {
  private readonly queue: ClassedQueue<Place>;
  private readonly refused: Record<NoTurn, number> = { full: 0, late: 0, gone: 0 };
  private waitedMs = 0;
  /** One timer for all who wait, because most waits are short: it stays set when the one it was set for no longer waits. */
  private timer: { readonly atMs: number; readonly cancel: () => void } | undefined;

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

  take(place: Place, classes: readonly string[]): boolean {
    const at = this.queue.classOf(classes);
    if (at.hasPlace()) {
      this.hold(place, at);
      return true;
    }
    this.queue.forget(at);
    return false;
  }

  wait(place: Place, classes: readonly string[], nowMs: number, waitMs?: number): void {
    const { queue, limits } = this;
    const at = queue.classOf(classes);
    if (at.hasPlace()) {
      this.hold(place, at);
      place.events.onTurn(nowMs);
      return;
    }
    const other = queue.inTheWay(at);
    if (other) this.refuse(other, 'full', nowMs);
    if (!at.hasWaitingRoom()) {
      queue.forget(at);
      this.refused.full++;
      place.events.onNoTurn('full');
      return;
    }
    const { patienceMs = Number.POSITIVE_INFINITY } = limits;
    place.beginWait(at, nowMs, Math.min(waitMs ?? limits.waitMs, limits.waitMs), patienceMs);
    queue.add(at, place);
    this.lookAt(place.nextMs, nowMs);
  }

  leave(place: Place, nowMs: number): void {
    const { queue } = this;
    const { at } = place;
    if (!place.isHeld || !at) {
      this.remove(place, 'gone', nowMs);
      return;
    }
    place.isHeld = false;
    place.at = undefined;
    at.holders.delete(place);
    queue.release(at);
    queue.forget(at);
    this.admitNext(nowMs);
  }

  enterNow(classes: readonly string[], holder?: TurnHolder): Leave | undefined {
    const place = new Place(holder, NOBODY);
    return this.take(place, classes) ? () => this.leave(place, steadyMs(this.clock)) : undefined;
  }

  ask(classes: readonly string[], { holder, waitMs }: TurnOptions, done: (turn: Leave | NoTurn) => void): () => void {
    const leave = (): void => this.leave(place, steadyMs(this.clock));
    const place = new Place(holder, { onTurn: () => done(leave), onNoTurn: done });
    this.wait(place, classes, steadyMs(this.clock), waitMs);
    return () => {
      if (!place.isHeld) leave();
    };
  }

  enter(
    classes: readonly string[],
    { signal, ...options }: TurnOptions & { readonly signal?: AbortSignal | undefined } = {},
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
      const end = this.ask(classes, options, (turn) => {
        signal?.removeEventListener('abort', leaveQueue);
        resolve(turn);
      });
      signal?.addEventListener('abort', leaveQueue, { once: true });
    });
  }

  samples(kind: string): MetricSample[] {
    const { held, waiting, waitedMs, refused } = this;
    return turnSamples(kind, { held, waiting, waitedMs, refused });
  }

  /** Does nothing for what waits no longer. */
  private remove(place: Place, why: NoTurn, nowMs: number): boolean {
    const { at } = place;
    if (!at || !this.dequeue(place, at, nowMs)) return false;
    place.at = undefined;
    this.queue.forget(at);
    this.refused[why]++;
    return true;
  }

  private refuse(place: Place, why: NoTurn, nowMs: number): void {
    if (this.remove(place, why, nowMs)) place.events.onNoTurn(why);
  }

  private lookAt(atMs: number, nowMs: number): void {
    if (this.timer && this.timer.atMs <= atMs) return;
    this.timer?.cancel();
    const cancel = this.clock.after(Math.max(0, atMs - nowMs), () => this.look());
    this.timer = { atMs, cancel };
  }

  /** Those who have waited long enough take a place from others, or give up. */
  private look(): void {
    this.timer = undefined;
    const nowMs = steadyMs(this.clock);
    const due: Place[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const place of this.queue.root.all()) {
      if (place.nextMs <= nowMs) due.push(place);
      else nextMs = Math.min(nextMs, place.nextMs);
    }
    const impatient: Place[] = [];
    const late: Place[] = [];
    for (const place of due) {
      const goesOn = place.isPatient();
      (goesOn ? impatient : late).push(place);
      if (goesOn) nextMs = Math.min(nextMs, place.nextMs);
    }
    const restMs = LEAST_LOOK_MS + this.waiting / WAITING_A_MS;
    if (nextMs < Number.POSITIVE_INFINITY) this.lookAt(Math.max(nextMs, nowMs + restMs), nowMs);
    for (const place of late) this.refuse(place, 'late', nowMs);
    for (const place of impatient) {
      const { at } = place;
      if (at?.items.has(place)) this.queue.takeBackFor(at);
    }
  }

  private hold(place: Place, at: TurnClass<Place>): void {
    this.queue.hold(at);
    place.at = at;
    place.isHeld = true;
    if (place.holder) at.holders.add(place);
  }

  private admitNext(nowMs: number): void {
    const { queue } = this;
    for (let at = queue.root.next(); at; at = queue.root.next()) {
      const first = at.items.first!;
      this.dequeue(first, at, nowMs);
      this.hold(first, at);
      first.events.onTurn(nowMs);
    }
  }

  private dequeue(place: Place, at: TurnClass<Place>, nowMs: number): boolean {
    if (!this.queue.remove(at, place)) return false;
    this.waitedMs += nowMs - place.sinceMs;
    return true;
  }
}

export interface TurnCounts {
  readonly held: number;
  readonly waiting: number;
  readonly waitedMs: number;
  /** Undefined: one waits as long as it takes. */
  readonly refused?: Readonly<Record<NoTurn, number>>;
}

/** The value before anybody has asked. */
export const NO_TURNS: TurnCounts = { held: 0, waiting: 0, waitedMs: 0, refused: { full: 0, late: 0, gone: 0 } };

/** What is known of turns of a kind. */
export function turnSamples(kind: string, { held, waiting, waitedMs, refused }: TurnCounts): MetricSample[] {
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
    ...Object.entries(refused ?? {}).map(
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
