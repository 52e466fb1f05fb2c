/** Ends what is sent to others that take too little of it for too long, so that nobody holds memory and connections by not reading. */
import type { Duplex } from 'node:stream';
import { type Clock, steadyMs } from '../../base/clock.js';

/** A part of a connection that has its own window, as a stream of HTTP/2. */
export interface Window {
  /** Octets that wait. */
  readonly unsent: number;
  /** Octets that have left until now. */
  readonly taken: number;
}

/** What takes it: a socket, or a part of a connection. */
export type Taker = Duplex | Window;

/** Something that is being sent. */
export interface Sending {
  readonly taker: Taker;
  /** Ends it so that the reader notices. */
  cut(): void;
}

export interface Stalls {
  /** `least`: octets that its reader must take in a minute while some wait. */
  watch(sending: Sending, least?: number): void;
  forget(sending: Sending): void;
  /** How many were ended. */
  cuts(): number;
  close(): void;
}

/** Octets that the other side of a TCP connection has acknowledged, by its descriptor; undefined where the system does not tell. */
export type Acknowledged = (fd: number) => number | undefined;

/**
 * Octets of a response that a client must take in a minute: one that takes an octet in each would have it for ever. So few, because a
 * hundred responses may come over one slow connection.
 */
const LEAST_OCTETS = 1024;
/** How long a client may take less, milliseconds. */
const STALL_MS = 60_000;
const LOOKS = 12;

interface Watched {
  readonly least: number;
  /** Until `sinceMs`. */
  taken: number;
  sinceMs: number;
}

export function createStalls(clock: Clock, acknowledged?: Acknowledged): Stalls {
  const watched = new Map<Sending, Watched>();
  let cuts = 0;
  const cancel = clock.every(STALL_MS / LOOKS, () => {
    const nowMs = steadyMs(clock);
    for (const [sending, known] of watched) {
      const { taker } = sending;
      const taken = takenBy(taker, acknowledged);
      // It is known in another way from now on.
      if (taken < known.taken) known.taken = taken;
      if (unsentOf(taker) === 0 || taken - known.taken >= known.least) {
        known.taken = taken;
        known.sinceMs = nowMs;
      } else if (nowMs - known.sinceMs >= STALL_MS) {
        watched.delete(sending);
        cuts++;
        sending.cut();
      }
    }
  });
  return {
    watch(sending, least = LEAST_OCTETS) {
      if (watched.has(sending)) return;
      watched.set(sending, { least, taken: takenBy(sending.taker, acknowledged), sinceMs: steadyMs(clock) });
    },
    forget(sending) {
      // Nearly always nothing is watched: a look-up would take longer.
      if (watched.size > 0) watched.delete(sending);
    },
    cuts: () => cuts,
    close: cancel,
  };
}

/** What is not public of a socket of Node. */
interface Handled extends Duplex {
  readonly bytesWritten?: number;
  readonly _handle?: { readonly writeQueueSize?: number; readonly fd?: number } | null;
}

/** Octets that wait for their reader; of a socket, those that were not handed to the system. */
function unsentOf(to: Taker): number {
  if ('unsent' in to) return to.unsent;
  // Node counts pieces only when they are whole; the handle tells what is left of one.
  return to.writableLength + ((to as Handled)._handle?.writeQueueSize ?? 0);
}

/**
 * The system keeps up to some megabytes for a reader, and takes more only when a third of that has left: a slow reader would seem to take
 * nothing for minutes. So it is asked what was acknowledged.
 */
function takenBy(to: Taker, acknowledged: Acknowledged | undefined): number {
  if ('taken' in to) return to.taken;
  const { bytesWritten = 0, _handle: handle } = to as Handled;
  return acknowledged?.(handle?.fd ?? -1) ?? bytesWritten - unsentOf(to);
}
