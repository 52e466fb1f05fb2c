/**
 * Copies everything alive in the image into new buffers. The source stays unchanged, even if copying fails half-way.
 */
import { copyIndex } from './denial-index.js';
import { Flag, NodeWord, nodeFlags, REMOVED_SLOT, SLOT_WORDS, zoneOfNode } from './layout.js';
import type { ImageTables } from './tables.js';
import { countWords, type StagedNode, saltOf, type ZoneState } from './zone-state.js';

export interface ImageCopy {
  /** By zone number, with offsets in the new heap. */
  readonly zones: Map<number, ZoneState>;
  readonly staged: Map<string, StagedNode>;
}

/** `target`: empty, with room for everything. */
export function copyImage(
  source: ImageTables,
  target: ImageTables,
  known: ReadonlyMap<number, ZoneState>,
  knownStaged: ReadonlyMap<string, StagedNode>,
): ImageCopy {
  const { words, slots } = source.view;
  const zones = new Map<number, ZoneState>();
  for (const [zone, state] of known) zones.set(zone, { ...state });
  const isIndexed = [...known.values()].some(({ denial }) => denial !== undefined);
  // By the number of the old slot.
  const moved = new Int32Array(isIndexed ? slots.length / SLOT_WORDS : 0);
  const copy = (node: number): number => target.append(words.subarray(node, node + words[node + NodeWord.length]!));
  for (let index = 1; index < slots.length; index += SLOT_WORDS) {
    const node = slots[index]!;
    if (node <= REMOVED_SLOT) continue;
    const zone = words[node + NodeWord.zone]!;
    const state = zones.get(zoneOfNode(zone));
    if (!state) continue;
    const to = copy(node);
    const slot = target.fillSlot(zone, words[node + NodeWord.hash]!, to);
    if (isIndexed) moved[index >>> 1] = slot;
    if (nodeFlags(words, node) & Flag.apex) state.apexNode = to;
  }
  for (const [zone, state] of zones) {
    state.index = copyIndex(source, target, state.index, (slot) => moved[slot >>> 1]!);
    if (state.record !== 0) copyZone(target, zone, state);
  }
  const staged = new Map<string, StagedNode>();
  for (const [key, node] of knownStaged) {
    staged.set(key, node.node === 0 ? node : { ...node, node: copy(node.node) });
  }
  return { zones, staged };
}

function copyZone(target: ImageTables, zone: number, state: ZoneState): void {
  state.record = target.appendZone(zone, state.apex);
  state.salt = target.appendSalt(saltOf(state));
  for (const [word, value] of countWords(state)) target.view.words[state.record + word] = value;
  target.view.zoneSlots[target.findZoneSlot(state.apex)] = state.record;
  target.takenZoneSlots++;
}
