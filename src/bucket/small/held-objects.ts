/**
 * Small objects that were read lately, in memory. Whether an object is still the one that
 * is held is asked at every request: of the state of the database, and when anybody has committed since then, of the object's row.
 * So it does not matter which process wrote. The body was compared with its MD5 when it was read.
 */
import type { Store } from '../../store/driver.js';
import { contentsOfObject, findObject, type ObjectRow } from '../../store/objects/objects.js';
import { isObjectKey, type SmallObject } from '../object-store.js';
import { openInline } from '../open-object.js';

export interface HeldObjects {
  /** The object, if its body is in the database and it is there. Throws {@link BodyDamaged}. */
  find(bucket: number, key: string): SmallObject | undefined;
}

interface Entry extends SmallObject {
  readonly version: string;
  /** Until when nothing was committed since the row was read. */
  state: number | undefined;
}

/** Of all bodies that are held together, octets; a small object counts as many. */
const MOST_OCTETS = 16 << 20;
const LEAST_COUNTED = 1024;

export function createHeldObjects(store: Store, mostOctets = MOST_OCTETS): HeldObjects {
  const held = new Map<string, Entry>();
  let octets = 0;
  const forget = (name: string): void => {
    const entry = held.get(name);
    if (!entry) return;
    held.delete(name);
    octets -= countedOctets(entry);
  };
  const keep = (name: string, entry: Entry): void => {
    forget(name);
    held.set(name, entry);
    octets += countedOctets(entry);
    // The one that was taken in first goes first.
    for (const oldest of held.keys()) {
      if (octets <= mostOctets) break;
      forget(oldest);
    }
  };
  return {
    find(bucket, key) {
      const name = `${bucket}/${key}`;
      // Before the row is read: what is committed meanwhile makes it another state.
      const state = store.state();
      const before = held.get(name);
      if (before && state !== undefined && before.state === state) return before;
      const row = isObjectKey(key) ? findObject(store, bucket, key) : undefined;
      if (row && before?.version === row.version) {
        before.state = state;
        return before;
      }
      forget(name);
      const entry = row && readEntry(store, row, state);
      if (entry) keep(name, entry);
      return entry;
    },
  };
}

const countedOctets = ({ octets }: Entry): number => Math.max(LEAST_COUNTED, octets.length);

function readEntry(store: Store, row: ObjectRow, state: number | undefined): Entry | undefined {
  if (row.blob !== null || row.upload !== null) return undefined;
  const contents = contentsOfObject(store, row.seq);
  if (!contents) return undefined;
  // A copy, because SQLite's buffer may be a view of more octets than these.
  const { item, octets = new Uint8Array() } = openInline(row, Buffer.from(contents));
  return { item, octets, version: row.version, state };
}
