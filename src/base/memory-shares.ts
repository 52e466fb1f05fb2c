/**
 * Memory that classes share, such as accounts. Each may have as much as is left for all others: alone it gets half, of two each gets
 * a third, and something is left for whoever comes next (dynamic thresholds of switches: Choudhury and Hahne, 1998).
 */
export interface MemoryShares<Name extends number | string = number> {
  /** False: it may not have so much more, and nothing was taken. */
  take(name: Name, octets: number): boolean;
  give(name: Name, octets: number): void;
  readonly held: number;
}

export function createMemoryShares<Name extends number | string = number>(most: number): MemoryShares<Name> {
  const holders = new Map<Name, number>();
  let held = 0;
  return {
    take(name, octets) {
      const own = (holders.get(name) ?? 0) + octets;
      if (own > most - held) return false;
      holders.set(name, own);
      held += octets;
      return true;
    },
    give(name, octets) {
      held -= octets;
      const left = (holders.get(name) ?? 0) - octets;
      if (left > 0) holders.set(name, left);
      else holders.delete(name);
    },
    get held() {
      return held;
    },
  };
}
