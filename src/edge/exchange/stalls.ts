/** Ends what is sent to clients that take nothing of it for too long, so that nobody holds memory and connections by not reading. */
import { type Clock, steadyMs } from '../../base/clock.js';

/** Something that is being sent. */
export interface Sending {
  /** Octets that wait for the reader: they change when it takes some. */
  readonly unsent: number;
  /** Ends it so that the reader notices. */
  cut(): void;
}

export interface Stalls {
  watch(sending: Sending): void;
  forget(sending: Sending): void;
  /** How many were ended. */
  cuts(): number;
  close(): void;
}

/** How long a client may take nothing, milliseconds. */
const STALL_MS = 60_000;
const LOOKS = 12;

export function createStalls(clock: Clock, stallMs: number = STALL_MS): Stalls {
  const watched = new Map<Sending, { unsent: number; sinceMs: number }>();
  let cuts = 0;
  const cancel = clock.every(stallMs / LOOKS, () => {
    const nowMs = steadyMs(clock);
    for (const [sending, known] of watched) {
      const { unsent } = sending;
      if (unsent === 0 || unsent !== known.unsent) watched.set(sending, { unsent, sinceMs: nowMs });
      else if (nowMs - known.sinceMs >= stallMs) {
        watched.delete(sending);
        cuts++;
        sending.cut();
      }
    }
  });
  return {
    watch(sending) {
      if (!watched.has(sending)) watched.set(sending, { unsent: sending.unsent, sinceMs: steadyMs(clock) });
    },
    forget: (sending) => void watched.delete(sending),
    cuts: () => cuts,
    close: cancel,
  };
}

/** Octets that a socket has not handed to the system, also in the middle of a piece. */
export function unsentOf(socket: { readonly writableLength: number }): number {
  // Node counts pieces only when they are whole; the handle tells what is left of one. It has no public name.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
