/**
 * Reads a response on while its client is slow, so that its connection to the origin is free for others sooner. What waits for the
 * client is bounded for each response, and for all of an account by what others leave.
 */

import type { MemoryShares } from '../../base/memory-shares.js';
import type { Failure } from '../error-pages/failures.js';
import {
  firstValue,
  type HeaderList,
  type OriginControl,
  type ResponseFlow,
  type ResponseSink,
} from '../exchange/exchange.js';

export interface ReadAheadMemory {
  readonly memory: MemoryShares;
  readonly account: number;
}

/** Octets of one response that wait. A longer response is not read ahead: its connection would not be free all the same. */
const MOST_AHEAD = 1 << 20;
/** What a piece takes in addition to its octets. */
const OVERHEAD = 256;

export class ReadAhead implements ResponseFlow {
  showsItsEnd = false;
  private most = MOST_AHEAD;
  private isPaused = false;
  private isOriginPaused = false;
  private waiting: Buffer[] = [];
  /** Of `memory`. */
  private taken = 0;
  /** What comes after the pieces that wait. */
  private last: (() => void) | undefined;

  constructor(
    private readonly sink: ResponseSink,
    private readonly origin: OriginControl,
    private readonly shares: ReadAheadMemory,
  ) {}

  /** Whether nothing waits, nor is to wait: what comes may go past it. */
  get isEmpty(): boolean {
    return !this.isPaused && this.waiting.length === 0;
  }

  onHead(status: number, headers: HeaderList, showsItsEnd: boolean): void {
    this.showsItsEnd = showsItsEnd;
    this.expect(lengthOf(headers));
    this.sink.onHead(status, headers, this);
  }

  /** Of a response whose head was sent before: the octets of its body. */
  expect(length: number): void {
    if (length > MOST_AHEAD) this.most = 0;
  }

  onData(chunk: Buffer): void {
    if (!this.isPaused && this.waiting.length === 0) {
      this.sink.onData(chunk);
      return;
    }
    this.waiting.push(chunk);
    if (!this.takeFor(chunk)) this.pauseOrigin();
  }

  onEnd(trailers: HeaderList): void {
    this.finish(() => this.sink.onEnd(trailers));
  }

  onFailure(failure: Failure): void {
    this.finish(() => this.sink.onFailure(failure));
  }

  pause(): void {
    this.isPaused = true;
    if (this.most === 0) this.pauseOrigin();
  }

  resume(): void {
    this.isPaused = false;
    while (this.waiting.length > 0 && !this.isPaused) {
      const chunk = this.waiting.shift()!;
      this.give(chunk.length + OVERHEAD);
      this.sink.onData(chunk);
    }
    if (this.isPaused || this.waiting.length > 0) return;
    const { last } = this;
    this.last = undefined;
    if (last) last();
    else if (this.isOriginPaused) {
      this.isOriginPaused = false;
      this.origin.resume();
    }
  }

  abort(): void {
    this.drop();
    this.origin.abort();
  }

  /** Forgets what waits. */
  drop(): void {
    this.waiting = [];
    this.last = undefined;
    this.give(this.taken);
  }

  private finish(last: () => void): void {
    if (this.waiting.length > 0) this.last = last;
    else last();
  }

  private pauseOrigin(): void {
    this.isOriginPaused = true;
    this.origin.pause();
  }

  private takeFor(chunk: Buffer): boolean {
    const octets = chunk.length + OVERHEAD;
    if (this.taken + octets > this.most || !this.shares.memory.take(this.shares.account, octets)) return false;
    this.taken += octets;
    return true;
  }

  private give(octets: number): void {
    const given = Math.min(octets, this.taken);
    this.taken -= given;
    if (given > 0) this.shares.memory.give(this.shares.account, given);
  }
}

/** 0 if it is not told. */
function lengthOf(headers: HeaderList): number {
  return Number(firstValue(headers, 'content-length') ?? 0);
}
