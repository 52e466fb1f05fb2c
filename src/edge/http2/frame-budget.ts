/**
 * Floods of a client: frames that ask for nothing, but cost work. Each kind has its bound; beyond it, the connection ends. Streams that
 * are reset one after the other cost what requests cost (CVE-2023-44487), also if the client only has us reset them (CVE-2025-8671).
 */
import { CODE, ConnectionError } from './frames.js';

/** `resets`: of stream after stream. `broken`: frames that break the protocol, as of a single bad program behind a NAT, too. */
export type FloodKind = 'resets' | 'broken';

/** More of one kind than a client needs. */
export class Flood extends ConnectionError {
  constructor(
    readonly kind: FloodKind,
    what: string,
  ) {
    super(CODE.enhanceYourCalm, what);
  }
}

const WINDOW_MS = 10_000;
/** In ten seconds. Clients change settings when they start, and measure the way with PING while data flow. */
const MOST_SETTINGS = 100;
const MOST_PINGS = 1000;
/** Octets without a purpose that a connection may send at once, and then each second. */
const IDLE_OCTETS = 96 * 1024;
const IDLE_OCTETS_A_SECOND = 8 * 1024;
/** Who reads much tells often that there is room for more: octets sent for one received. */
const SENT_FOR_ONE = 16;
/** Of those, for each request: browsers say how urgent it is, and where its response may go on. */
const IDLE_OCTETS_OF_REQUEST = 1024;
/** Streams that a client may reset in a burst, and per second. */
const RESET_BURST = 120;
const RESETS_A_SECOND = 33;
/** Streams of a connection that end because the client broke a rule. */
const MOST_FAULTS = 50;

export class FrameBudget {
  /** Streams that the client has reset. */
  resets = 0;
  private nowMs: number;
  private idle = 0;
  private freeResets = RESET_BURST;
  private faults = 0;
  private settings = 0;
  private pings = 0;
  private sinceMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
    this.sinceMs = nowMs;
  }

  /** Before what came at one time is read. */
  begin(nowMs: number): void {
    const seconds = (nowMs - this.nowMs) / 1000;
    this.nowMs = nowMs;
    this.idle = Math.max(0, this.idle - seconds * IDLE_OCTETS_A_SECOND);
    this.freeResets = Math.min(RESET_BURST, this.freeResets + seconds * RESETS_A_SECOND);
    if (nowMs - this.sinceMs < WINDOW_MS) return;
    this.sinceMs = nowMs;
    this.settings = 0;
    this.pings = 0;
  }

  /** Octets of a body were sent. */
  sent(octets: number): void {
    this.idle = Math.max(0, this.idle - octets / SENT_FOR_ONE);
  }

  countRequest(): void {
    this.idle = Math.max(0, this.idle - IDLE_OCTETS_OF_REQUEST);
  }

  /** Octets that serve no request. */
  waste(octets: number): void {
    this.idle += octets;
    if (this.idle > IDLE_OCTETS) throw new Flood('broken', 'frames without a purpose');
  }

  countSettings(): void {
    if (++this.settings > MOST_SETTINGS) throw new Flood('broken', 'SETTINGS again and again');
  }

  countPing(): void {
    if (++this.pings > MOST_PINGS) throw new Flood('broken', 'PING again and again');
  }

  countReset(): void {
    this.resets += 1;
    this.freeResets -= 1;
    if (this.freeResets < 0) throw new Flood('resets', 'resets of stream after stream');
  }

  countFault(): void {
    if (++this.faults > MOST_FAULTS) throw new Flood('broken', 'faults in stream after stream');
  }
}
