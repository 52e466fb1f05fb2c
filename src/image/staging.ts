/** Nodes and zones staged for the next commit of the image. */
import { NodeWord, viewOf, zoneOfNode } from './layout.js';
import type { ImageReader } from './reader.js';
import type { StagedNode, StagedZone } from './zone-state.js';

/** By which a name of a zone is staged. */
export function stagingKey(zone: number, name: Uint8Array): string {
  return `${zone} ${Buffer.from(name).toString('latin1')}`;
}

export class Staging {
  /** By {@link stagingKey}. */
  nodes = new Map<string, StagedNode>();
  zones: StagedZone[] = [];
  /** Heap words of the staged nodes. */
  words = 0;

  /** The latest entry for a name replaces earlier ones. `words`: the heap. */
  put(words: Int32Array, key: string, node: StagedNode): void {
    if (node.node !== 0) this.words += words[node.node + NodeWord.length]!;
    this.nodes.set(key, node);
  }

  /** Number of words by which a zone will grow. */
  growthOf(zone: number, reader: ImageReader): number {
    const { words } = reader;
    let growth = 0;
    for (const { zone: number, hash, name, node } of this.nodes.values()) {
      if (zoneOfNode(number) !== zone) continue;
      const old = reader.findNode(number, hash, viewOf(name), 0, name.length);
      growth += (node && words[node + NodeWord.length]!) - (old && words[old + NodeWord.length]!);
    }
    return growth;
  }

  clear(): void {
    this.nodes = new Map();
    this.zones = [];
    this.words = 0;
  }
}
