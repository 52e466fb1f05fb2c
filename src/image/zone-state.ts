/** The writer's state of a zone in the image, and the nodes and zones that are staged for the next commit. */
import { Flag, ZoneWord } from './layout.js';

export interface ZoneState {
  readonly apex: Uint8Array;
  /** Word offset of the zone's record; 0 while the zone is being loaded. */
  record: number;
  /** Heap words of its nodes and its record. */
  words: number;
  nodes: number;
  /** Nodes with a cut or a DNAME. */
  cuts: number;
  wildcards: number;
  /** Word offset of the apex node. */
  apexNode: number;
}

/** A node to add (offset > 0) or to remove (0). */
export interface StagedNode {
  readonly zone: number;
  readonly hash: number;
  readonly name: Uint8Array;
  readonly node: number;
}

/** A zone to add, replacing another one if `replaced` is given, or to remove. */
export type StagedZone =
  | { readonly kind: 'publish'; readonly zone: number; readonly replaced: number | undefined }
  | { readonly kind: 'remove'; readonly zone: number };

/** Counts a node in (1) or out (-1); `flags` are the node's flags. */
export function countNode(state: ZoneState, flags: number, by: 1 | -1): void {
  state.nodes += by;
  if (flags & (Flag.cut | Flag.dname)) state.cuts += by;
  if (flags & Flag.wildcard) state.wildcards += by;
}

/** Words of the zone's record that depend on its nodes. */
export function countWords(state: ZoneState): readonly (readonly [word: number, value: number])[] {
  return [
    [ZoneWord.cuts, state.cuts],
    [ZoneWord.wildcards, state.wildcards],
    [ZoneWord.apexNode, state.apexNode],
  ];
}
