/**
 * A slow round through all bodies: each is read about once in a month, so that damage is found while a backup still has the body.
 * What is found stays noted until the object is replaced or deleted.
 */
import { sleep } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import { perStore, type Store } from '../../store/driver.js';
import { findMeta, putMeta } from '../../store/meta.js';
import { type BodyOfObject, bodiesAfter, bodyOf, octetsOfBodies } from '../../store/objects/objects.js';
import { partsAfter } from '../../store/objects/uploads.js';
import type { Blobs } from '../blobs.js';
import { MOST_PARTS } from '../uploads/uploads.js';
import { type BodyFault, faultInFile, faultInRow } from './compare.js';

export interface VerifyOptions {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly log: Logger;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** Octets a second that are read; default: few enough not to be a burden. */
  readonly octetsPerSecond?: number;
}

/** Runs in a round: one an hour, for thirty days. */
const RUNS = 720;
const LEAST_OCTETS = 16 << 20;
const OCTETS_PER_SECOND = 8 << 20;
/** Bodies whose rows are read together. */
const AT_ONCE = 16;
/** Damaged objects that are noted. */
const MOST_NOTED = 100;

interface Round {
  /** The object that was read last; 0 at the begin of a round. */
  readonly last: number;
  /** Objects with damaged bodies. */
  readonly damaged: readonly number[];
}

const rounds = perStore(() => ({ warned: new Set<number>() }));

function readRound(store: Store): Round {
  const text = findMeta(store, 'verified_bodies');
  return typeof text === 'string' ? (JSON.parse(text) as Round) : { last: 0, damaged: [] };
}

/** Objects that a round found damaged and that are still there. */
export function notedDamage(store: Store): BodyOfObject[] {
  return readRound(store).damaged.flatMap((seq) => bodyOf(store, seq) ?? []);
}

/** Reads the next share of a round. */
export async function verifyShare({
  store,
  blobs,
  log,
  signal,
  octetsPerSecond = OCTETS_PER_SECOND,
}: VerifyOptions): Promise<void> {
  const before = readRound(store);
  const damaged = new Set<number>();
  const look = async (object: BodyOfObject): Promise<void> => {
    const fault = await faultIn(store, object, blobs);
    if (fault && bodyOf(store, object.seq)) {
      damaged.add(object.seq);
      warn(store, log, object, fault);
    }
    await sleep((object.size / octetsPerSecond) * 1000);
  };
  for (const object of notedDamage(store)) await look(object);
  const most = Math.max(LEAST_OCTETS, Math.ceil(octetsOfBodies(store) / RUNS));
  let { last } = before;
  for (let octets = 0; octets < most && !signal.aborted; ) {
    const some = bodiesAfter(store, last, AT_ONCE);
    if (some.length === 0) {
      last = 0;
      break;
    }
    for (const object of some) {
      if (octets >= most || signal.aborted) break;
      if (!damaged.has(object.seq)) await look(object);
      octets += object.size;
      last = object.seq;
    }
  }
  const after: Round = { last, damaged: [...damaged].slice(0, MOST_NOTED) };
  if (JSON.stringify(after) === JSON.stringify(before)) return;
  await store.write(() => putMeta(store, 'verified_bodies', JSON.stringify(after)));
}

async function faultIn(store: Store, object: BodyOfObject, blobs: Blobs): Promise<BodyFault | undefined> {
  if (object.upload !== null) {
    for (const part of partsAfter(store, object.upload, 0, MOST_PARTS)) {
      const fault = await faultInFile({ ...object, ...part }, blobs);
      if (fault) return fault;
    }
    return undefined;
  }
  return object.blob === null ? faultInRow(object) : faultInFile({ ...object, blob: object.blob }, blobs);
}

function warn(store: Store, log: Logger, { seq, key, bucket_name: bucket }: BodyOfObject, fault: BodyFault): void {
  const { warned } = rounds(store);
  if (warned.has(seq)) return;
  warned.add(seq);
  log.error({ bucket, object: key, fault }, 'the body of an object is damaged');
}
