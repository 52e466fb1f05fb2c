/** The writer's state of a zone in the image, and the nodes and zones that are staged for the next commit. */

import { fromBase32Hex } from '../base/bytes.js';
import { ownerKeyOf } from '../dns/name.js';
import type { Denial } from '../dnssec/denial.js';
import type { DenialIndex } from './denial-index.js';
import { DenialKind, Flag, OPT_OUT, ZoneWord } from './layout.js';

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
  /** Undefined for an unsigned zone. */
  readonly denial: Denial | undefined;
  /** The members of its chain. */
  index: DenialIndex;
  /** Word offset of the salt of its hashes, 0 for none. */
  salt: number;
  /** When the copy of a secondary zone expires, seconds since 1970; 0 for other zones. */
  expires: number;
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
    [ZoneWord.denial, denialWord(state.denial)],
    [ZoneWord.index, state.index.root],
    [ZoneWord.salt, state.salt],
    [ZoneWord.expires, state.expires],
  ];
}

function denialWord(denial: Denial | undefined): number {
  if (!denial) return DenialKind.none;
  if (denial.kind !== 'nsec3') return DenialKind[denial.kind];
  return DenialKind.nsec3 | (denial.optOut ? OPT_OUT : 0) | (denial.iterations << 16);
}

/** Salt of the zone's hashes; empty for none. */
export function saltOf({ denial }: Pick<ZoneState, 'denial'>): Uint8Array {
  return denial?.kind === 'nsec3' ? denial.salt : new Uint8Array(0);
}

/** Whether a node with these flags is a member of the zone's chain. */
export function isMember({ denial }: ZoneState, flags: number): boolean {
  return denial !== undefined && (flags & (denial.kind === 'nsec' ? Flag.nsec : Flag.hashed)) !== 0;
}

/** The place of a member in its chain. */
export function memberKey({ apex, denial }: ZoneState, name: Uint8Array): Uint8Array {
  if (denial?.kind !== 'nsec3') return ownerKeyOf(name, apex);
  return fromBase32Hex(Buffer.from(name.subarray(1, 1 + name[0]!)).toString('latin1'))!;
}
