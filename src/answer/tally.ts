/**
 * The tally: answers of zones by name, type, response code and transport, and by the network of the client, in slots of fixed number.
 *
 * Names that do not exist are counted together, those of a wildcard, of a delegation and below a DNAME under the name that answered.
 * So a flood of invented names takes no more slots than one name. A slot that did not count for a while, and was read meanwhile, goes
 * to whatever needs it next. Each zone has slots in one window only: a zone with many names has no more than these.
 */
// hot

import { Type } from '../dns/codes.js';
import { TYPES } from '../dns/rr/registry.js';
import { NodeWord, nodeNameAt, nodeNameLength } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { MOST_TRIED, type ObservationBlock, SLOT_NAME, SLOT_SHIFT, SLOTS, Slot, Tallied, Word } from './observation.js';
import type { Engine } from './state.js';
import type { Client } from './transport.js';

/** Slots among which the names of a zone are, and behind them its networks: forged addresses take no room from names. Powers of two. */
const WINDOW = 512;
const NETWORKS = 256;
/** 32 minus the binary logarithm of the number of slots. */
const ZONE_SHIFT = 20;
/** Looks of the reader after which a slot that did not count has been read. */
const READ = 2;
/** No name is longer than that. */
const LONGEST_NAME = 255;

/** 1 for every type with a name of its own, so that invented types take no slots. */
const NAMED = new Uint8Array(65536);
for (const { code } of TYPES) NAMED[code] = 1;
for (const code of [Type.ixfr, Type.axfr, Type.any]) NAMED[code] = 1;

/** Counts an answer that a zone gave. */
export function tallyAnswer(
  block: ObservationBlock,
  { search, query, response }: Engine,
  image: ImageReader,
  transport: number,
  client: Client | undefined,
): void {
  const zone = search.zone;
  const isMapped = client !== undefined && client.length === 16 && isMappedAddress(client.source, client.at);
  const isIPv6 = client !== undefined && client.length === 16 && !isMapped;
  const node = search.firstNode;
  const facts =
    (NAMED[query.type] === 1 ? query.type : 0) |
    (Math.min(response.rcode, 31) << Tallied.rcodeShift) |
    (transport << Tallied.transportShift) |
    (isIPv6 ? Tallied.ipv6 : 0);
  const isCounted = node !== 0 && countIn(block, zone, image.words[node + NodeWord.hash]! | 1, facts, node, image);
  if (!isCounted) countIn(block, zone, 0, facts, 0, image);
  if (client === undefined || client.length === 0) return;
  const source = client.source;
  const at = client.at + (isMapped ? 12 : 0);
  let key = (source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8);
  let rest: number = Tallied.network;
  if (isIPv6) {
    key |= source[at + 3]!;
    rest |= Tallied.ipv6 | (source[at + 4]! << 8) | source[at + 5]!;
  }
  countIn(block, zone, key, rest, 0, image);
}

/** `::ffff:0:0/96` (RFC 4291 §2.5.5.2): how sockets for both families show IPv4 addresses. */
function isMappedAddress(source: Uint8Array, at: number): boolean {
  if (source[at + 10] !== 0xff || source[at + 11] !== 0xff) return false;
  for (let i = 0; i < 10; i++) if (source[at + i] !== 0) return false;
  return true;
}

/** Counts in the slot with this key and these facts, or takes a slot for them; false when none is left. */
function countIn(
  { control, slots, slotNames }: ObservationBlock,
  zone: number,
  key: number,
  facts: number,
  node: number,
  image: ImageReader,
): boolean {
  const epoch = control[Word.epoch]!;
  const mixed = Math.imul(key ^ Math.imul(facts, 0x9e3779b1), 0x85ebca6b);
  const spread = mixed ^ (mixed >>> 15);
  const place = (facts & Tallied.network) === 0 ? spread & (WINDOW - 1) : WINDOW + (spread & (NETWORKS - 1));
  const first = (Math.imul(zone, 0x9e3779b1) >>> ZONE_SHIFT) + place;
  let free = -1;
  for (let i = 0; i < MOST_TRIED; i++) {
    const line = (first + i) & (SLOTS - 1);
    const at = line << SLOT_SHIFT;
    if (slots[at + Slot.key] === key && slots[at + Slot.facts] === facts && slots[at + Slot.zone] === zone) {
      slots[at + Slot.count]! += 1;
      slots[at + Slot.epoch] = epoch;
      return true;
    }
    if (free < 0 && (slots[at + Slot.zone] === 0 || ((epoch - slots[at + Slot.epoch]!) | 0) >= READ)) free = line;
  }
  if (free < 0) return false;
  const at = free << SLOT_SHIFT;
  slots[at + Slot.zone] = 0;
  const length = node === 0 ? 0 : Math.min(nodeNameLength(image.words, node), LONGEST_NAME);
  const from = node === 0 ? 0 : nodeNameAt(image.words, node);
  const to = free * SLOT_NAME;
  slotNames[to] = length;
  for (let i = 0; i < length; i++) slotNames[to + 1 + i] = image.bytes[from + i]!;
  slots[at + Slot.key] = key;
  slots[at + Slot.facts] = facts;
  slots[at + Slot.count] = 1;
  slots[at + Slot.epoch] = epoch;
  slots[at + Slot.zone] = zone;
  return true;
}
