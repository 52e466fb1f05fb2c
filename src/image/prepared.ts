/**
 * Nodes of a served zone that are compiled before they are staged: with very many, compiling takes most of the time, and may be done in
 * parts, none of which is visible.
 */

import { type CompiledNode, compileNode } from './compile.js';
import { HASHED_ZONE } from './layout.js';
import type { ImageWriter } from './writer.js';

/** Where nodes of a served zone are put, and from where they are removed. */
export type NodeSink = Pick<ImageWriter, 'putNode' | 'removeNode' | 'putHashed' | 'removeHashed'>;

export interface PreparedNodes extends NodeSink {
  /** Stages everything, in the order in which it came. */
  stage(): void;
}

export function prepareNodes(writer: ImageWriter): PreparedNodes {
  const steps: (() => void)[] = [];
  const keep = (zone: number, name: Uint8Array, { words, ...node }: CompiledNode): void => {
    // The next compilation uses the same buffer.
    const compiled = { ...node, words: words.slice() };
    steps.push(() => writer.putCompiled(zone, name, compiled));
  };
  return {
    putNode: (zone, source) => keep(zone, source.owner, compileNode(source, zone, writer.reader.seed)),
    removeNode: (zone, name) => void steps.push(() => writer.removeNode(zone, name)),
    putHashed(zone, { hash, rrset }) {
      const name = writer.hashedName(zone, hash);
      keep(zone + HASHED_ZONE, name, writer.compileHashed(zone, name, rrset));
    },
    removeHashed: (zone, hash) => void steps.push(() => writer.removeHashed(zone, hash)),
    stage() {
      for (const step of steps) step();
    },
  };
}
