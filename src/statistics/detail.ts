/** What one zone was asked in some time: all answers, and the names and networks that asked most. Bounded. */
import { Tallied } from '../answer/observation.js';
import type { ZoneTally } from '../observe/tally.js';

/** Keys of names: `facts name`, with the facts of a tally (answer/observation.ts); the name is empty for names that do not exist, and for all others. */
export interface Detail {
  total: number;
  names: Map<string, number>;
  networks: Map<string, number>;
}

/** What a zone was asked in an hour, and is not stored yet. */
export interface Pending {
  /** Store numbers. */
  readonly zone: number;
  readonly account: number;
  /** The beginning of the hour, seconds since 1970. */
  readonly begins: number;
  readonly detail: Detail;
}

/** Entries of a stored row, and characters of its names: a name may have a thousand. */
export const STORED = { names: 96, unnamed: 32, networks: 32, characters: 4096 } as const;
/** The same in memory, between two writes. */
export const PENDING = { names: 512, unnamed: 128, networks: 256, characters: 32_768 } as const;

type Bounds = { readonly [Kind in keyof typeof STORED]: number };

export function noDetail(): Detail {
  return { total: 0, names: new Map(), networks: new Map() };
}

export function detailOf({ total, names, networks }: ZoneTally): Detail {
  return {
    total,
    names: new Map(names.map(([name, facts, count]) => [keyOf(name, facts), count])),
    networks: new Map(networks),
  };
}

function keyOf(name: string, facts: number): string {
  return `${facts} ${name}`;
}

export function partsOf(key: string): { readonly name: string; readonly facts: number } {
  const space = key.indexOf(' ');
  return { name: key.slice(space + 1), facts: Number(key.slice(0, space)) };
}

export function addDetail(to: Detail, more: Detail, bounds: Bounds): void {
  to.total += more.total;
  for (const [key, count] of more.names) add(to.names, key, count);
  for (const [key, count] of more.networks) add(to.networks, key, count);
  to.names = boundNames(to.names, bounds);
  if (to.networks.size > bounds.networks) to.networks = new Map(largest(to.networks).slice(0, bounds.networks));
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function largest(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}

/** Entries that are asked rarely lose their names, and then, if there are still too many, their types, so that codes and transports stay whole. */
function boundNames(names: Map<string, number>, bounds: Bounds): Map<string, number> {
  if (names.size <= bounds.unnamed && lengthOf(names.keys()) <= bounds.characters) return names;
  const kept = new Map<string, number>();
  const unnamed = new Map<string, number>();
  let characters = 0;
  for (const [key, count] of largest(names)) {
    const { name, facts } = partsOf(key);
    const isKept =
      name !== '' && kept.size < bounds.names - bounds.unnamed && characters + key.length <= bounds.characters;
    if (isKept) characters += key.length;
    if (isKept) kept.set(key, count);
    else add(unnamed, keyOf('', facts), count);
  }
  for (const [place, [key, count]] of largest(unnamed).entries()) {
    const { facts } = partsOf(key);
    add(kept, place < bounds.unnamed ? key : keyOf('', facts & ~0xffff), count);
  }
  return kept;
}

function lengthOf(keys: Iterable<string>): number {
  let length = 0;
  for (const key of keys) length += key.length;
  return length;
}

export function printDetail({ names, networks }: Detail): string {
  return JSON.stringify({ names: [...names], networks: [...networks] });
}

/** The detail of a stored row. */
export function readDetail(total: number, text: string): Detail {
  const { names, networks } = JSON.parse(text) as Record<'names' | 'networks', [string, number][]>;
  return { total, names: new Map(names), networks: new Map(networks) };
}

/** The facts about a name, in words. */
export function factsOf(facts: number) {
  return {
    type: facts & 0xffff,
    rcode: (facts >>> Tallied.rcodeShift) & 31,
    transport: (facts >>> Tallied.transportShift) & 3,
    isIPv6: (facts & Tallied.ipv6) !== 0,
  };
}
