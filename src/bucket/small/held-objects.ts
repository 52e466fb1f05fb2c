/**
 * Small objects that were read lately, in memory. Whether an object is still the one that
 * is held is asked at every request: of the state of the database, and when anybody has committed since then, of the object's row.
 * So it does not matter which process wrote. The body was compared with its MD5 when it was read. The account of which most is held
 * loses first, so that nobody drives out what others read.
 */
import type { Store } from '../../store/driver.js';
import { findBucket } from '../../store/objects/buckets.js';
import { contentsOfObject, findObject, type ObjectRow } from '../../store/objects/objects.js';
import { isObjectKey, type SmallObject } from '../object-store.js';
import { openInline } from '../open-object.js';

export interface HeldObjects {
  /** The object, if its body is in the database and it is there. Throws {@link BodyDamaged}. */
  find(bucket: number, key: string): SmallObject | undefined;
}

interface Entry extends SmallObject {
  /** Whose bucket it is in. */
  readonly share: Share;
  readonly version: string;
  /** Until when nothing was committed since the row was read. */
  state: number | undefined;
}

/** What is held of an account: names in the order in which they were taken in. */
interface Share {
  readonly names: Set<string>;
  octets: number;
}

/** Of all bodies that are held together, octets; a small object counts as many. */
const MOST_OCTETS = 16 << 20;
const LEAST_COUNTED = 1024;

export function createHeldObjects(store: Store, mostOctets = MOST_OCTETS): HeldObjects {
  const held = new Map<string, Entry>();
  /** By accounts (store numbers). */
  const shares = new Map<number, Share>();
  let octets = 0;
  const shareOf = (bucket: number): Share => {
    const account = findBucket(store, bucket)?.account ?? 0;
    const share = shares.get(account) ?? { names: new Set(), octets: 0 };
    shares.set(account, share);
    return share;
  };
  const count = ({ share }: Entry, more: number): void => {
    octets += more;
    share.octets += more;
  };
  const forget = (name: string): void => {
    const entry = held.get(name);
    if (!entry) return;
    held.delete(name);
    entry.share.names.delete(name);
    count(entry, -countedOctets(entry));
  };
  const keep = (name: string, entry: Entry): void => {
    forget(name);
    held.set(name, entry);
    entry.share.names.add(name);
    count(entry, countedOctets(entry));
    while (octets > mostOctets) forgetOneOf(richest(shares));
  };
  /** The one that was taken in first goes first. */
  const forgetOneOf = ({ names }: Share): void => {
    const [oldest] = names;
    forget(oldest!);
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
      const entry = row && readEntry(store, row, state, shareOf(bucket));
      if (entry) keep(name, entry);
      return entry;
    },
  };
}

const countedOctets = ({ octets }: Entry): number => Math.max(LEAST_COUNTED, octets.length);

/** That of which most is held. Those of which nothing is left are forgotten on the way. */
function richest(shares: Map<number, Share>): Share {
  let most: Share | undefined;
  for (const [account, share] of shares) {
    if (share.names.size === 0) shares.delete(account);
    else if (share.octets > (most?.octets ?? 0)) most = share;
  }
  return most!;
}

function readEntry(store: Store, row: ObjectRow, state: number | undefined, share: Share): Entry | undefined {
  if (row.blob !== null || row.upload !== null) return undefined;
  const contents = contentsOfObject(store, row.seq);
  if (!contents) return undefined;
  // A copy, because SQLite's buffer may be a view of more octets than these.
  const { item, octets = new Uint8Array() } = openInline(row, Buffer.from(contents));
  return { item, octets, version: row.version, state, share };
}
