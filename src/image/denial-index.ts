/**
 * The denial index of a signed zone: the members of its NSEC or NSEC3 chain in order, as a B+ tree in the heap. Its keys
 * are owner keys (dns/name.ts) or hashes; its values are slots, so that a member that is only recompiled changes nothing
 * here. See layout.ts for the form of a page, and floor.ts for the search.
 *
 * Pages never change. Applying changes writes new pages from the touched leaves up to a new root, which becomes visible
 * with its commit. While a zone is loaded, the pages on the right edge are open and kept as lists.
 */
import { compareBytes } from '../base/bytes.js';
import { PAGE_HEADER } from './layout.js';
import type { ImageReader } from './reader.js';
import type { ImageTables } from './tables.js';

/** Entries of a full page, and of each page when many are divided. */
const MOST_ENTRIES = 64;
const USUAL_ENTRIES = 48;
/** An owner key has up to 254 octets, which double when each of them is escaped. */
const LONGEST_KEY = 512;
const ENTRY_WORDS = 3;
const LARGEST_ENTRY = ENTRY_WORDS + LONGEST_KEY / 4;
const LARGEST_PAGE = PAGE_HEADER + MOST_ENTRIES * LARGEST_ENTRY;
/** Levels that a heap can hold. */
const MOST_LEVELS = 6;

/** Words that adding one member to a zone that is being loaded needs at most. */
export const LOAD_WORDS: number = MOST_LEVELS * LARGEST_PAGE;

interface Entry {
  readonly key: Uint8Array;
  /** Index of a slot, or word offset of a page. */
  readonly value: number;
}

/** A member that is added (its slot) or removed (undefined). */
export interface MemberChange {
  readonly key: Uint8Array;
  readonly slot: number | undefined;
}

export interface DenialIndex {
  /** Word offset of the root page; 0 when there is none. */
  readonly root: number;
  /** Heap words of all pages. */
  readonly words: number;
  /** The entries of the last page of each level, lowest first, while the zone is loaded. */
  readonly open: readonly (readonly Entry[])[] | undefined;
}

export const EMPTY_INDEX: DenialIndex = { root: 0, words: 0, open: [] };

/** Adds a member of a zone that no reader sees yet. Members in order are added fast. */
export function loadMember(tables: ImageTables, index: DenialIndex, key: Uint8Array, slot: number): DenialIndex {
  const last = index.open?.[0]?.at(-1);
  if (!index.open || (last && compareBytes(last.key, key) >= 0)) {
    return applyMembers(tables, closeIndex(tables, index), [{ key, slot }]);
  }
  const open: (readonly Entry[])[] = [...index.open];
  let words = index.words;
  let added: Entry | undefined = { key, value: slot };
  for (let level = 0; added; level++) {
    const entries: readonly Entry[] = open[level] ?? [];
    if (entries.length < USUAL_ENTRIES) {
      open[level] = [...entries, added];
      break;
    }
    open[level] = [added];
    added = appendPage(tables, level, entries);
    words += pageWords(tables.view, added.value);
  }
  return { root: 0, words, open };
}

/** Writes the open pages. The given index stays as it is. */
export function closeIndex(tables: ImageTables, index: DenialIndex): DenialIndex {
  if (!index.open) return index;
  let { words } = index;
  let last: Entry | undefined;
  index.open.forEach((entries, level) => {
    const all: readonly Entry[] = last ? [...entries, last] : entries;
    // The top page needs no page above it.
    if (level > 0 && all.length === 1) {
      last = all[0];
      return;
    }
    last = appendPage(tables, level, all);
    words += pageWords(tables.view, last.value);
  });
  return { root: last?.value ?? 0, words, open: undefined };
}

/** Words that {@link closeIndex} and {@link applyMembers} need at most for this many changes. */
export function wordsForChanges({ words, open }: DenialIndex, changes: number): number {
  if (changes === 0 && !open) return 0;
  return Math.min(changes * LOAD_WORDS, words) + changes * 2 * LARGEST_ENTRY + 2 * LOAD_WORDS;
}

/** Applies changes, each to another member, to a closed index. */
export function applyMembers(
  tables: ImageTables,
  { root, words }: DenialIndex,
  changes: readonly MemberChange[],
): DenialIndex {
  if (changes.length === 0) return { root, words, open: undefined };
  const sorted = [...changes].sort((a, b) => compareBytes(a.key, b.key));
  const work: Work = { tables, changes: sorted, words };
  let level = root === 0 ? 0 : levelOf(tables.view, root);
  let entries = root === 0 ? divide(work, 0, merge([], sorted)) : applyToPage(work, root, 0, sorted.length);
  while (entries.length > 1) entries = divide(work, ++level, entries);
  return { root: withoutSinglePages(work, entries[0]?.value ?? 0), words: work.words, open: undefined };
}

interface Work {
  readonly tables: ImageTables;
  readonly changes: readonly MemberChange[];
  words: number;
}

/** Writes a page anew with the changes from `from` to `to`. Returns the entries for the page above, maybe none. */
function applyToPage(work: Work, page: number, from: number, to: number): readonly Entry[] {
  const { tables, changes } = work;
  const entries = readPage(tables.view, page);
  const level = levelOf(tables.view, page);
  work.words -= pageWords(tables.view, page);
  if (level === 0) return divide(work, 0, merge(entries, changes.slice(from, to)));
  const result: Entry[] = [];
  let next = from;
  entries.forEach((entry, i) => {
    const start = next;
    const following = entries[i + 1];
    while (next < to && (!following || compareBytes(changes[next]!.key, following.key) < 0)) next++;
    if (next === start) result.push(entry);
    else result.push(...applyToPage(work, entry.value, start, next));
  });
  return divide(work, level, result);
}

/** A root with one entry is replaced by the page below it. */
function withoutSinglePages(work: Work, root: number): number {
  const { view } = work.tables;
  let page = root;
  while (page !== 0 && levelOf(view, page) > 0 && countOf(view, page) === 1) {
    work.words -= pageWords(view, page);
    page = view.words[page + PAGE_HEADER + 1]!;
  }
  return page;
}

/** Entries in order with changes in order. */
function merge(entries: readonly Entry[], changes: readonly MemberChange[]): Entry[] {
  const merged: Entry[] = [];
  let i = 0;
  for (const { key, slot } of changes) {
    while (i < entries.length && compareBytes(entries[i]!.key, key) < 0) merged.push(entries[i++]!);
    if (i < entries.length && compareBytes(entries[i]!.key, key) === 0) i++;
    if (slot !== undefined) merged.push({ key, value: slot });
  }
  for (; i < entries.length; i++) merged.push(entries[i]!);
  return merged;
}

/** Writes entries as one page, or as several of the same size. */
function divide(work: Work, level: number, entries: readonly Entry[]): Entry[] {
  if (entries.length === 0) return [];
  const pages = entries.length <= MOST_ENTRIES ? 1 : Math.ceil(entries.length / USUAL_ENTRIES);
  const size = Math.ceil(entries.length / pages);
  const written: Entry[] = [];
  for (let at = 0; at < entries.length; at += size) {
    const entry = appendPage(work.tables, level, entries.slice(at, at + size));
    work.words += pageWords(work.tables.view, entry.value);
    written.push(entry);
  }
  return written;
}

/** Writes a page. Returns its entry for the page above. */
function appendPage(tables: ImageTables, level: number, entries: readonly Entry[]): Entry {
  const count = entries.length;
  const first = entries[0]!.key;
  const prefix = sharedOctets(first, entries[count - 1]!.key);
  const octets = entries.reduce((sum, { key }) => sum + key.length - prefix, prefix);
  const heads = PAGE_HEADER;
  const values = heads + count;
  const rests = values + count;
  const words = new Int32Array(rests + count + ((octets + 3) >>> 2));
  const bytes = new Uint8Array(words.buffer);
  let at = (rests + count) * 4;
  words[0] = count | (level << 8) | (prefix << 16);
  words[1] = words.length;
  bytes.set(first.subarray(0, prefix), at);
  at += prefix;
  entries.forEach(({ key, value }, i) => {
    const rest = key.subarray(prefix);
    words[heads + i] = headOf(rest);
    words[values + i] = value;
    words[rests + i] = at | (rest.length << 16);
    bytes.set(rest, at);
    at += rest.length;
  });
  return { key: first, value: tables.append(words) };
}

/** The first four octets as a signed number in the order of the octets; missing ones count as zero. */
function headOf(octets: Uint8Array): number {
  const [a = 0, b = 0, c = 0, d = 0] = octets;
  return ((a << 24) | (b << 16) | (c << 8) | d) ^ 0x80000000;
}

function sharedOctets(a: Uint8Array, b: Uint8Array): number {
  let shared = 0;
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared++;
  return shared;
}

function readPage(view: ImageReader, page: number): Entry[] {
  const { words, bytes } = view;
  const count = countOf(view, page);
  const prefix = words[page]! >>> 16;
  const values = page + PAGE_HEADER + count;
  const start = (values + 2 * count) * 4;
  return Array.from({ length: count }, (_, i) => {
    const rest = words[values + count + i]!;
    const at = page * 4 + (rest & 0xffff);
    const key = new Uint8Array(prefix + (rest >>> 16));
    key.set(bytes.subarray(start, start + prefix));
    key.set(bytes.subarray(at, at + (rest >>> 16)), prefix);
    return { key, value: words[values + i]! };
  });
}

const countOf = ({ words }: ImageReader, page: number): number => words[page]! & 0xff;
const levelOf = ({ words }: ImageReader, page: number): number => (words[page]! >>> 8) & 0xff;
const pageWords = ({ words }: ImageReader, page: number): number => words[page + 1]!;

/** How an index comes into new buffers. */
export interface IndexCopy {
  readonly source: ImageReader;
  /** The new slot of an old one. */
  slot(old: number): number;
  /** Appends a page and returns its word offset. */
  append(page: Int32Array): number;
  /** Word offsets of the pages that are copied, by their old ones: a page never changes, so it is copied once. */
  readonly pages: Map<number, number>;
}

/** Copies what is not copied yet of an index; yields after each page. */
export function* copyIndex(copy: IndexCopy, { root, words, open }: DenialIndex): Generator<undefined, DenialIndex> {
  const copied: Entry[][] = [];
  for (const [level, entries] of (open ?? []).entries()) {
    const list: Entry[] = [];
    copied.push(list);
    for (const { key, value } of entries) {
      list.push({ key, value: level === 0 ? copy.slot(value) : yield* copyPage(copy, value) });
    }
  }
  return { root: root === 0 ? 0 : yield* copyPage(copy, root), words, open: open && copied };
}

function* copyPage(copy: IndexCopy, page: number): Generator<undefined, number> {
  const { source, pages } = copy;
  const known = pages.get(page);
  if (known !== undefined) return known;
  const words = source.words.slice(page, page + pageWords(source, page));
  const isLeaf = levelOf(source, page) === 0;
  const values = PAGE_HEADER + countOf(source, page);
  for (let i = PAGE_HEADER; i < values; i++) {
    const at = i - PAGE_HEADER + values;
    words[at] = isLeaf ? copy.slot(words[at]!) : yield* copyPage(copy, words[at]!);
  }
  const copied = copy.append(words);
  pages.set(page, copied);
  yield;
  return copied;
}
