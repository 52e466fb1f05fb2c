/**
 * Turns at what all share. Whoever asks names classes, the widest first (account, then zone or key). A place that becomes free
 * goes to the class that holds fewest, and among those to the one that has waited longest since its last turn; so it is at every
 * level. No class holds more places, and no more of it wait, than its level allows; nobody waits longer than a limit. Where too many
 * wait in all, the class of which most wait loses one for each that comes of another. No place stays empty while somebody waits who
 * may have it. Whoever can do without its place may be asked to give it back when others hold fewer.
 */
import { type Clock, steadyMs } from './clock.js';
import type { InRow, Row } from './lists/row.js';
import type { MetricSample } from './metrics.js';
import { ClassedQueue, Held, type TurnBounds, type TurnClass, type TurnHolder } from './turn-classes.js';

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

export interface Turns {
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

interface Patience {
  readonly waitMs: number;
  readonly patienceMs: number;
}

class Waiting implements InRow<Waiting> {
  row: Row<Waiting> | undefined;
  before: Waiting | undefined;
  after: Waiting | undefined;
  /** When it takes a place from others, or gives up. Steady milliseconds. */
  nextMs: number;
  private readonly lateMs: number;

  constructor(
    readonly at: TurnClass<Waiting>,
    readonly holder: TurnHolder | undefined,
    readonly done: (turn: Leave | NoTurn) => void,
    readonly sinceMs: number,
    { waitMs, patienceMs }: Patience,
  ) {
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

class FairTurns implements Turns {
  private readonly queue: ClassedQueue<Waiting>;
  private readonly refused: Record<NoTurn, number> = { full: 0, late: 0, gone: 0 };
  private waitedMs = 0;
  /** One timer for all who wait, because most waits are short: it stays set when the one it was set for no longer waits. */
  private timer: { readonly atMs: number; readonly cancel: () => void } | undefined;
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

  ask(classes: readonly string[], { holder, waitMs }: TurnOptions, done: (turn: Leave | NoTurn) => void): () => void {
    const { queue, limits } = this;
    const at = queue.classOf(classes);
    if (at.hasPlace()) {
      done(this.take(at, holder));
      return () => {};
    }
    const other = queue.inTheWay(at);
    if (other) this.refuse(other, 'full');
    if (!at.hasWaitingRoom()) {
      queue.forget(at);
      this.refused.full++;
      done('full');
      return () => {};
    }
    const { patienceMs = Number.POSITIVE_INFINITY } = limits;
    const patience = { patienceMs, waitMs: Math.min(waitMs ?? limits.waitMs, limits.waitMs) };
    const waiting = new Waiting(at, holder, done, steadyMs(this.clock), patience);
    queue.add(at, waiting);
    this.lookAt(waiting.nextMs);
    return () => void this.remove(waiting, 'gone');
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
  private remove(waiting: Waiting, why: NoTurn): boolean {
    if (!this.dequeue(waiting)) return false;
    this.queue.forget(waiting.at);
    this.refused[why]++;
    return true;
  }

  private refuse(waiting: Waiting, why: NoTurn): void {
    if (this.remove(waiting, why)) waiting.done(why);
  }

  private lookAt(atMs: number): void {
    if (this.timer && this.timer.atMs <= atMs) return;
    this.timer?.cancel();
    const cancel = this.clock.after(Math.max(0, atMs - steadyMs(this.clock)), () => this.look());
    this.timer = { atMs, cancel };
  }

  /** Those who have waited long enough take a place from others, or give up. */
  private look(): void {
    this.timer = undefined;
    const nowMs = steadyMs(this.clock);
    const due: Waiting[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.queue.root.all()) {
      if (waiting.nextMs <= nowMs) due.push(waiting);
      else nextMs = Math.min(nextMs, waiting.nextMs);
    }
    const impatient: Waiting[] = [];
    const late: Waiting[] = [];
    for (const waiting of due) {
      const goesOn = waiting.isPatient();
      (goesOn ? impatient : late).push(waiting);
      if (goesOn) nextMs = Math.min(nextMs, waiting.nextMs);
    }
    const restMs = LEAST_LOOK_MS + this.waiting / WAITING_A_MS;
    if (nextMs < Number.POSITIVE_INFINITY) this.lookAt(Math.max(nextMs, nowMs + restMs));
    for (const waiting of late) this.refuse(waiting, 'late');
    for (const waiting of impatient) {
      const { at } = waiting;
      if (at.items.has(waiting)) this.queue.takeBackFor(at);
    }
  }

  private take(at: TurnClass<Waiting>, holder: TurnHolder | undefined): Leave {
    return hold(this.queue, at, holder, this.admit);
  }

  private admitNext(): void {
    const { queue } = this;
    for (let at = queue.root.next(); at; at = queue.root.next()) {
      const first = at.items.first!;
      this.dequeue(first);
      first.done(this.take(at, first.holder));
    }
  }

  private dequeue(waiting: Waiting): boolean {
    if (!this.queue.remove(waiting.at, waiting)) return false;
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
  const held = holder && new Held(holder);
  if (held) at.holders.add(held);
  let isFree = false;
  return () => {
    if (isFree) return;
    isFree = true;
    if (held) at.holders.delete(held);
    queue.release(at);
    queue.forget(at);
    onFree();
  };
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
