/**
 * Places in the table of states: one for each pool that is probed, and one for each of its origins. All accounts share the table, so
 * places are counted by the nodes that read them, and free as soon as no node does, whatever becomes of other zones.
 */

/** The places of a pool. */
export interface PoolPlaces {
  readonly pool: number;
  /** By the names of origins. */
  readonly origins: ReadonlyMap<string, number>;
}

export interface StatePlaces {
  /** The places of a pool (store number) with exactly these origins, for one node. Throws when there is no room. */
  take(seq: number, names: readonly string[]): PoolPlaces;
  /** A node that took them is not read any more, by no answer. */
  release(places: PoolPlaces): void;
  /** All places of a pool that any node reads. */
  find(seq: number): PoolPlaces | undefined;
}

/** The state of what nobody probes is never read: all of it has this place. */
export const UNPROBED = 0;

/** A pool as some nodes know it. */
interface Version extends PoolPlaces {
  readonly of: Kept;
  readonly names: readonly string[];
  nodes: number;
}

interface Kept extends PoolPlaces {
  readonly seq: number;
  readonly origins: Map<string, number>;
  /** Versions that have an origin, by its name. */
  readonly uses: Map<string, number>;
  latest: Version | undefined;
  versions: number;
}

/** `size`: places in the table. */
export function createStatePlaces(size: number): StatePlaces {
  const pools = new Map<number, Kept>();
  const free: number[] = [];
  let used = UNPROBED + 1;

  const next = (): number => free.pop() ?? used++;
  const require = (count: number): void => {
    if (free.length + size - used < count) throw new RangeError('there is no room for more origins of load balancers');
  };
  const make = (seq: number, names: readonly string[]): Version => {
    const known = pools.get(seq);
    require((known ? 0 : 1) + names.filter((name) => !known?.origins.has(name)).length);
    const of: Kept = known ?? {
      ...{ seq, pool: next(), origins: new Map(), uses: new Map(), latest: undefined, versions: 0 },
    };
    pools.set(seq, of);
    for (const name of names) {
      if (!of.origins.has(name)) of.origins.set(name, next());
      of.uses.set(name, (of.uses.get(name) ?? 0) + 1);
    }
    of.versions++;
    const origins = new Map(names.map((name) => [name, of.origins.get(name)!]));
    of.latest = { of, names, pool: of.pool, origins, nodes: 0 };
    return of.latest;
  };
  const end = (version: Version): void => {
    const { of, names } = version;
    for (const name of names) {
      const left = of.uses.get(name)! - 1;
      of.uses.set(name, left);
      if (left > 0) continue;
      free.push(of.origins.get(name)!);
      of.origins.delete(name);
      of.uses.delete(name);
    }
    if (of.latest === version) of.latest = undefined;
    if (--of.versions > 0) return;
    free.push(of.pool);
    pools.delete(of.seq);
  };
  return {
    take(seq, names) {
      const latest = pools.get(seq)?.latest;
      const version = latest && isSame(latest.names, names) ? latest : make(seq, names);
      version.nodes++;
      return version;
    },
    release(places) {
      const version = places as Version;
      if (--version.nodes === 0) end(version);
    },
    find: (seq) => pools.get(seq),
  };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}
