/**
 * Writes of requests that have not looked at the log of the cluster first. Far from PostgreSQL the look takes as long as the
 * entry itself.
 *
 * An entry is appended only behind the one that this copy has. So when the entry of a write follows what the request has read,
 * with nothing but entries of this process between, the request has read what all nodes had. If another node has written
 * meanwhile, the write throws {@link Outdated} before it does anything, and the request begins again, after a look. Refusals
 * and writes that change nothing append no entry, so they are answered after a look (api/current.ts).
 */
import type { Store } from '../../store/driver.js';
import { isOwnEntry, onlyOwnEntriesSince } from '../../store/log-writer.js';

/** Where the copy stood when a request began that has not looked at the log. */
export interface ReadPoint {
  /** Number of the last entry that the copy had. */
  readonly entry: number;
  /** The last entry that it had when the write of the request ran. */
  ranAt?: number;
  /** A commit of the request is stored, behind that entry: what the request does after it rests on nothing older. */
  isStored?: boolean;
}

/** Another node has written since the request began, so that what it has read may be old. Nothing was written. */
export class Outdated extends Error {
  constructor() {
    super('another node has written since this request began');
    this.name = 'Outdated';
  }
}

export function openReadPoint(store: Store): ReadPoint {
  return { entry: store.position().number };
}

/** Call inside a write, before it reads anything. Throws {@link Outdated}. */
export function requireCurrent(store: Store, point: ReadPoint): void {
  if (point.isStored) return;
  if (isOutdated(store, point)) throw new Outdated();
  point.ranAt = store.position().number;
}

/** Call after a write of the request. What follows it, such as a first check of what was made, is another write. */
export function noteStored(store: Store, point: ReadPoint): void {
  point.isStored ||= isConfirmed(store, point);
}

/** Whether another node, or another process of this one, has written since the request began, as far as this copy knows. */
export function isOutdated(store: Store, { entry }: ReadPoint): boolean {
  return !onlyOwnEntriesSince(store, entry);
}

/**
 * Whether an entry was appended directly behind the state in which the write of the request ran: it was the state of all nodes.
 */
export function isConfirmed(store: Store, { ranAt }: ReadPoint): boolean {
  return ranAt !== undefined && isOwnEntry(store, ranAt + 1);
}
