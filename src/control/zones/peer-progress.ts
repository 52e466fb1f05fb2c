/** Which peers of a zone serve a serial, as far as they have been asked. */

import { serialIsAfter } from '../../dns/serial.js';
import type { Store } from '../../store/driver.js';
import { findOutgoing, peersOfZone } from '../../store/secondary/outgoing.js';
import type { Actor } from '../guard/actor.js';
import { shownFailure } from '../guard/peer-failures.js';

export interface PeerProgress {
  readonly name: string;
  /** The serial that it served last; null: never seen. */
  readonly serial: number | null;
  /** Whether it serves the wanted serial, or a newer one. */
  readonly served: boolean;
  /** Whether it may be waited for: it is watched, and it answered the last time. */
  readonly isAwaited: boolean;
  /** Why it did not answer at the last attempt. */
  readonly error: string | null;
}

/** `zone`: store number. `wanted`: null when there is no serial to be served. `actor`: who reads it. */
export function peerProgress(store: Store, actor: Actor, zone: number, wanted: number | null): PeerProgress[] {
  const isEnabled = findOutgoing(store, zone)?.enabled === 1;
  return peersOfZone(store, zone).map(({ name, ip, serial, error }) => ({
    name,
    serial,
    served: wanted !== null && standingOf(wanted, serial) !== 'behind',
    isAwaited: isEnabled && ip !== null && error === null,
    error: shownFailure(actor, error),
  }));
}

/** What a peer with this serial (null: never seen) has of a zone with the current one. Ahead: a newer version than this server. */
export function standingOf(current: number, serial: number | null): 'in sync' | 'behind' | 'ahead' {
  if (serial === current) return 'in sync';
  return serial !== null && serialIsAfter(serial, current) ? 'ahead' : 'behind';
}
