/**
 * Counts of names, such as the connections of each client, that several edge processes keep together: a bound of one client holds for
 * all of them, whichever process its connections fell on. They stand in memory that all have mapped; each process adds only to its own
 * part, so that the part of one that was killed can be cleared.
 *
 * Names are not stored: each has a word in two rows, by a hash that nobody outside can know. A word may count other names, too, so
 * the lesser of the two sums is never less than the count of the name, and is more only if both words have others (count-min sketch:
 * Cormode and Muthukrishnan, 2005).
 */

/** What is counted. */
const TABLES = [
  'connections',
  'resets',
  'broken',
  'requests',
  'waiting requests',
  'WebSockets',
  'waiting WebSockets',
] as const;
export type SharedTable = (typeof TABLES)[number];

const SLOT_BITS = 16;
const SLOTS = 1 << SLOT_BITS;
const ROWS = 2;
/** For the hash: a random word for each character at each position. */
const POSITIONS = 64;
const CHARACTERS = 128;
const KEY_WORDS = POSITIONS * CHARACTERS;
const PART_WORDS = TABLES.length * ROWS * SLOTS;
const OCTETS_OF_WORD = Int32Array.BYTES_PER_ELEMENT;

/** Random octets that stand at the beginning of the memory. */
export const KEY_OCTETS = KEY_WORDS * OCTETS_OF_WORD;
/** Octets of the part of one process. */
export const PART_OCTETS = PART_WORDS * OCTETS_OF_WORD;

/** Where the part of a process (from 0 on) begins, in octets. After the last one, the memory ends. */
export function partOffset(process: number): number {
  return KEY_OCTETS + process * PART_OCTETS;
}

/** The memory, and which of the processes this is. */
export interface SharedMemory {
  readonly words: Int32Array;
  /** From 0 on. */
  readonly process: number;
  readonly processes: number;
}

/** One of the tables, with a bound. */
export interface SharedCounts {
  readonly most: number;
  /** Counts one more of a name in this process. False if all together would have more than the bound: nothing was counted. */
  take(name: string): boolean;
  /** Takes back what {@link take} or {@link add} has counted. */
  give(name: string): void;
  /** Counts one more, whatever the bound is. */
  add(name: string): void;
  /** What all processes count. */
  all(name: string): number;
  /** What this one counts. */
  own(name: string): number;
}

export function createSharedCounts(memory: SharedMemory, table: SharedTable, most: number): SharedCounts {
  return new Counts(memory, table, most);
}

class Counts implements SharedCounts {
  private readonly words: Int32Array;
  /** Where the table begins in the first part, in that of this process, and behind the last one. */
  private readonly start: number;
  private readonly mine: number;
  private readonly end: number;
  /** The slots of the name that was looked up last, one in each row. */
  private first = 0;
  private second = 0;

  constructor(
    { words, process, processes }: SharedMemory,
    table: SharedTable,
    readonly most: number,
  ) {
    this.words = words;
    this.start = KEY_WORDS + TABLES.indexOf(table) * ROWS * SLOTS;
    this.mine = this.start + process * PART_WORDS;
    this.end = this.start + processes * PART_WORDS;
  }

  take(name: string): boolean {
    this.find(name);
    // If it compared first and counted then, two processes could take the last place.
    this.change(1);
    if (this.sum() <= this.most) return true;
    this.change(-1);
    return false;
  }

  give(name: string): void {
    this.find(name);
    this.change(-1);
  }

  add(name: string): void {
    this.find(name);
    this.change(1);
  }

  all(name: string): number {
    this.find(name);
    return this.sum();
  }

  own(name: string): number {
    this.find(name);
    const { words, mine, first, second } = this;
    return Math.min(Atomics.load(words, mine + first), Atomics.load(words, mine + second));
  }

  private find(name: string): void {
    const { words } = this;
    let hash = 0;
    for (let i = 0; i < name.length; i++) {
      hash ^= words[(i % POSITIONS) * CHARACTERS + (name.charCodeAt(i) % CHARACTERS)]!;
    }
    this.first = hash & (SLOTS - 1);
    this.second = SLOTS + (hash >>> SLOT_BITS);
  }

  private change(by: number): void {
    const { words, mine } = this;
    Atomics.add(words, mine + this.first, by);
    Atomics.add(words, mine + this.second, by);
  }

  private sum(): number {
    const { words, start, end, first, second } = this;
    let [one, other] = [0, 0];
    for (let part = start; part < end; part += PART_WORDS) {
      one += Atomics.load(words, part + first);
      other += Atomics.load(words, part + second);
    }
    return Math.min(one, other);
  }
}
