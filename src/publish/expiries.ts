/**
 * When copies of secondary zones expire. Each check of a primary moves that time without a change of the zone, so it is not in
 * the change log.
 */
import { type Clock, unreadSince } from '../base/clock.js';
import type { ImageWriter } from '../image/writer.js';
import type { ZoneSource } from './source.js';
import type { LoadedZone } from './stage.js';

export interface Expiries {
  /** Writes the time of a zone (store number), which has this number in the image. */
  apply(seq: number, number: number): void;
  /** Writes the times that checks have moved since the last call; `loaded`: the zones in the image by their store numbers. */
  follow(loaded: ReadonlyMap<number, LoadedZone>): void;
}

const SECOND_US = 1_000_000;

export function createExpiries(source: ZoneSource, writer: ImageWriter, clock: Clock): Expiries {
  /** Store numbers of the zones that have such a time in the image. */
  const expiring = new Set<number>();
  /** All up to this stamp were read. */
  let readUs = 0;
  let version = -1;

  const write = (seq: number, number: number, expiresAt: number | null | undefined): void => {
    if (expiresAt == null && !expiring.has(seq)) return;
    writer.setExpiry(number, expiresAt == null ? 0 : Math.max(1, Math.floor(expiresAt / SECOND_US)));
    if (expiresAt == null) expiring.delete(seq);
    else expiring.add(seq);
  };

  return {
    apply: (seq, number) => write(seq, number, source.expiryOf(seq)),
    follow(loaded) {
      readUs = unreadSince(clock, readUs);
      for (const { zone, expiresAt, checkedAt } of source.checkedSince(readUs)) {
        const known = loaded.get(zone);
        if (known) write(zone, known.number, expiresAt);
        readUs = Math.min(checkedAt, clock.nowUs());
      }
      const current = source.incomingVersion();
      if (current === version) return;
      version = current;
      for (const seq of [...expiring]) {
        const known = loaded.get(seq);
        if (known) write(seq, known.number, source.expiryOf(seq));
        else expiring.delete(seq);
      }
    },
  };
}
