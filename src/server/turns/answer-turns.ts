/**
 * Turns at the thread that answers streams, HTTPS and what other threads defer. Thousands of queries may come in one piece, and a client
 * may have many connections: whoever has more to be answered than fits into a turn waits, and clients are served one after the other, each
 * with one of its connections or datagrams. What comes meanwhile waits behind one turn of each client, not behind all they have sent.
 * Clients are cheap for whoever sends signed messages, because nobody knows who it is before the signature is checked: those that name a
 * zone of an account have their turns together, and each client one of these.
 */
import { createDividedTurnQueue } from '../../base/lists/turn-queue.js';

/** Frames of one connection that are answered before others have their turn, if the engine answers them; and while others wait. */
const FRAMES_A_TURN = 128;
const FRAMES_OF_WAITING = 32;
/** The same of all connections before the process looks at what else has come. */
const FRAMES_A_ROUND = 256;
/** What another part answers takes as long as about so many frames: it reads the database, and checks signatures. */
export const FRAMES_ELSEWHERE = 64;
/** The same of a request over HTTP. */
export const FRAMES_OF_REQUEST = 32;

/** Whose turn is waited for. */
export interface TurnOf {
  /** See base/ip.ts, clientNetwork. */
  readonly client: string;
  /** With whom the client has its turns together; undefined: with nobody. */
  readonly group?: string | undefined;
}

interface Waiting extends TurnOf {
  readonly goOn: () => void;
}

export class AnswerTurns {
  private readonly waiting = createDividedTurnQueue<Waiting>(
    ({ client, group }) => group ?? client,
    ({ client }) => client,
  );
  private left = FRAMES_A_ROUND;
  private isPlanned = false;

  /** Whether a connection may answer what has come, without waiting. */
  get isFree(): boolean {
    return this.left > 0 && this.waiting.size === 0;
  }

  /** Frames that a connection may have answered before it waits for its next turn. */
  get framesATurn(): number {
    return this.waiting.size > 0 ? FRAMES_OF_WAITING : FRAMES_A_TURN;
  }

  /** Notes what was answered, as a number of frames, and returns it. */
  spend(frames: number): number {
    this.left -= frames;
    this.plan();
    return frames;
  }

  /** `goOn` is called when it is the turn of a connection of this client. */
  wait(of: TurnOf, goOn: () => void): void {
    this.waiting.add({ ...of, goOn });
    this.plan();
  }

  /**
   * Calls `answer`, which takes as long as so many frames: at once, or when it is the turn of the client. `isGone`: whether nobody waits for
   * the answer any more, so that the turn goes to the next.
   */
  take(of: TurnOf, frames: number, answer: () => void, isGone?: () => boolean): void {
    const goOn = (): void => {
      if (isGone?.()) return;
      this.spend(frames);
      answer();
    };
    if (this.isFree) goOn();
    else this.wait(of, goOn);
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(this.beginRound);
  }

  private readonly beginRound = (): void => {
    this.isPlanned = false;
    this.left = FRAMES_A_ROUND;
    while (this.left > 0 && this.waiting.size > 0) for (const { goOn } of this.waiting.take(1)) goOn();
    if (this.waiting.size > 0) this.plan();
  };
}
