/**
 * Places in the table of states: one for each pool that is probed, and one for each of its origins. What is gone gives its places
 * back, so that edits do not use up the table, which all accounts share.
 */

/** The places of a pool. */
export interface PoolPlaces {
  readonly pool: number;
  /** By the names of origins. */
  readonly origins: ReadonlyMap<string, number>;
}

export interface StatePlaces {
  /** The places of a pool (store number) with exactly these origins. Throws when there is no room. */
  keep(seq: number, names: readonly string[]): PoolPlaces;
  find(seq: number): PoolPlaces | undefined;
  /** Gives back the places of a pool that is not probed any more. */
  drop(seq: number): void;
  /** Looks at some pools, more after many came. `isUsed`: whether a load balancer refers to a pool. */
  sweep(isUsed: (seq: number) => boolean): void;
  /** What was given back can be taken again: no answer can read it any more. */
  settle(): void;
}

/** The state of what nobody probes is never read: all of it has this place. */
export const UNPROBED = 0;

/** Pools that are looked at for each one that came. */
const LOOKS_FOR_EACH = 2;

interface Kept extends PoolPlaces {
  readonly origins: Map<string, number>;
}

/** `size`: places in the table. */
export function createStatePlaces(size: number): StatePlaces {
  const pools = new Map<number, Kept>();
  const free: number[] = [];
  let retired: number[] = [];
  let used = UNPROBED + 1;
  let came = 0;
  let next = pools.keys();

  const take = (): number => {
    const place = free.pop();
    if (place !== undefined) return place;
    if (used === size) throw new RangeError('there is no room for more origins of load balancers');
    return used++;
  };
  const made = (seq: number): Kept => {
    const kept = { pool: take(), origins: new Map<string, number>() };
    pools.set(seq, kept);
    came++;
    return kept;
  };
  const drop = (seq: number): void => {
    const kept = pools.get(seq);
    if (!kept) return;
    retired.push(kept.pool, ...kept.origins.values());
    pools.delete(seq);
  };
  return {
    keep(seq, names) {
      const kept = pools.get(seq) ?? made(seq);
      const wanted = new Set(names);
      for (const [name, place] of kept.origins) {
        if (wanted.has(name)) continue;
        retired.push(place);
        kept.origins.delete(name);
      }
      for (const name of wanted) if (!kept.origins.has(name)) kept.origins.set(name, take());
      return kept;
    },
    find: (seq) => pools.get(seq),
    drop,
    sweep(isUsed) {
      const looks = Math.min(came * LOOKS_FOR_EACH, pools.size);
      came = 0;
      for (let i = 0; i < looks; i++) {
        let step = next.next();
        if (step.done) {
          next = pools.keys();
          step = next.next();
        }
        if (step.done) return;
        if (!isUsed(step.value)) drop(step.value);
      }
    },
    settle() {
      free.push(...retired);
      retired = [];
    },
  };
}
