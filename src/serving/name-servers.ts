/** Which of the installation's name servers a zone is delegated to. */
import { createHash } from 'node:crypto';
import type { ZoneRow } from '../store/zones/zones.js';

/** From this many name servers on, each account has some of them. */
const LEAST_POOL = 4;
/** How many each account has. */
const SET_SIZE = 2;

type Given = Pick<ZoneRow, 'name_servers' | 'vanity_name_servers'>;

/** The name servers to which a zone is delegated, without final dots: its vanity name servers, otherwise those it was given. */
export function assignedNameServers(zone: Given, pool: readonly string[]): readonly string[] {
  const vanity = zone.vanity_name_servers === null ? [] : (JSON.parse(zone.vanity_name_servers) as string[]);
  return vanity.length > 0 ? vanity : provingNameServers(zone, pool);
}

/**
 * Those of the installation that the zone was given, which alone prove something: anybody may name vanity name servers. A set
 * stays when the installation gets further ones. Of one that was given up, nothing is left, so the zone has all there are.
 */
export function provingNameServers({ name_servers: given }: Given, pool: readonly string[]): readonly string[] {
  if (given === null || pool.length < LEAST_POOL) return pool;
  const left = (JSON.parse(given) as string[]).filter((name) => pool.includes(name));
  return left.length > 0 ? left : pool;
}

/** Whether a zone has all name servers of the installation, so that a delegation to some of them may mean it. */
export function hasAll(zone: Given, pool: readonly string[]): boolean {
  return provingNameServers(zone, pool).length === pool.length;
}

/**
 * The name servers of a new zone: two for each account, by rendezvous over its identifier, so that a delegation tells whose zone it
 * means. A name that other accounts have claimed gets two that none of those claims has, where there are such. Undefined: the
 * pool is too small, and every zone has all of it.
 */
export function chooseNameServers(
  account: Uint8Array,
  pool: readonly string[],
  taken: readonly (readonly string[])[],
): readonly string[] | undefined {
  if (pool.length < LEAST_POOL) return undefined;
  const ranked = [...pool].sort((a, b) => Buffer.compare(weight(account, b), weight(account, a)));
  const isTaken = (set: readonly string[]): boolean => taken.some((other) => isSameSet(set, other));
  for (let second = 1; second < ranked.length; second++) {
    for (let first = 0; first < second; first++) {
      const set = [ranked[first]!, ranked[second]!];
      if (!isTaken(set)) return inOrder(set, pool);
    }
  }
  return inOrder(ranked.slice(0, SET_SIZE), pool);
}

export function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name));
}

function inOrder(set: readonly string[], pool: readonly string[]): readonly string[] {
  return pool.filter((name) => set.includes(name));
}

function weight(account: Uint8Array, name: string): Buffer {
  return createHash('sha256').update(account).update(name).digest();
}
