/** Address match lists of BIND (`acl`, `allow-transfer`, `allow-update`), as far as what they allow can be said otherwise. */
import { type Network, networkContains, parseNetwork } from '../../base/ip.js';
import type { Grant, Note } from '../configuration.js';
import { faultAt, type Place } from '../place.js';
import { type Block, type Clause, isBlock, isWord, type Word } from './clauses.js';

const MOST_DEPTH = 16;
const MOST_GRANTS = 100_000;

/** Named lists of addresses. */
export type NamedLists = ReadonlyMap<string, Block>;

export interface MatchList {
  readonly grants: readonly Grant[];
  readonly notes: readonly Note[];
}

interface Reading {
  readonly lists: NamedLists;
  readonly grants: Grant[];
  readonly notes: Note[];
  /** What an element in front has excluded. */
  readonly excluded: Network[];
  /** Whether something was excluded that cannot be said as a network. */
  isUnclear: boolean;
}

/** The grants of a list, first to last. What cannot be said otherwise is left out, with a note: nothing is granted instead. */
export function readMatchList(block: Block, lists: NamedLists): MatchList {
  const reading: Reading = { lists, grants: [], notes: [], excluded: [], isUnclear: false };
  readElements(reading, block.statements, []);
  return reading;
}

function readElements(reading: Reading, elements: readonly Clause[], open: readonly string[]): void {
  for (const element of elements) readElement(reading, element, open);
}

function readElement(reading: Reading, { parts, place }: Clause, open: readonly string[]): void {
  const [first, second] = parts;
  if (isBlock(first)) {
    readElements(reading, first.statements, open);
    return;
  }
  const word = first as Word;
  if (word.text.startsWith('!') && !word.isQuoted) {
    exclude(
      reading,
      word.text === '!' ? parts.slice(1) : [{ ...word, text: word.text.slice(1) }, ...parts.slice(1)],
      place,
    );
    return;
  }
  const name = word.text.toLowerCase();
  if (name === 'key' && isWord(second) && !word.isQuoted) grant(reading, { key: second.text, place });
  else if (name === 'any') grant(reading, { place, text: 'any' });
  else if (name === 'none')
    reading.excluded.push({ address: new Uint8Array(4), bits: 0 }, { address: new Uint8Array(16), bits: 0 });
  else if (name === 'localhost' || name === 'localnets')
    leaveOut(reading, place, `${name} is not known before the server runs`);
  else if (name === 'geoip') leaveOut(reading, place, 'who may do this cannot depend on the country of an address');
  else readAddressOrName(reading, word, parts.length, open);
}

function readAddressOrName(reading: Reading, word: Word, count: number, open: readonly string[]): void {
  const { text, place } = word;
  const network = parseShortNetwork(text);
  if (network) {
    if (count > 1) throw faultAt(place, `a ';' is missing behind ${text}`);
    grant(reading, { network, text, place });
    return;
  }
  const list = reading.lists.get(text.toLowerCase());
  if (!list) throw faultAt(place, `there is no acl ${text}, and it is not an address`);
  if (open.includes(text)) throw faultAt(place, `the acl ${text} contains itself`);
  if (open.length >= MOST_DEPTH) throw faultAt(place, `acls are nested more than ${MOST_DEPTH} deep`);
  readElements(reading, list.statements, [...open, text]);
}

/** Prefixes of IPv4 may leave octets out at their end: `10/8`. */
function parseShortNetwork(text: string): Network | undefined {
  const [, short, bits] = /^(\d{1,3}(?:\.\d{1,3}){0,2})\/(\d{1,2})$/.exec(text) ?? [];
  if (short === undefined) return parseNetwork(text);
  const missing = 4 - short.split('.').length;
  return parseNetwork(`${short}${'.0'.repeat(missing)}/${bits}`);
}

function exclude(reading: Reading, parts: Clause['parts'], place: Place): void {
  const [first] = parts;
  if (isWord(first)) {
    const name = first.text.toLowerCase();
    const network = parseShortNetwork(first.text);
    if (network) reading.excluded.push(network);
    else if (name === 'any')
      reading.excluded.push({ address: new Uint8Array(4), bits: 0 }, { address: new Uint8Array(16), bits: 0 });
    else if (name !== 'none') reading.isUnclear = true;
  } else reading.isUnclear = true;
  if (reading.isUnclear)
    leaveOut(reading, place, "what a '!' excludes here has no equivalent, so what follows it is not allowed");
}

function grant(reading: Reading, given: Grant): void {
  const { network, text, key, place } = given;
  const { excluded, isUnclear } = reading;
  const covers = (other: Network): boolean =>
    network !== undefined && other.bits <= network.bits && networkContains(other, network.address);
  if (network && excluded.some(covers)) return;
  const isWide = excluded.length > 0 && (!network || excluded.some((other) => networkContains(network, other.address)));
  // A key is asked about after the addresses in front of it.
  if (isUnclear || isWide) {
    if (!isUnclear)
      leaveOut(
        reading,
        place,
        `${key === undefined ? text : `key ${key}`} without what a '!' in front of it excludes has no equivalent`,
      );
    return;
  }
  if (reading.grants.length >= MOST_GRANTS) throw faultAt(place, `a list has more than ${MOST_GRANTS} elements`);
  reading.grants.push(given);
}

function leaveOut(reading: Reading, place: Place, text: string): void {
  reading.notes.push({ kind: 'none', place, text });
}
