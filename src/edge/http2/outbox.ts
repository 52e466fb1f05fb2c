/**
 * What a connection of HTTP/2 sends. Frames that are sent at one time leave together: in one write, one system call, and as few records
 * of TLS as possible. Bodies leave as the other side lets them, each stream in its turn.
 */
import type { TLSSocket } from 'node:tls';
import { putAll } from '../../plain/parts.js';
import { LONG_READ } from '../../plain/shared-reads.js';
import { Composed } from '../../plain/write-joined.js';
import { bounded } from '../exchange/bounded.js';
import {
  FIRST_WINDOW,
  FLAG,
  FRAME,
  frame,
  frameHead,
  HEAD_OCTETS,
  LARGEST_WINDOW,
  MOST_PAYLOAD,
  number,
} from './frames.js';

/** A stream with a body that waits. */
export interface Sender {
  /** Sends at most one frame of so many octets. Returns whether it has more that may be sent. */
  sendSome(most: number): boolean;
}

/** Octets that leave without waiting for others. */
const MOST_GATHERED = 65_536;

/** So many octets may wait in the socket of a slow client: more than its mark, because only above that it says when all have left. */
const MOST_WRITTEN = 131_072;

/** Where frames are joined: what was gathered, and a piece of a body with the heads of its frames. */
const joined = new Composed(MOST_GATHERED + LONG_READ + 1024);

/** Outboxes with frames that leave at the end of the turn of the loop. */
let waiting: Outbox[] = [];

function flushAll(): void {
  const due = waiting;
  waiting = [];
  for (const outbox of due) outbox.flushLast();
}

export class Outbox {
  /** The number of writes. */
  turn = 0;
  private window = FIRST_WINDOW;
  private parts: Buffer[] = [];
  private octets = 0;
  private isHeld = false;
  private isPlanned = false;
  private isPumping = false;
  /** Those whose turn is next are first. */
  private readonly senders = new Set<Sender>();

  constructor(
    private readonly socket: TLSSocket,
    /** Octets of bodies were sent. */
    private readonly onSent: (octets: number) => void,
    /** The other side has not taken what was written. */
    private readonly onFull: () => void,
    /** A fault of this program at the end of a turn. */
    private readonly onBroken: (error: unknown) => void,
  ) {}

  /** Until {@link flush}, nothing is written on its own. */
  hold(): void {
    this.isHeld = true;
  }

  send(octets: Buffer): void {
    this.parts.push(octets);
    this.octets += octets.length;
    if (this.octets >= MOST_GATHERED) this.write();
    else if (!this.isHeld && !this.isPlanned) {
      this.isPlanned = true;
      if (waiting.push(this) === 1) setImmediate(flushAll);
    }
  }

  flush(): void {
    this.isHeld = false;
    this.isPlanned = false;
    if (this.octets > 0) this.write();
  }

  /** At the end of a turn, beside others: a fault of this connection must end neither them nor the process. */
  flushLast(): void {
    bounded(this.onBroken, () => this.flush());
  }

  /** Returns the first frame. */
  sendBlock(stream: number, block: Buffer, isLast: boolean): Buffer {
    const end = isLast ? FLAG.endStream : 0;
    if (block.length <= MOST_PAYLOAD) {
      const whole = frame(FRAME.headers, FLAG.endHeaders | end, stream, block);
      this.send(whole);
      return whole;
    }
    const first = frame(FRAME.headers, end, stream, block.subarray(0, MOST_PAYLOAD));
    // Nothing may come between them.
    const frames = [first];
    for (let at = MOST_PAYLOAD; at < block.length; at += MOST_PAYLOAD) {
      const flags = at + MOST_PAYLOAD >= block.length ? FLAG.endHeaders : 0;
      frames.push(frame(FRAME.continuation, flags, stream, block.subarray(at, at + MOST_PAYLOAD)));
    }
    for (const each of frames) this.send(each);
    return first;
  }

  sendData(stream: number, octets: Buffer, isLast: boolean): void {
    this.window -= octets.length;
    this.onSent(octets.length);
    this.parts.push(frameHead(FRAME.data, isLast ? FLAG.endStream : 0, stream, octets.length));
    this.octets += HEAD_OCTETS;
    this.send(octets);
  }

  /**
   * Sends octets that may be overwritten afterwards, in as many frames as they need, with one copy. False: they may not be sent now, or
   * others wait, and nothing was done.
   */
  sendCopy(stream: number, octets: Buffer, isLast: boolean): boolean {
    const { length } = octets;
    if (this.senders.size > 0 || this.isFull || length === 0 || length > this.window || length > LONG_READ)
      return false;
    this.window -= length;
    this.onSent(length);
    const framed = length + HEAD_OCTETS * Math.ceil(length / MOST_PAYLOAD);
    if (this.octets + framed >= MOST_GATHERED) this.writeWith(octets, framed, stream, isLast);
    else {
      const frames = Buffer.allocUnsafe(framed);
      putFrames(frames, 0, octets, stream, isLast);
      this.send(frames);
    }
    return true;
  }

  /** Writes frames that are put together behind what was gathered, in memory that is used again. */
  private writeWith(octets: Buffer, framed: number, stream: number, isLast: boolean): void {
    joined.begin(this.octets + framed);
    const at = this.join();
    putFrames(joined.octets, at, octets, stream, isLast);
    this.writeJoined(at + framed);
  }

  sendNumber(type: number, stream: number, value: number): void {
    this.send(frame(type, 0, stream, number(value)));
  }

  /** The stream has a body, or its end, to send. */
  want(sender: Sender): void {
    this.senders.add(sender);
    this.pump();
  }

  forget(sender: Sender): void {
    this.senders.delete(sender);
  }

  /** False if the window is then too large. */
  widen(grown: number): boolean {
    this.window += grown;
    if (this.window > LARGEST_WINDOW) return false;
    this.pump();
    return true;
  }

  /** Sends what may be sent. */
  pump(): void {
    if (this.isPumping) return;
    this.isPumping = true;
    try {
      let blocked = 0;
      // What is added again comes behind all others.
      for (const sender of this.senders) {
        if (this.isFull) return;
        const room = Math.max(0, this.window);
        this.senders.delete(sender);
        if (!sender.sendSome(room)) continue;
        this.senders.add(sender);
        // Those that only have to end need no room.
        if (room === 0 && ++blocked >= this.senders.size) return;
      }
    } finally {
      this.isPumping = false;
    }
  }

  private get isFull(): boolean {
    return this.socket.writableLength >= MOST_WRITTEN || this.socket.destroyed;
  }

  private write(): void {
    joined.begin(this.octets);
    this.writeJoined(this.join());
  }

  /** Puts together what was gathered, and returns where it ends. */
  private join(): number {
    const { parts } = this;
    this.parts = [];
    this.octets = 0;
    return putAll(joined.octets, parts);
  }

  private writeJoined(end: number): void {
    this.turn++;
    if (!this.socket.writable) return;
    joined.writeTo(this.socket, 0, end);
    if (this.socket.writableNeedDrain) this.onFull();
  }
}

/** DATA frames of a stream, as many as the octets need. There must be room. */
function putFrames(out: Buffer, from: number, octets: Buffer, stream: number, isLast: boolean): void {
  let to = from;
  for (let at = 0; at < octets.length; at += MOST_PAYLOAD) {
    const end = Math.min(at + MOST_PAYLOAD, octets.length);
    const flags = isLast && end === octets.length ? FLAG.endStream : 0;
    to += frameHead(FRAME.data, flags, stream, end - at).copy(out, to);
    to += octets.copy(out, to, at, end);
  }
}
