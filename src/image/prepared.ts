/**
 * Nodes of a served zone that are compiled before they are staged: with very many, compiling takes most of the time, and may be done in
 * parts, none of which is visible.
 */

import { type CompiledNode, compileNode } from './compile.js';
import { HASHED_ZONE } from './layout.js';
import { stagingKey } from './staging.js';
import type { ImageWriter } from './writer.js';

/** Where nodes of a served zone are put, and from where they are removed. */
export type NodeSink = Pick<ImageWriter, 'putNode' | 'removeNode' | 'putHashed' | 'removeHashed'>;

export interface PreparedNodes extends NodeSink {
  /** Stages everything. */
  stage(): void;
}

interface PreparedNode {
  /** The number in the node. */
  readonly zone: number;
  readonly name: Uint8Array;
  /** Undefined for one that is removed. */
  readonly compiled: CompiledNode | undefined;
}

export function prepareNodes(writer: ImageWriter): PreparedNodes {
  // By the keys by which they are staged: making those takes as long as the rest of staging.
  const nodes = new Map<string, PreparedNode>();
  const keep = (zone: number, name: Uint8Array, compiled?: CompiledNode): void => {
    // The next compilation uses the same buffer.
    const own = compiled && { ...compiled, words: compiled.words.slice() };
    nodes.set(stagingKey(zone, name), { zone, name, compiled: own });
  };
  return {
    putNode: (zone, source) => keep(zone, source.owner, compileNode(source, zone, writer.reader.seed)),
    removeNode: (zone, name) => keep(zone, name),
    putHashed(zone, { hash, rrset }) {
      const name = writer.hashedName(zone, hash);
      keep(zone + HASHED_ZONE, name, writer.compileHashed(zone, name, rrset));
    },
    removeHashed: (zone, hash) => keep(zone + HASHED_ZONE, writer.hashedName(zone, hash)),
    stage() {
      for (const [key, { zone, name, compiled }] of nodes) {
        if (compiled) writer.putCompiled(zone, name, compiled, key);
        else writer.removeNode(zone, name, key);
      }
    },
  };
}
