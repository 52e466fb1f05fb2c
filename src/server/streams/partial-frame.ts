/**
 * What connections keep of what they have read: beginnings of frames whose rest has not come yet, and what waits until it is their turn or
 * their peer reads. Whoever sends all but the end of many frames, or much at once over many connections, keeps memory for long, so clients
 * share it: one has at most half of what the others leave. What a usual query needs is free.
 */
import { hasShareFor } from '../../base/turn-classes.js';

const LONGEST_MESSAGE = 65_535;
const FREE = 512;
const NOTHING = new Uint8Array(0);

/** Such octets of one client, and of all. */
export interface PartialLimits {
  readonly of: number;
  readonly inAll: number;
}

/** What all connections keep. */
export class PartialRoom {
  private readonly perClient = new Map<string, number>();
  private all = 0;

  constructor(private readonly limits: PartialLimits) {}

  /** False: the client has too much. It may have more than its part by one frame. */
  take(client: string, octets: number): boolean {
    const own = this.perClient.get(client) ?? 0;
    if (!hasShareFor(own, this.all, this.limits)) return false;
    this.perClient.set(client, own + octets);
    this.all += octets;
    return true;
  }

  giveBack(client: string, octets: number): void {
    const left = (this.perClient.get(client) ?? 0) - octets;
    if (left > 0) this.perClient.set(client, left);
    else this.perClient.delete(client);
    this.all -= octets;
  }
}

/** The incomplete frame of one connection, including its two length octets. */
export class PartialFrame {
  private octets: Uint8Array = NOTHING;
  private used = 0;

  constructor(
    private readonly room: PartialRoom,
    /** See base/ip.ts, clientNetwork. */
    private readonly client: string,
  ) {}

  get length(): number {
    return this.used;
  }

  /** Octets of its message; only when it has its two length octets. */
  get messageLength(): number {
    return (this.octets[0]! << 8) | this.octets[1]!;
  }

  /** False: there is no room for it. */
  append(part: Uint8Array): boolean {
    const needed = this.used + part.length;
    if (this.octets.length < needed && !this.grow(needed)) return false;
    this.octets.set(part, this.used);
    this.used = needed;
    return true;
  }

  /** Returns the octets, and begins anew. */
  take(): Uint8Array {
    const { octets } = this;
    this.clear();
    return octets;
  }

  clear(): void {
    if (this.octets.length > FREE) this.room.giveBack(this.client, this.octets.length);
    this.octets = NOTHING;
    this.used = 0;
  }

  /** The buffer grows with the received octets, not with the announced length: two octets must not reserve 64 KiB. */
  private grow(needed: number): boolean {
    const length = Math.max(FREE, needed, Math.min(2 * needed, LONGEST_MESSAGE + 2));
    const held = this.octets.length > FREE ? this.octets.length : 0;
    if (length > FREE && !this.room.take(this.client, length - held)) return false;
    const grown = new Uint8Array(length);
    grown.set(this.octets.subarray(0, this.used));
    this.octets = grown;
    return true;
  }
}

/** What one connection has read and not looked at yet. */
export class WaitingOctets {
  private octets: Uint8Array | undefined;
  private counted = 0;

  constructor(
    private readonly room: PartialRoom,
    /** See base/ip.ts, clientNetwork. */
    private readonly client: string,
  ) {}

  get isEmpty(): boolean {
    return this.octets === undefined;
  }

  /** False: there is no room for them. */
  add(more: Uint8Array): boolean {
    const { octets } = this;
    if (more.length > FREE) {
      if (!this.room.take(this.client, more.length)) return false;
      this.counted += more.length;
    }
    this.octets = octets ? Buffer.concat([octets, more]) : more;
    return true;
  }

  /** Returns the octets, and keeps none of them. */
  take(): Uint8Array | undefined {
    const { octets } = this;
    if (this.counted > 0) this.room.giveBack(this.client, this.counted);
    this.counted = 0;
    this.octets = undefined;
    return octets;
  }
}
