/**
 * The window for what a client sends over a connection (RFC 9113 §5.2). It is widened while something is uploaded, by what memory clients
 * leave each other.
 */
import { createMemoryShares } from '../../base/memory-shares.js';
import { FIRST_WINDOW } from './frames.js';

/** The widest that there is memory for. The last one is what HTTP/2 begins with. */
const WINDOWS = [1 << 24, 1 << 22, 1 << 20];
/** Octets that all clients together may have sent without that an origin has taken them. */
const MEMORY = 1 << 28;

/** Memory for what clients send, by what counts as one client. */
export interface WindowShares {
  take(client: string, octets: number): boolean;
  give(client: string, octets: number): void;
}

export function createWindowShares(): WindowShares {
  return createMemoryShares<string>(MEMORY);
}

export class InboxWindow {
  private target = FIRST_WINDOW;
  /** Octets that the client may send. */
  private allowed = FIRST_WINDOW;
  /** Octets that came and were not taken. */
  private kept = 0;
  private uploads = 0;
  private taken = 0;

  constructor(
    private readonly shares: WindowShares,
    private readonly client: string,
    /** The client may send so many octets more. */
    private readonly onWiden: (octets: number) => void,
  ) {}

  /** False: more than the client may send. */
  receive(octets: number): boolean {
    this.allowed -= octets;
    this.kept += octets;
    return this.allowed >= 0;
  }

  /** Octets need no more memory. */
  release(octets: number): void {
    this.kept -= octets;
    this.widen();
    this.giveBack();
  }

  beginUpload(): void {
    if (this.uploads++ > 0) return;
    if (this.taken === 0) this.taken = WINDOWS.find((octets) => this.shares.take(this.client, octets)) ?? 0;
    if (this.taken === 0) return;
    this.target = this.taken;
    this.widen();
  }

  endUpload(): void {
    if (--this.uploads > 0) return;
    this.target = FIRST_WINDOW;
    this.giveBack();
  }

  /** The client sends nothing more. */
  close(): void {
    if (this.taken > 0) this.shares.give(this.client, this.taken);
    this.taken = 0;
  }

  /** What a client may send cannot be taken back (RFC 9113 §6.9.3), so its memory is kept until it was sent. */
  private giveBack(): void {
    if (this.uploads === 0 && this.allowed + this.kept <= FIRST_WINDOW) this.close();
  }

  private widen(): void {
    const missing = this.target - this.allowed - this.kept;
    if (missing < this.target / 2) return;
    this.allowed += missing;
    this.onWiden(missing);
  }
}
