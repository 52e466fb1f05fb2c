/** Reads the tally of answering threads (answer/tally.ts), and collects what zones gained until it is told. */
import {
  INDEX_SHIFT,
  IndexWord,
  type ObservationBlock,
  ROWS,
  SLOT_NAME,
  SLOT_SHIFT,
  SLOTS,
  Slot,
  Tallied,
  Word,
} from '../answer/observation.js';
import { printIP } from '../base/ip.js';
import { toFqdn } from '../dns/name.js';
import { apexOf, COUNT_NAMES, type ZoneCounts } from './counts.js';

/** A name (empty: none of its own), a type, a response code, a transport and a family: `facts` of {@link Tallied}; and a count. */
export type TalliedName = readonly [name: string, facts: number, count: number];
export type TalliedNetwork = readonly [network: string, count: number];

/** What a zone was asked. What is missing in `names` and `networks` was asked too rarely to be counted separately. */
export interface ZoneTally {
  /** Apex in lower case without its final dot. */
  readonly zone: string;
  /** All answers. */
  readonly total: number;
  readonly names: readonly TalliedName[];
  readonly networks: readonly TalliedNetwork[];
}

interface Gained {
  total: number;
  readonly names: Map<string, number>;
  readonly networks: Map<string, number>;
}

export interface TallyReader {
  /** Reads what was counted since the last look. `zones`: what each zone gained meanwhile. */
  look(zones: readonly ZoneCounts[]): void;
  /** Everything since the last call; undefined while it is better to wait for more, unless it is the last call. */
  take(isLast?: boolean): ZoneTally[] | undefined;
}

/** Up to FEW entries are reported at once; more of them wait for up to LOOKS looks, so that they are reported together. */
const FEW = 500;
const LOOKS = 10;
/** From MANY entries on nothing waits, and at most MOST are reported. */
const MANY = 2000;
const MOST = 5000;

const QUERIES = COUNT_NAMES.indexOf('queries');
const UNANSWERED = COUNT_NAMES.indexOf('unanswered');

/** `tellsNetworks`: whether networks of clients are reported at all. */
export function createTallyReader(
  blocks: readonly ObservationBlock[],
  isOn: boolean,
  tellsNetworks: boolean,
): TallyReader {
  const readers = blocks.map((block) => createSlotReader(block, tellsNetworks));
  let gained = new Map<string, Gained>();
  let looks = 0;
  for (const { control } of blocks) control[Word.epoch] = isOn ? 1 : 0;
  return {
    look(zones) {
      if (!isOn) return;
      for (const { apex, counts } of zones) gainOf(gained, apex).total += counts[QUERIES]! - counts[UNANSWERED]!;
      const apexes = zones.length > 0 ? apexesOf(blocks) : undefined;
      for (const [index, block] of blocks.entries()) {
        if (apexes) readers[index]!(apexes, gained);
        // Never 0, which says that nothing is tallied.
        block.control[Word.epoch] = (block.control[Word.epoch]! + 1) | 0 || 1;
      }
      looks = gained.size === 0 ? 0 : looks + 1;
    },
    take(isLast = false) {
      if (gained.size === 0) return undefined;
      const size = [...gained.values()].reduce((sum, { names, networks }) => sum + 1 + names.size + networks.size, 0);
      if (!isLast && size > FEW && size < MANY && looks < LOOKS) return undefined;
      const told = tallies(gained, size);
      gained = new Map();
      looks = 0;
      return told;
    },
  };
}

function gainOf(gained: Map<string, Gained>, apex: string): Gained {
  const known = gained.get(apex);
  if (known) return known;
  const fresh = { total: 0, names: new Map<string, number>(), networks: new Map<string, number>() };
  gained.set(apex, fresh);
  return fresh;
}

/** Apexes of the zones with rows, by their numbers in the image. */
function apexesOf(blocks: readonly ObservationBlock[]): Map<number, string> {
  const apexes = new Map<number, string>();
  for (const block of blocks) {
    for (let line = 1; line <= ROWS; line++) {
      const zone = block.index[(line << INDEX_SHIFT) + IndexWord.zone]!;
      if (zone === 0 || apexes.has(zone)) continue;
      const apex = apexOf(block, line);
      if (block.index[(line << INDEX_SHIFT) + IndexWord.zone] === zone) apexes.set(zone, apex);
    }
  }
  return apexes;
}

/** Adds what the slots of a thread gained since the last call. */
function createSlotReader(block: ObservationBlock, tellsNetworks: boolean) {
  const { slots, slotNames } = block;
  const seen = slots.slice();
  return (apexes: ReadonlyMap<number, string>, gained: Map<string, Gained>): void => {
    for (let line = 0; line < SLOTS; line++) {
      const at = line << SLOT_SHIFT;
      const zone = slots[at + Slot.zone]!;
      const count = slots[at + Slot.count]!;
      const key = slots[at + Slot.key]!;
      const facts = slots[at + Slot.facts]!;
      const isSame = seen[at + Slot.zone] === zone && seen[at + Slot.key] === key && seen[at + Slot.facts] === facts;
      const before = isSame ? seen[at + Slot.count]! : 0;
      if (zone === 0 || count === before) continue;
      const apex = apexes.get(zone);
      const isNetwork = (facts & Tallied.network) !== 0;
      const text = isNetwork ? networkText(key, facts) : `${facts} ${nameAt(slotNames, line * SLOT_NAME)}`;
      // A slot that passes to another meanwhile was read before.
      if (slots[at + Slot.zone] !== zone || slots[at + Slot.key] !== key || slots[at + Slot.facts] !== facts) continue;
      seen[at + Slot.zone] = zone;
      seen[at + Slot.key] = key;
      seen[at + Slot.facts] = facts;
      seen[at + Slot.count] = count;
      if (apex === undefined || (isNetwork && !tellsNetworks)) continue;
      const { names, networks } = gainOf(gained, apex);
      const texts = isNetwork ? networks : names;
      texts.set(text, (texts.get(text) ?? 0) + ((count - before) | 0));
    }
  };
}

function nameAt(names: Uint8Array, at: number): string {
  const length = names[at]!;
  return length === 0 ? '' : toFqdn(Buffer.from(names.subarray(at + 1, at + 1 + length)));
}

function networkText(key: number, facts: number): string {
  const head = [key >>> 24, (key >>> 16) & 0xff, (key >>> 8) & 0xff, key & 0xff];
  if ((facts & Tallied.ipv6) === 0) return `${printIP(Uint8Array.from(head))}/24`;
  const address = new Uint8Array(16);
  address.set([...head, (facts >>> 8) & 0xff, facts & 0xff]);
  return `${printIP(address)}/48`;
}

/** The largest entries, when there are too many: what is left out counts in the sum of its zone alone. */
function tallies(gained: ReadonlyMap<string, Gained>, size: number): ZoneTally[] {
  const least = size <= MOST ? 0 : leastCount(gained);
  return [...gained].map(([apex, { total, names, networks }]) => ({
    zone: toFqdn(Buffer.from(apex, 'latin1')),
    total,
    names: [...names].flatMap(([text, count]): TalliedName[] => {
      if (count < least) return [];
      const space = text.indexOf(' ');
      return [[text.slice(space + 1), Number(text.slice(0, space)), count]];
    }),
    networks: [...networks].filter(([, count]) => count >= least),
  }));
}

function leastCount(gained: ReadonlyMap<string, Gained>): number {
  const counts = [...gained.values()].flatMap(({ names, networks }) => [...names.values(), ...networks.values()]);
  return (counts.sort((a, b) => b - a)[MOST] ?? 0) + 1;
}
